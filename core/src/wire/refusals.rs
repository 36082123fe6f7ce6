//! What is no message: every message cut, continued and written otherwise, and each part one past its limit (K13).

use alloc::vec;

use super::*;

/// A message to the room of each kind.
fn to_room() -> Vec<Vec<u8>> {
    let (generation, tick, epoch) = (Generation(3), Tick::new(40), ControlEpoch(2));
    let (identity, protocol) = (Identity::from_bytes([7; 32]), PROTOCOL_VERSION);
    let resume =
        Entry::Resume { seat: Seat::new(1).expect("valid"), token: ResumeToken([9; 32]), generation, next: tick };
    let inputs = InputRun::new(2, &[10, 20]).expect("two inputs of one byte");
    let messages = [
        ClientMessage::Hello(Hello { protocol, identity, entry: Entry::Join { ticket: b"ticket" } }),
        ClientMessage::Hello(Hello { protocol, identity, entry: resume }),
        ClientMessage::Ready { generation },
        ClientMessage::Inputs(Inputs { generation, epoch, first: tick, inputs }),
        ClientMessage::Report { generation, tick, checksum: Checksum::of(b"state") },
        ClientMessage::Command { generation, sequence: 5, payload: b"build" },
        ClientMessage::Ephemeral { payload: b"hello" },
        ClientMessage::Ping { sent_micros: 70_000 },
        ClientMessage::Leave,
    ];
    messages.map(|message| encoded(|out| message.encode_into(out))).to_vec()
}

/// A message of the room's of each kind.
fn to_client() -> Vec<Vec<u8>> {
    let (generation, tick, seat) = (Generation(3), Tick::new(40), Seat::new(1).expect("valid"));
    let rules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 120 };
    let (claim, epoch, token) = (ClaimId(5), ControlEpoch(2), ResumeToken([9; 32]));
    let clock = RoomClock { micros: 1_000_000 };
    let values = List(vec![(seat, Checksum::of(b"one")), (seat, Checksum::of(b"other"))]);
    let tag = ReleaseTag([4; 8]);
    let messages = [
        RoomMessage::Welcome(Welcome { seat, claim, epoch, token, descriptor: b"match", rules, frontier: tick }),
        RoomMessage::Refused(Refusal::Full { seats: 4 }),
        RoomMessage::Started { generation, clock },
        // Its body ends where the message does, and is whatever stands there.
        RoomMessage::Frames(Frames { generation, first: tick, count: 1, complete: true, tag, body: b"" }),
        RoomMessage::Pong { sent_micros: 70_000, clock: Some(clock), counters: SeatCounters::default() },
        RoomMessage::Desync { generation, tick, values },
        RoomMessage::Ephemeral { seat, payload: b"hello" },
        RoomMessage::Closing(CloseReason::RoomEnded),
    ];
    messages.map(|message| encoded(|out| message.encode_into(out))).to_vec()
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
    matches!(RoomMessage::decode(bytes), Ok(RoomMessage::Frames(_)))
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
    let unknown = u8::try_from(messages.len()).expect("few") + 1;
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
        let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket: &ticket } };
        check(room_reads, fits, &|out| ClientMessage::Hello(hello).encode_into(out));
    }
    for (length, fits) in [(MAX_EPHEMERAL_BYTES, true), (MAX_EPHEMERAL_BYTES + 1, false)] {
        let (payload, seat) = (vec![7; length], Seat::new(0).expect("valid"));
        check(room_reads, fits, &|out| ClientMessage::Ephemeral { payload: &payload }.encode_into(out));
        check(client_reads, fits, &|out| RoomMessage::Ephemeral { seat, payload: &payload }.encode_into(out));
    }
    let (most, one_past) = (MAX_FRAMES_PER_MESSAGE, MAX_FRAMES_PER_MESSAGE + 1);
    for (count, fits) in [(0, false), (1, true), (most, true), (one_past, false), (u32::MAX, false)] {
        let (generation, first, tag) = (Generation(0), Tick::ZERO, ReleaseTag::default());
        let frames = Frames { generation, first, count, complete: true, tag, body: b"" };
        check(client_reads, fits, &|out| RoomMessage::Frames(frames).encode_into(out));
    }
}
