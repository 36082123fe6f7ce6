//! K10: presentation events, offline and networked.

use std::collections::BTreeSet;

use retick_core::event::{EventKey, EventLife};
use retick_core::runtime::{Keep, Output, RuntimeFactory, StepBatch};
use retick_core::tick::Tick;

use super::Breach;
use crate::sim::{ClientRecord, EventSeen, MatchReport};

/// Ticks that are folded in one batch; the events of as many full ticks fit one.
const BATCH_TICKS: usize = 256;

/// K10: the confirmed events of each client are those of an offline fold of the authority's log through a fresh runtime of
/// `factory`'s, in order and each once, but for those that its session dropped and counted; and each prediction has at most one end.
///
/// # Errors
/// [`Breach::Fold`], [`Breach::Events`] or [`Breach::EventLife`].
pub fn check_events(report: &MatchReport, factory: &dyn RuntimeFactory) -> Result<(), Breach> {
    let folded = fold(report, factory).map_err(|tick| Breach::Fold { tick })?;
    report.clients.iter().try_for_each(|client| {
        check_lives(client)?;
        check_confirmed(client, &folded)
    })
}

type Event = (EventKey, Vec<u8>);

fn check_confirmed(client: &ClientRecord, folded: &[Event]) -> Result<(), Breach> {
    let breach = |tick| Err(Breach::Events { seat: client.seat, tick });
    // Those of the ticks before a snapshot were never played there.
    let played: BTreeSet<Tick> = client.frames.iter().map(|frame| frame.tick()).collect();
    let end = played.last().map_or(Tick::ZERO, |last| last.saturating_add(1));
    let is = |seen: &EventSeen, event: &Event| seen.key == event.0 && seen.payload == event.1;
    let mut found = client.presented.iter().filter(|seen| seen.life == EventLife::Confirmed).peekable();
    let (mut missing, mut first_missing) = (0, None);
    for event in folded.iter().filter(|(key, _)| played.contains(&key.tick)) {
        if found.next_if(|seen| is(seen, event)).is_none() {
            missing += 1;
            first_missing = first_missing.or(Some(event.0.tick));
        }
    }
    if let Some(seen) = found.next() {
        return breach(first_missing.unwrap_or(seen.key.tick));
    }
    let dropped = client.dropped_events.catch_up + client.dropped_events.confirmed;
    if missing == dropped { Ok(()) } else { breach(first_missing.unwrap_or(end)) }
}

fn check_lives(client: &ClientRecord) -> Result<(), Breach> {
    let mut open = BTreeSet::new();
    for EventSeen { life, key, payload, .. } in &client.presented {
        let holds = match life {
            EventLife::Predicted => open.insert((*key, payload)),
            EventLife::Canceled => open.remove(&(*key, payload)),
            EventLife::Confirmed => {
                open.remove(&(*key, payload));
                !open.iter().any(|(open, _)| open == key)
            }
        };
        if !holds {
            return Err(Breach::EventLife { seat: client.seat, tick: key.tick });
        }
    }
    Ok(())
}

/// What every tick of the authority's log emits.
fn fold(report: &MatchReport, factory: &dyn RuntimeFactory) -> Result<Vec<Event>, Tick> {
    let mut runtime = factory.create(&report.descriptor).map_err(|_| Tick::ZERO)?;
    let schema = factory.manifest().input_schema();
    let (mut batch, mut output, mut events) = (StepBatch::default(), Output::default(), Vec::new());
    for frames in report.frames.chunks(BATCH_TICKS) {
        batch.reset(runtime.tick());
        frames.iter().for_each(|frame| batch.push_frame(frame, schema, Keep::NOTHING));
        output.clear();
        runtime.advance(&batch, &mut output).map_err(|_| runtime.tick())?;
        events.extend(output.events.iter().map(|event| (event.key, event.payload.to_vec())));
    }
    Ok(events)
}
