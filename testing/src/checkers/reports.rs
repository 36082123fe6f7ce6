//! I4: what is reported is confirmed.

use std::collections::BTreeSet;

use super::Breach;
use crate::sim::{ClientRecord, MatchReport};

/// I4: a checksum of `S(n)` leaves a client only when tick n−1 is confirmed and applied there, once, and as its session gave it.
///
/// # Errors
/// [`Breach::EarlyReport`] or [`Breach::WrongReport`].
pub fn check_i4(report: &MatchReport) -> Result<(), Breach> {
    report.clients.iter().try_for_each(check_client)
}

fn check_client(client: &ClientRecord) -> Result<(), Breach> {
    let (seat, mut reported) = (client.seat, BTreeSet::new());
    for sent in &client.reports {
        let (tick, confirmed) = (sent.tick, sent.confirmed);
        if confirmed < tick {
            return Err(Breach::EarlyReport { seat, tick, confirmed });
        }
        if !reported.insert(tick) || !client.checksums.contains(&(tick, sent.checksum)) {
            return Err(Breach::WrongReport { seat, tick });
        }
    }
    Ok(())
}
