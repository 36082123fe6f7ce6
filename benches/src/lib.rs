//! What the measurements share: some small games, Retick's side and GGRS's of one match, rounds of timed blocks, and reports.
//!
//! Both sides play one [`Game`](game::Game) with the same inputs, so that what is compared is what stands around it; at the
//! end of a measurement both must hold equal states, so neither can leave work out.

pub mod bulk;
pub mod counters;
pub mod curves;
pub mod direct;
pub mod game;
pub mod instructions;
pub mod machine;
pub mod match_room;
pub mod peer;
pub mod plot;
pub mod report;
pub mod rollback;
pub mod rounds;
pub mod saves;
pub mod steps;
pub mod touch;
