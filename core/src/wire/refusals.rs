//! What is no message: every message cut, continued and written otherwise, and each part one past its limit (K13).

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::codec::wire::List;
use crate::digest::{Checksum, Digest, Identity};
use crate::seat::{ControlEpoch, Generation, Seat};
use crate::snapshot::MAX_SNAPSHOT_BYTES;
use crate::tick::Tick;

/// A message to the room of each kind.
fn to_room() -> Vec<Vec<u8>> {
    let (generation, tick, epoch) = (Generation(3), Tick::new(40), ControlEpoch(2));
    let (identity, protocol) = (Identity::from_bytes([7; 32]), PROTOCOL_VERSION);
    let resume = Entry::Resume {
        seat: Seat::new(1).expect("valid"),
        token: ResumeToken([9; 32]),
        generation,
        next: tick,
        fence: Some(2),
    };
    let observe = Entry::Observe { ticket: b"ticket", generation, next: tick, fence: None };
    let inputs = InputRun::new(2, &[10, 20]).expect("two inputs of one byte");
    let messages = [
        ClientMessage::Hello(Hello { protocol, identity, entry: Entry::Join { ticket: b"ticket" } }),
        ClientMessage::Hello(Hello { protocol, identity, entry: resume }),
        ClientMessage::Hello(Hello { protocol, identity, entry: observe }),
        ClientMessage::Ready { generation },
        ClientMessage::Inputs(Inputs { generation, epoch, first: tick, inputs }),
        ClientMessage::Report { generation, tick, checksum: Checksum::of(b"state") },
        ClientMessage::Command { generation, sequence: 5, payload: b"build" },
        ClientMessage::Ephemeral { payload: b"hello" },
        ClientMessage::Ping { sent_micros: 70_000, rollbacks: 3 },
        ClientMessage::Leave,
        ClientMessage::Vote { ready: true },
        ClientMessage::Start,
        ClientMessage::Pause { generation, paused: true },
        ClientMessage::Reconfigure { generation, config: b"config" },
        ClientMessage::Result { generation, tick, result: b"won" },
        ClientMessage::SnapshotOffer(header()),
        ClientMessage::SnapshotChunk { transfer: TransferId(6), index: 1, bytes: b"state" },
        ClientMessage::SnapshotRefused { transfer: TransferId(6), cause: NoSnapshot::NoState },
        ClientMessage::SnapshotProgress { transfer: TransferId(6), next: 2 },
        ClientMessage::SnapshotFailed { transfer: TransferId(6) },
        ClientMessage::Tail(frames(1)),
        ClientMessage::Answer { inquiry: InquiryId(4), answer: Answer::Unknown },
        ClientMessage::Answer { inquiry: InquiryId(4), answer: Answer::Checksums(List(vec![Checksum::of(b"one")])) },
        ClientMessage::Answer { inquiry: InquiryId(4), answer: Answer::Value(Some([3; 32])) },
        ClientMessage::Answer { inquiry: InquiryId(4), answer: Answer::Bytes { total: 70_000, bytes: b"state" } },
    ];
    messages.map(|message| encoded(|out| message.encode_into(out))).to_vec()
}

/// A message of the room's of each kind.
fn to_client() -> Vec<Vec<u8>> {
    let (generation, tick, seat) = (Generation(3), Tick::new(40), Seat::new(1).expect("valid"));
    let rules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 120 };
    let (id, epoch, token) = (ClaimId(5), ControlEpoch(2), ResumeToken([9; 32]));
    let claim = Some(Claim { seat, id, epoch, token });
    let clock = RoomClock { micros: 1_000_000 };
    let values = List(vec![(seat, Checksum::of(b"one")), (seat, Checksum::of(b"other"))]);
    let (inquiry, source) = (InquiryId(4), StateSource::Replayed);
    let finding = finding(b"ours", b"theirs");
    let messages = [
        RoomMessage::Welcome(Welcome {
            claim,
            descriptor: b"match",
            rules,
            frontier: tick,
            history: History::Snapshot,
        }),
        RoomMessage::Refused(Refusal::Full { seats: 4 }),
        RoomMessage::Started { generation, clock },
        RoomMessage::Frames(frames(1)),
        RoomMessage::Pong { sent_micros: 70_000, clock: Some(clock), counters: SeatCounters::default() },
        RoomMessage::Desync { generation, tick, values },
        RoomMessage::Ephemeral { seat, payload: b"hello" },
        RoomMessage::Closing(CloseReason::RoomEnded),
        RoomMessage::Roster { locked: true, seats: List(vec![SeatView::default(); 3]) },
        RoomMessage::Activated { generation, tick },
        RoomMessage::Paused { generation, tick },
        RoomMessage::Resumed { generation, clock },
        RoomMessage::Reconfigured { descriptor: b"match" },
        RoomMessage::Settled { generation, settlement: Settlement::Agreed { tick, result: b"won" } },
        RoomMessage::SnapshotWanted { transfer: TransferId(6), generation, tick },
        RoomMessage::SnapshotProgress { transfer: TransferId(6), next: 2 },
        RoomMessage::SnapshotCanceled { transfer: TransferId(6) },
        RoomMessage::Snapshot { header: header(), verified: true },
        RoomMessage::SnapshotChunk { transfer: TransferId(6), index: 1, bytes: b"state" },
        RoomMessage::NoSnapshot { cause: NoSnapshot::NoDonor },
        RoomMessage::TailWanted { generation, next: tick },
        RoomMessage::Draining { millis: 5_000 },
        RoomMessage::Inquiry { inquiry, generation, question: Question::Checksums { base: Tick::ZERO, last: tick } },
        RoomMessage::Inquiry { inquiry, generation, question: Question::Value { tick, source, level: 3, index: 7 } },
        RoomMessage::Inquiry {
            inquiry,
            generation,
            question: Question::Bytes { tick, source, offset: 9, count: 4096 },
        },
        RoomMessage::Found { generation, finding },
        RoomMessage::Verdict { generation, tick, checksum: Checksum::of(b"right"), wrong: List(vec![seat]) },
        RoomMessage::Repair { header: header() },
    ];
    messages.map(|message| encoded(|out| message.encode_into(out))).to_vec()
}

