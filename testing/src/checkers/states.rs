//! I3: every confirmed state is the fold of the authority's log.

use retick_core::digest::Checksum;
use retick_core::runtime::{Keep, Output, RuntimeFactory, StepBatch};
use retick_core::tick::Tick;

use super::Breach;
use crate::sim::{ClientRecord, MatchReport};

/// Ticks that are folded in one batch.
const BATCH_TICKS: usize = 256;

/// I3: each client's confirmed state equals an offline fold of the authority's log through a fresh runtime of `factory`'s, at
/// every state of the cadence, of which each has exactly one checksum, and at the last one.
///
/// # Errors
/// [`Breach::Fold`], [`Breach::Checksums`] or [`Breach::State`].
pub fn check_i3(report: &MatchReport, factory: &dyn RuntimeFactory) -> Result<(), Breach> {
    let folded = fold(report, factory).map_err(|tick| Breach::Fold { tick })?;
    report.clients.iter().try_for_each(|client| check_client(client, &folded, report))
}

fn check_client(client: &ClientRecord, folded: &[Checksum], report: &MatchReport) -> Result<(), Breach> {
    let seat = client.seat;
    let cadence = u64::from(report.rules.checksum_cadence_ticks);
    let ticks = client.frames.iter().map(|frame| frame.tick().index());
    let mut due = ticks.filter(|tick| tick.is_multiple_of(cadence)).map(|tick| tick + 1);
    let mut given = client.checksums.iter().map(|(tick, _)| tick.index());
    loop {
        match (due.next(), given.next()) {
            (None, None) => break,
            (expected, found) if expected != found => {
                let tick = Tick::new(expected.into_iter().chain(found).min().unwrap_or(0));
                return Err(Breach::Checksums { seat, tick });
            }
            _ => {}
        }
    }
    for (tick, found) in client.checksums.iter().chain(&client.last_state).copied() {
        let expected = usize::try_from(tick.index()).ok().and_then(|index| folded.get(index).copied());
        match expected {
            None => return Err(Breach::Checksums { seat, tick }),
            Some(expected) if expected != found => return Err(Breach::State { seat, tick, expected, found }),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The checksums of `S(0)` and of every state after it.
fn fold(report: &MatchReport, factory: &dyn RuntimeFactory) -> Result<Vec<Checksum>, Tick> {
    let mut runtime = factory.create(&report.descriptor).map_err(|_| Tick::ZERO)?;
    let schema = factory.manifest().input_schema();
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    runtime.keep(Keep::CHECKSUM, &mut output).map_err(|_| Tick::ZERO)?;
    for frames in report.frames.chunks(BATCH_TICKS) {
        batch.reset(runtime.tick());
        frames.iter().for_each(|frame| batch.push_frame(frame, schema, Keep::CHECKSUM));
        runtime.advance(&batch, &mut output).map_err(|_| runtime.tick())?;
    }
    let checksums: Vec<Checksum> = output.kept.iter().filter_map(|kept| kept.checksum).collect();
    if checksums.len() == report.frames.len() + 1 { Ok(checksums) } else { Err(runtime.tick()) }
}
