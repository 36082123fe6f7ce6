//! A room that stood still, and a client that delays its input: nothing is sent that the room refuses (A1, A4, T03 c).

use std::sync::Arc;

use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomConfig, RoomSecret};
use retick_core::client::{Client, ClientConfig, InputDelay, Output};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};

use crate::support::seat;

/// One client on a perfect network for twelve seconds, in which the room's process is suspended from the third to the eighth.
fn play(input_delay_ticks: u16) -> (Room, Client) {
    let factory = Arc::new(tally_factory());
    let mut room =
        Room::new(RoomConfig::new(tally_descriptor(&tally_factory(), 1, 1)), RoomSecret([1; 32])).expect("valid");
    let mut client = Client::new(
        ClientConfig { input_delay: InputDelay::Fixed(input_delay_ticks), ..ClientConfig::default() },
        Box::new(factory),
    );
    let me = ConnectionId(0);
    let mut waiting: Vec<Vec<u8>> = vec![];
    room.handle_connected(me, Moment::ZERO);
    client.handle_connected(Moment::ZERO);
    for tick in 0..720 {
        let now = TickRate::Hz60.moment_of(Tick::new(tick));
        client.handle_turn(now);
        while let Some(wanted) = client.wanted_input() {
            client.submit_input(&zig_packed(seat(0), wanted)).expect("wanted");
        }
        client.step().expect("the match goes on");
        while let Some(output) = client.poll_output() {
            if let Output::Transmit(bytes) = output {
                waiting.push(bytes.to_vec());
            }
        }
        if (180..480).contains(&tick) {
            continue;
        }
        waiting.drain(..).for_each(|bytes| room.handle_message(me, &bytes, now));
        room.handle_timeout(now);
        while let Some(output) = room.poll_output() {
            if let RoomOutput::Transmit { bytes, .. } = output {
                client.handle_message(bytes, now).expect("an honest room");
            }
        }
    }
    (room, client)
}

#[test]
fn t03_a_suspended_room_substitutes_nothing_and_refuses_nothing_whatever_the_input_delay() {
    for input_delay_ticks in [0, 3, 12] {
        let (room, client) = play(input_delay_ticks);
        let stats = room.seat_stats(seat(0)).expect("a seat");
        assert_eq!((stats.counters.refused_inputs, stats.substituted_inputs), (0, 0), "delay {input_delay_ticks}");
        // Seven of the twelve seconds passed for the room, a tenth of a second of the stall among them.
        let frontier = room.frontier().index();
        assert!((400..=432).contains(&frontier), "{frontier} ticks");
        let session = client.session().expect("greeted");
        let lead = session.next_input(seat(0)).since(session.received());
        assert!(lead <= u64::from(input_delay_ticks) + 4, "{lead} ticks of input lie ahead, delay {input_delay_ticks}");
    }
}
