//! I7 and I8: nothing is refused in silence, and nothing grows without end.

use retick_authority::room::{RoomEvent, SeatStats};
use retick_core::client::EndReason;
use retick_core::seat::Seat;
use retick_core::session::{MAX_LOCAL_INPUTS_AHEAD, MAX_QUEUED_FRAMES, Retention, SessionFault, Standing};
use retick_core::wire::look_ahead_ticks;

use super::{Bounded, Breach};
use crate::sim::{ClientRecord, MatchReport};

/// Most bytes under way to one connection (A11).
pub const MAX_BYTES_UNDER_WAY: u64 = 1 << 20;

/// I7: every refusal is typed or counted. Clients end only as a room or a game may end them, every input that reached the room is
/// confirmed, waiting or counted, and raw seats understand all that they are sent.
///
/// # Errors
/// [`Breach::End`], [`Breach::Unaccounted`] or [`Breach::Nonsense`].
pub fn check_i7(report: &MatchReport) -> Result<(), Breach> {
    for client in &report.clients {
        if let Some(end) = client.end.as_ref().filter(|end| !is_honest(end)) {
            return Err(Breach::End { seat: client.seat, end: end.clone() });
        }
    }
    if let Some(raw) = report.raw_seats.iter().find(|raw| raw.malformed > 0) {
        return Err(Breach::Nonsense { seat: raw.seat, count: raw.malformed });
    }
    let seats = report.descriptor.seats().seats().zip(report.seat_stats.iter().zip(&report.delivered_inputs));
    for (seat, (stats, delivered)) in seats {
        check_inputs(report, seat, stats, *delivered)?;
    }
    Ok(())
}

/// Ends that the room or the game decides. All others are somebody's mistake.
fn is_honest(end: &EndReason) -> bool {
    let game = matches!(end, EndReason::Fault(SessionFault::Runtime { .. }));
    game || matches!(end, EndReason::Closed(_) | EndReason::Refused(_))
}

fn check_inputs(report: &MatchReport, seat: Seat, stats: &SeatStats, delivered: u64) -> Result<(), Breach> {
    let counters = stats.counters;
    let refused = counters.late_inputs + counters.conflicting_inputs + counters.refused_inputs;
    let counted = stats.duplicate_inputs + stats.early_inputs + refused;
    let stands = |slot: retick_core::frame::SeatFrame<'_>| slot.input.is_some() && !slot.substituted;
    let confirmed = report.frames.iter().filter(|frame| stands(frame.seat(seat))).count() as u64;
    let left = |event: &RoomEvent| matches!(event, RoomEvent::SeatVacated { seat: vacated, .. } if *vacated == seat);
    let discards = report.room_events.iter().any(|(_, event)| left(event));
    let look_ahead = look_ahead_ticks(report.descriptor.tick_rate(), &report.rules, &report.descriptor.limits()) + 1;
    let most_waiting = if discards { u64::MAX } else { look_ahead };
    let waiting = delivered.checked_sub(counted + confirmed);
    if waiting.is_some_and(|waiting| waiting <= most_waiting) {
        Ok(())
    } else {
        Err(Breach::Unaccounted { seat, delivered, counted, confirmed })
    }
}

/// I8: checkpoints, queued frames, unconfirmed inputs and bytes under way stay under their caps.
///
/// # Errors
/// [`Breach::Cap`].
pub fn check_i8(report: &MatchReport) -> Result<(), Breach> {
    let cadence = u64::from(report.rules.checksum_cadence_ticks);
    report.clients.iter().try_for_each(|client| check_caps(client, cadence))
}

fn check_caps(client: &ClientRecord, cadence: u64) -> Result<(), Breach> {
    let cap = |bounded, found: u64, cap: u64| {
        if found > cap { Err(Breach::Cap { seat: client.seat, bounded, found, cap }) } else { Ok(()) }
    };
    let window = u64::from(client.config.prediction_window_ticks);
    // The confirmed state and each predicted one; behind them the report ticks within the checkpoint window, or all of it.
    let behind = u64::from(client.config.checkpoint_window_ticks);
    let (required, whole) = (window + 1 + behind / cadence + 1, window + 1 + behind);
    let keeps_required = client.config.retention == Retention::Required;
    let inputs = MAX_LOCAL_INPUTS_AHEAD + 1;
    for turn in &client.turns {
        let is_live = turn.standing == Standing::Live;
        let checkpoints = if keeps_required && is_live { required } else { whole };
        cap(Bounded::Checkpoints, turn.kept_checkpoints as u64, checkpoints)?;
        cap(Bounded::QueuedFrames, turn.queued_frames as u64, MAX_QUEUED_FRAMES as u64)?;
        cap(Bounded::UnconfirmedInputs, turn.next_input.since(turn.confirmed), inputs)?;
    }
    cap(Bounded::BytesUnderWay, client.most_bytes_under_way as u64, MAX_BYTES_UNDER_WAY)
}
