//! What a match cost the client that recorded it, in a file of its own beside the replay.
//!
//! Lead and rollbacks are no part of a match: every client has its own, and none can be checked. A replay holds the confirmed
//! timeline alone (R4), and clients that record one match with the same options write the same blocks of frames; so these figures
//! stand beside it, as lines of text, and no verdict ever depends on them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use retick_core::session::Session;
use retick_core::tick::Tick;

use crate::failure::Failure;
use crate::files::read_bounded;

/// Most bytes of a file of these.
const MAX_STATS_BYTES: u64 = 64 << 20;
const TITLE: &str = "tick,lead_ticks,rollback_ticks";

/// One present tick of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The present: `n` for `S(n)`.
    pub tick: u64,
    /// By how many ticks it was ahead of the last confirmed state, at the end of the turn that led there.
    pub lead_ticks: u64,
    /// The deepest rollback since the row before, in ticks.
    pub rollback_ticks: u64,
}

/// The figures of a match, a row for each turn that reached a new tick.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MatchStats {
    rows: Vec<Row>,
    deepest: u64,
}

impl MatchStats {
    /// A misprediction was corrected.
    pub fn note_rollback(&mut self, from: Tick, to: Tick) {
        self.deepest = self.deepest.max(to.since(from));
    }

    /// The client took a turn.
    pub fn note_turn(&mut self, session: &Session) {
        self.note(session.head().index(), session.head().since(session.confirmed()));
    }

    fn note(&mut self, tick: u64, lead_ticks: u64) {
        if self.rows.last().is_none_or(|row| row.tick < tick) {
            let rollback_ticks = std::mem::take(&mut self.deepest);
            self.rows.push(Row { tick, lead_ticks, rollback_ticks });
        }
    }

    /// The rows, by tick.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Where the figures of a replay stand: beside it.
    pub fn path_beside(replay: &Path) -> PathBuf {
        let mut name = replay.as_os_str().to_owned();
        name.push(".stats.csv");
        PathBuf::from(name)
    }

    /// Writes them beside a replay.
    pub fn write_beside(&self, replay: &Path) -> Result<(), Failure> {
        let path = MatchStats::path_beside(replay);
        fs::write(&path, self.to_text()).map_err(|error| Failure::Write { path, error })
    }

    /// The figures in a file.
    pub fn read(path: &Path) -> Result<MatchStats, Failure> {
        let bytes = read_bounded(path, MAX_STATS_BYTES)?;
        let text = std::str::from_utf8(&bytes).ok().and_then(MatchStats::from_text);
        text.ok_or_else(|| Failure::Run(format!("{} holds no figures of a match", path.display())))
    }

    fn to_text(&self) -> String {
        let mut text = format!("{TITLE}\n");
        for Row { tick, lead_ticks, rollback_ticks } in &self.rows {
            // Writing into text does not fail.
            let _ = writeln!(text, "{tick},{lead_ticks},{rollback_ticks}");
        }
        text
    }

    fn from_text(text: &str) -> Option<MatchStats> {
        let mut lines = text.lines();
        if lines.next()? != TITLE {
            return None;
        }
        let row = |line: &str| {
            let mut numbers = line.split(',').map(|number| number.parse::<u64>().ok());
            let (tick, lead_ticks, rollback_ticks) = (numbers.next()??, numbers.next()??, numbers.next()??);
            numbers.next().is_none().then_some(Row { tick, lead_ticks, rollback_ticks })
        };
        let rows = lines.map(row).collect::<Option<Vec<Row>>>()?;
        let in_order = rows.windows(2).all(|pair| pair[0].tick < pair[1].tick);
        in_order.then_some(MatchStats { rows, deepest: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_figures_are_a_row_for_each_new_tick_and_survive_their_text() {
        let mut stats = MatchStats::default();
        stats.note(1, 1);
        stats.note_rollback(Tick::new(1), Tick::new(4));
        stats.note_rollback(Tick::new(3), Tick::new(5));
        // A turn that reaches no new tick keeps what it cost for the next that does.
        stats.note(1, 0);
        stats.note(6, 4);
        stats.note(7, 5);
        let rows = [(1, 1, 0), (6, 4, 3), (7, 5, 0)];
        let rows = rows.map(|(tick, lead_ticks, rollback_ticks)| Row { tick, lead_ticks, rollback_ticks });
        assert_eq!(stats.rows(), rows);
        assert_eq!(MatchStats::from_text(&stats.to_text()).expect("its own text").rows(), rows);
    }

    #[test]
    fn r4_text_that_holds_no_figures_is_refused() {
        let rows = ["1,2", "1,2,3,4", "1,2,x", "2,0,0\n1,0,0"].map(|rows| format!("{TITLE}\n{rows}"));
        for text in ["", "tick"].into_iter().chain(rows.iter().map(String::as_str)) {
            assert_eq!(MatchStats::from_text(text), None, "{text}");
        }
        assert_eq!(MatchStats::from_text("tick,lead_ticks,rollback_ticks\n"), Some(MatchStats::default()));
    }
}
