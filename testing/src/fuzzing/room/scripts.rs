//! Scripts to begin with: the first bytes set the room up, then each entry is an operation with its arguments.

use super::ops::Operation::{self, *};

type Entries<'a> = &'a [(Operation, &'a [u8])];

fn script(setup: [u8; 4], operations: Entries<'_>) -> Vec<u8> {
    let mut bytes = setup.to_vec();
    for (operation, arguments) in operations {
        bytes.extend(operation.byte());
        bytes.extend_from_slice(arguments);
    }
    bytes
}

/// Each with its name.
#[rustfmt::skip]
pub(super) fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    // One seat more than the number, a start policy, a seat policy, a durability.
    let two = [1, 0, 0, 0];
    let begin: Entries<'_> = &[(Enter, &[]), (Enter, &[]), (Play, &[30]), (Play, &[30])];
    vec![
        ("match", script(two, begin)),
        ("snapshot", script(two, &[
            (Enter, &[]), (Enter, &[]), (Play, &[20]), (ReportAll, &[0]), (Play, &[20]), (Donate, &[0, 0]), (Play, &[39]),
            (Play, &[39]), (Disconnect, &[1]), (Resume, &[1, 255, 0, 3]), (Download, &[2, 0]), (Play, &[20]),
        ])),
        ("late", script([2, 2, 3, 0], &[
            (Enter, &[]), (Enter, &[]), (Start, &[]), (Play, &[20]), (ReportAll, &[0]), (Play, &[9]), (Enter, &[]), (Play, &[1]),
            (Donate, &[0, 0]), (Play, &[3]), (Download, &[2, 0]), (Play, &[39]),
        ])),
        ("restarts", script([1, 0, 0, 1], &[
            (Enter, &[]), (Enter, &[]), (Play, &[30]), (Restart, &[9, 0]), (Resume, &[0, 0, 0, 3]), (GiveBack, &[2, 0]),
            (Resume, &[1, 0, 0, 3]), (Steps, &[3]), (Play, &[20]), (Restart, &[0, 1]), (Resume, &[2, 0, 0, 3]),
            (Resume, &[3, 0, 0, 3]), (Play, &[20]),
        ])),
        ("life", script([1, 3, 7, 0], &[
            (Enter, &[]), (Enter, &[]), (StartBy, &[0]), (Play, &[12]), (Command, &[0, 1, 2]), (Ephemeral, &[1, 2, 9, 9]),
            (Pause, &[0, 1]), (Steps, &[3]), (Pause, &[0, 0]), (Ping, &[1]), (Result, &[0, 0, 0]), (Result, &[1, 0, 0]),
            (Vote, &[0, 1]), (Reconfigure, &[0, 4]), (Ready, &[0]), (Ready, &[1]), (Play, &[12]), (Lock, &[1]), (Leave, &[1]),
            (Play, &[8]),
        ])),
        ("bots", script([3, 4, 31, 2], &[
            (SeatBot, &[3]), (Enter, &[]), (Enter, &[]), (Play, &[30]), (Disconnect, &[0]), (Steps, &[39]), (Steps, &[39]),
            (Steps, &[39]), (Resume, &[0, 0, 0, 3]), (Play, &[30]), (RemoveBot, &[3]), (Observe, &[5]), (Play, &[9]),
        ])),
        ("faults", script(two, &[
            (Enter, &[]), (Enter, &[]), (Play, &[20]), (ReportAll, &[7]), (Raw, &[0, 5, 1, 2, 3, 4, 5]), (Inputs, &[1, 250, 9, 0]),
            (Inputs, &[1, 90, 40, 7, 3]), (Stall, &[200]), (Steps, &[9]), (Transfer, &[1, 3, 1, 2]), (Resume, &[0, 0, 7, 0]),
            (Close, &[9]),
        ])),
    ]
}
