//! The room machine against the case file, on a virtual clock.
//!
//! `driver` speaks the wire for every seat and checks what no test may forget: every client's frames are gapless and equal to
//! the room's, the log's chain holds, and releases of one tick carry one tag.

mod clock;
mod donation;
mod donors;
mod driver;
mod durability;
mod entering;
mod fuzz;
mod life;
mod limits;
mod observers;
mod ordering;
mod reconfiguring;
mod reconnecting;
mod recovering;
mod referee;
mod remembering;
mod reports;
mod restoring;
mod seats;
mod summaries;
mod tokens;
mod torn;
