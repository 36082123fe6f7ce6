//! What a script can do to a room: one byte says what, those behind it say who and how.

use retick_authority::room::ConnectionId;
use retick_core::seat::Seat;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, PlayerId};

use super::honest::{enter, greet_again, join, observe, play, report, report_all, say, send_inputs};
use super::script::Script;
use super::table::Table;
use super::transfers::{donate, download, give_back, transfer};

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// Somebody comes, joins and is ready, as a client does it.
    Enter,
    /// Everyone who is there plays, and time passes.
    Play,
    Steps,
    Inputs,
    Connect,
    Join,
    Ready,
    Resume,
    Observe,
    Disconnect,
    Leave,
    Report,
    ReportAll,
    Command,
    Ephemeral,
    Ping,
    Raw,
    Stall,
    Persist,
    Start,
    StartBy,
    Vote,
    Pause,
    Reconfigure,
    Result,
    SeatBot,
    RemoveBot,
    Lock,
    Donate,
    Download,
    Transfer,
    GiveBack,
    Restart,
    Close,
}

use Operation::*;

/// Which byte is which; what stands twice is twice as likely.
#[rustfmt::skip]
const TABLE: [Operation; 54] = [
    Enter, Enter, Enter, Play, Play, Play, Play, Play, Steps, Steps, Steps, Inputs, Inputs, Inputs, Inputs, Connect, Join,
    Ready, Ready, Resume, Resume, Resume, Observe, Disconnect, Leave, Report, ReportAll, ReportAll, Command, Ephemeral,
    Ping, Raw, Stall, Persist, Start, StartBy, Vote, Pause, Pause, Reconfigure, Result, Result, SeatBot, RemoveBot, Lock,
    Donate, Donate, Download, Download, Transfer, GiveBack, GiveBack, Restart, Close,
];

impl Operation {
    /// The byte that stands for it.
    pub(super) fn byte(self) -> Option<u8> {
        TABLE.iter().position(|it| *it == self).and_then(|at| u8::try_from(at).ok())
    }
}

/// Does what the script says.
pub(super) fn perform(table: &mut Table, byte: u8, script: &mut Script<'_>) {
    let Some(operation) = TABLE.get(usize::from(byte) % TABLE.len()) else { return };
    match operation {
        Enter => enter(table),
        Play => (0..=script.below(40)).for_each(|_| play(table)),
        Steps => (0..=script.below(40)).for_each(|_| table.step()),
        Connect => _ = table.connect(),
        Stall => table.nanos += u64::from(script.byte()) * 200_000_000,
        Persist => table.persist(),
        Start => _ = table.room.start(table.now()),
        SeatBot => _ = Seat::new(script.below(5)).map(|seat| table.room.seat_bot(seat)),
        RemoveBot => _ = Seat::new(script.below(5)).map(|seat| table.room.remove_bot(seat)),
        Lock => table.room.set_locked(script.is(1)),
        Observe => observe(table, script.byte()),
        ReportAll => report_all(table, script.is(7)),
        Restart => {
            let (lost, forget) = (usize::from(script.below(30)), script.flag());
            table.restart(lost, forget);
        }
        // Seldom, for it ends everything.
        Close => {
            if script.is(9) {
                table.room.close(table.now());
            }
        }
        _ => {
            let Some(connection) = table.connection(script.byte()) else { return };
            by(table, *operation, connection, script);
        }
    }
    table.drain();
}

/// What one connection does.
fn by(table: &mut Table, operation: Operation, connection: ConnectionId, script: &mut Script<'_>) {
    let generation = table.room.descriptor().generation();
    let frontier = table.room.frontier();
    match operation {
        Join => {
            let player = PlayerId([script.below(4); 32]);
            if script.flag() {
                table.room.handle_admitted(connection, player);
            }
            join(table, connection);
        }
        Ready => say(table, connection, &ClientMessage::Ready { generation }),
        Resume => resume(table, connection, script),
        Disconnect => table.disconnect(connection, false),
        Leave => say(table, connection, &ClientMessage::Leave),
        Inputs => inputs(table, connection, script),
        Report => {
            let back = u64::from(script.below(4)) * 10;
            let tick = Tick::new((frontier.index() / 10 * 10 + 1).saturating_sub(back));
            report(table, connection, tick, script.is(7));
        }
        Command => {
            let (sequence, payload) = (u32::from(script.byte()), vec![8; usize::from(script.byte()) * 20]);
            say(table, connection, &ClientMessage::Command { generation, sequence, payload: &payload });
        }
        Ephemeral => {
            let count = script.byte();
            let payload = script.bytes(count);
            say(table, connection, &ClientMessage::Ephemeral { payload });
        }
        Ping => say(table, connection, &ClientMessage::Ping { sent_micros: 1, rollbacks: 0 }),
        Raw => {
            let count = script.byte();
            let bytes = script.bytes(count);
            table.send(connection, bytes);
        }
        StartBy => say(table, connection, &ClientMessage::Start),
        Vote => say(table, connection, &ClientMessage::Vote { ready: script.flag() }),
        Pause => say(table, connection, &ClientMessage::Pause { generation, paused: script.flag() }),
        Reconfigure => {
            let config = vec![3; usize::from(script.below(40))];
            say(table, connection, &ClientMessage::Reconfigure { generation, config: &config });
        }
        Result => {
            let (tick, result) = (frontier.saturating_sub(u64::from(script.below(2))), [u8::from(script.is(7))]);
            say(table, connection, &ClientMessage::Result { generation, tick, result: &result });
        }
        Donate => donate(table, connection, script.byte()),
        Download => download(table, connection, script.byte()),
        Transfer => transfer(table, connection, script),
        GiveBack => give_back(table, connection, script.is(7)),
        // The others are nobody's.
        _ => {}
    }
}

/// The owner of a seat comes back, mostly with all that it was sent.
fn resume(table: &mut Table, of: ConnectionId, script: &mut Script<'_>) {
    let (behind, forges, is_ready) = (script.byte(), script.is(7), script.is(3));
    let connection = greet_again(table, of, u64::from(behind.saturating_sub(128)), forges);
    if let Some(connection) = connection.filter(|_| is_ready) {
        let generation = table.room.descriptor().generation();
        say(table, connection, &ClientMessage::Ready { generation });
    }
}

fn inputs(table: &mut Table, connection: ConnectionId, script: &mut Script<'_>) {
    let (offset, count, odd) = (script.byte(), 1 + script.below(50), script.is(7));
    let frontier = table.room.frontier();
    let away = u64::from(offset % 64);
    let first = if offset < 192 { frontier.saturating_add(away) } else { frontier.saturating_sub(away) };
    let each = if odd { usize::from(script.below(6)) } else { 4 };
    let bytes = vec![count; usize::from(count) * each];
    send_inputs(table, connection, first, &bytes, u32::from(count));
}
