//! The room machine against the case file, on a virtual clock.
//!
//! `driver` speaks the wire for every seat and checks what no test may forget: every client's frames are gapless and equal to
//! the room's, the log's chain holds, and releases of one tick carry one tag.

mod clock;
mod driver;
mod durability;
mod entering;
mod fuzz;
mod limits;
mod ordering;
mod reconnecting;
mod reports;
mod restoring;