fn finding<'a>(ours: &'a [u8], theirs: &'a [u8]) -> Finding<'a> {
    let (seat, tick) = (Seat::new(1).expect("valid"), PlaceTick::First(Tick::new(33)));
    Finding {
        report: Tick::new(40),
        witnesses: (Witness::Seat(seat), Witness::Referee),
        place: Some(Place { tick, address: 77, ours, theirs }),
        contradicted: List(vec![seat]),
        silent: List(vec![Witness::Referee]),
    }
}

fn header() -> SnapshotHeader {
    let (transfer, generation, tick) = (TransferId(6), Generation(3), Tick::new(41));
    let (checksum, digest) = (Checksum::of(b"state"), Digest::of(b"snapshot"));
    SnapshotHeader { transfer, generation, tick, checksum, byte_count: 70_000, digest }
}

/// The frames end where their message does, and are whatever stands there.
fn frames(count: u32) -> Frames<'static> {
    let (generation, first, tag) = (Generation(3), Tick::new(40), ReleaseTag([4; 8]));
    Frames { generation, first, count, complete: true, tag, body: b"" }
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = vec![];
    encode(&mut bytes);
    bytes
}

fn room_reads(bytes: &[u8]) -> Result<(), MessageError> {
    ClientMessage::decode(bytes).map(|_| ())
}

fn client_reads(bytes: &[u8]) -> Result<(), MessageError> {
    RoomMessage::decode(bytes).map(|_| ())
}

/// Whether a message's last part is whatever follows: then what follows is not refused here.
fn is_open_ended(bytes: &[u8]) -> bool {
    let from_room = matches!(RoomMessage::decode(bytes), Ok(RoomMessage::Frames(_)));
    from_room || matches!(ClientMessage::decode(bytes), Ok(ClientMessage::Tail(_)))
}

fn check(messages: &[Vec<u8>], limit: usize, read: fn(&[u8]) -> Result<(), MessageError>) {
    let refused = |bytes: &[u8], error| assert_eq!(read(bytes), Err(MessageError::Encoding(error)), "{bytes:?}");
    for bytes in messages {
        assert_eq!(read(bytes), Ok(()));
        (0..bytes.len()).for_each(|end| refused(&bytes[..end], WireError::Malformed));
        if !is_open_ended(bytes) {
            refused(&[bytes, &[0][..]].concat(), WireError::NotCanonical { offset: bytes.len() });
        }
        // The message's number in three bytes.
        let long = [&[251, bytes[0], 0], &bytes[1..]].concat();
        refused(&long, WireError::NotCanonical { offset: 0 });
    }
    let unknown = 200;
    refused(&[unknown], WireError::Malformed);
    refused(&vec![unknown; limit + 1], WireError::TooLong { actual: limit + 1, limit });
}

#[test]
fn k13_what_is_no_message_is_refused_at_the_room() {
    check(&to_room(), MAX_CLIENT_MESSAGE_BYTES, room_reads);
}

#[test]
fn k13_what_is_no_message_is_refused_at_the_client() {
    check(&to_client(), MAX_ROOM_MESSAGE_BYTES, client_reads);
}

