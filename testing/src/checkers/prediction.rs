//! I5 and I6: how far a client predicts, and where it returns to.

use super::Breach;
use crate::sim::MatchReport;

/// I5: never more than the prediction window lies between the present and the confirmed state. Turns are all the instants at
/// which either moves.
///
/// # Errors
/// [`Breach::Window`].
pub fn check_i5(report: &MatchReport) -> Result<(), Breach> {
    for client in &report.clients {
        let window = u64::from(client.config.prediction_window_ticks);
        for turn in &client.turns {
            let lead = turn.head.since(turn.confirmed);
            if lead > window {
                return Err(Breach::Window { seat: client.seat, at: turn.at, lead, window });
            }
        }
    }
    Ok(())
}

/// I6: every rollback goes to a tick strictly below the present, and not below the oldest checkpoint that was kept.
///
/// # Errors
/// [`Breach::RollbackTarget`].
pub fn check_i6(report: &MatchReport) -> Result<(), Breach> {
    for client in &report.clients {
        for seen in &client.rollbacks {
            let kept = seen.oldest_checkpoint.is_some_and(|oldest| oldest <= seen.from);
            let below = seen.from < seen.head_before && seen.to == seen.head_before;
            if !(kept && below) {
                let (at, from, head, oldest) = (seen.at, seen.from, seen.head_before, seen.oldest_checkpoint);
                return Err(Breach::RollbackTarget { seat: client.seat, at, from, head, oldest });
            }
        }
    }
    Ok(())
}
