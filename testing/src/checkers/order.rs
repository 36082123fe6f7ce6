//! I1 and I2: what is confirmed, in which order, and that it is the same for everyone.

use retick_core::frame::Frame;
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::Breach;
use crate::sim::MatchReport;

/// A seat's frames, and the states from which it was built anew.
fn timelines(report: &MatchReport) -> impl Iterator<Item = (Seat, &[Frame], Vec<Tick>)> {
    let clients = report.clients.iter();
    let clients = clients.map(|client| (client.seat, client.frames.as_slice(), client.hydrations().collect()));
    clients.chain(report.raw_seats.iter().map(|raw| (raw.seat, raw.frames.as_slice(), Vec::new())))
}

/// I1: everyone's confirmed ticks are 0, 1, 2, … with no gap, repeat or swap; the authority's too. Whoever was built from a snapshot
/// goes on from its state.
///
/// # Errors
/// [`Breach::Order`]. A mistake in the authority's own log is told as of the first seat.
pub fn check_i1(report: &MatchReport) -> Result<(), Breach> {
    let authority = Seat::new(0).map(|seat| (seat, report.frames.as_slice(), Vec::new()));
    for (seat, frames, hydrations) in timelines(report).chain(authority) {
        let mut expected = Tick::ZERO;
        for found in frames.iter().map(Frame::tick) {
            let goes_on = found == expected || (found > expected && hydrations.contains(&found));
            if !goes_on {
                return Err(Breach::Order { seat, expected, found });
            }
            expected = found.saturating_add(1);
        }
    }
    Ok(())
}

/// I2: the frame of each tick is byte for byte the authority's, at everyone; and so is the head of the frame chain at every
/// client that has every frame.
///
/// # Errors
/// [`Breach::Frame`] or [`Breach::Chain`].
pub fn check_i2(report: &MatchReport) -> Result<(), Breach> {
    let log: Vec<Vec<u8>> = report.frames.iter().map(bytes_of).collect();
    for (seat, frames, _) in timelines(report) {
        for frame in frames {
            let position = usize::try_from(frame.tick().index()).unwrap_or(usize::MAX);
            if log.get(position) != Some(&bytes_of(frame)) {
                return Err(Breach::Frame { seat, tick: frame.tick() });
            }
        }
    }
    let complete = |frames: &[Frame]| frames.len() == log.len();
    let other = report
        .clients
        .iter()
        .find(|client| complete(&client.frames) && client.chain_head.is_some_and(|head| head != report.chain_head));
    other.map_or(Ok(()), |client| Err(Breach::Chain { seat: client.seat }))
}

fn bytes_of(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode_full(&mut bytes);
    bytes
}