#[test]
fn k13_each_part_of_a_message_ends_at_its_limit() {
    let check = |read: fn(&[u8]) -> Result<(), MessageError>, fits: bool, encode: &dyn Fn(&mut Vec<u8>)| {
        assert_eq!(read(&encoded(|out| encode(out))), if fits { Ok(()) } else { Err(MessageError::Limit) });
    };
    for (length, fits) in [(MAX_TICKET_BYTES, true), (MAX_TICKET_BYTES + 1, false)] {
        let (ticket, identity) = (vec![7; length], Identity::from_bytes([7; 32]));
        let watch = Entry::Observe { ticket: &ticket, generation: Generation(0), next: Tick::ZERO, fence: None };
        for entry in [Entry::Join { ticket: &ticket }, watch] {
            let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry };
            check(room_reads, fits, &|out| ClientMessage::Hello(hello).encode_into(out));
        }
    }
    for (length, fits) in [(MAX_EPHEMERAL_BYTES, true), (MAX_EPHEMERAL_BYTES + 1, false)] {
        let (payload, seat) = (vec![7; length], Seat::new(0).expect("valid"));
        check(room_reads, fits, &|out| ClientMessage::Ephemeral { payload: &payload }.encode_into(out));
        check(client_reads, fits, &|out| RoomMessage::Ephemeral { seat, payload: &payload }.encode_into(out));
    }
    let (most, one_past) = (MAX_FRAMES_PER_MESSAGE, MAX_FRAMES_PER_MESSAGE + 1);
    for (count, fits) in [(0, false), (1, true), (most, true), (one_past, false), (u32::MAX, false)] {
        check(client_reads, fits, &|out| RoomMessage::Frames(frames(count)).encode_into(out));
        check(room_reads, fits, &|out| ClientMessage::Tail(frames(count)).encode_into(out));
    }
    let (generation, tick) = (Generation(0), Tick::ZERO);
    for (length, fits) in [(MAX_RESULT_BYTES, true), (MAX_RESULT_BYTES + 1, false)] {
        let result = &vec![7; length];
        let settlement = Settlement::Agreed { tick, result };
        check(room_reads, fits, &|out| ClientMessage::Result { generation, tick, result }.encode_into(out));
        check(client_reads, fits, &|out| RoomMessage::Settled { generation, settlement }.encode_into(out));
    }
    for (length, fits) in [(SNAPSHOT_CHUNK_BYTES, true), (SNAPSHOT_CHUNK_BYTES + 1, false)] {
        let (transfer, index, bytes) = (TransferId(1), 0, &vec![7; length]);
        check(room_reads, fits, &|out| ClientMessage::SnapshotChunk { transfer, index, bytes }.encode_into(out));
        check(client_reads, fits, &|out| RoomMessage::SnapshotChunk { transfer, index, bytes }.encode_into(out));
    }
    for (length, fits) in [(MAX_INQUIRY_BYTES, true), (MAX_INQUIRY_BYTES + 1, false)] {
        let (inquiry, bytes, count) = (InquiryId(1), &vec![7; length], u32::try_from(length).expect("small"));
        let answer = || Answer::Bytes { total: 1, bytes };
        check(room_reads, fits, &|out| ClientMessage::Answer { inquiry, answer: answer() }.encode_into(out));
        let question = Question::Bytes { tick, source: StateSource::Kept, offset: 0, count };
        check(client_reads, fits, &|out| RoomMessage::Inquiry { inquiry, generation, question }.encode_into(out));
    }
    for (length, fits) in [(MAX_PLACE_BYTES, true), (MAX_PLACE_BYTES + 1, false)] {
        let (bytes, none) = (&vec![7; length], &[][..]);
        for (ours, theirs) in [(&bytes[..], none), (none, &bytes[..])] {
            check(client_reads, fits, &|out| {
                RoomMessage::Found { generation, finding: finding(ours, theirs) }.encode_into(out)
            });
        }
    }
    for (ticks, fits) in
        [(0, false), (1, true), (MAX_INQUIRY_TICKS as u64, true), (MAX_INQUIRY_TICKS as u64 + 1, false)]
    {
        let (inquiry, question) = (InquiryId(1), Question::Checksums { base: tick, last: Tick::new(ticks) });
        check(client_reads, fits, &|out| RoomMessage::Inquiry { inquiry, generation, question }.encode_into(out));
    }
    for (level, index, fits) in [(0, u32::MAX, true), (31, 1, true), (31, 2, false), (32, 0, false)] {
        let (inquiry, source) = (InquiryId(1), StateSource::Kept);
        let question = Question::Value { tick, source, level, index };
        check(client_reads, fits, &|out| RoomMessage::Inquiry { inquiry, generation, question }.encode_into(out));
    }
    let most = u32::try_from(MAX_SNAPSHOT_BYTES).expect("four mebibytes");
    for (byte_count, fits) in [(0, false), (1, true), (most, true), (most + 1, false)] {
        let header = SnapshotHeader { byte_count, ..header() };
        check(room_reads, fits, &|out| ClientMessage::SnapshotOffer(header).encode_into(out));
        check(client_reads, fits, &|out| RoomMessage::Snapshot { header, verified: false }.encode_into(out));
    }
}

#[test]
fn a7_a_snapshot_is_cut_into_whole_chunks_and_a_rest() {
    let chunk = u32::try_from(SNAPSHOT_CHUNK_BYTES).expect("small");
    for (byte_count, chunks, last) in [(1, 1, 1), (chunk, 1, chunk), (chunk + 1, 2, 1), (16 * chunk, 16, chunk)] {
        let header = SnapshotHeader { byte_count, ..header() };
        assert_eq!((header.chunk_count(), header.chunk_bytes(chunks - 1)), (chunks, last));
        assert_eq!(header.chunk_bytes(chunks), 0);
        assert_eq!((0..chunks).map(|index| header.chunk_bytes(index)).sum::<u32>(), byte_count);
    }
}
