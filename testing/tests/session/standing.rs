//! A client tells its session how it stands to the room: behind while confirmed frames have not arrived (S5).

use std::sync::Arc;

use retick_authority::room::{ConnectionId, Output as RoomOutput, Room, RoomConfig, RoomSecret};
use retick_core::client::{Client, ClientConfig, Output};
use retick_core::session::{InputRetention, Retention, Standing};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};

use crate::support::seat;

/// A client and a room of one seat; what the room sends waits in `held` until it is delivered.
struct Pair {
    room: Room,
    client: Client,
    held: Vec<Vec<u8>>,
}

impl Pair {
    fn new(config: ClientConfig) -> Pair {
        let config_of_room = RoomConfig::new(tally_descriptor(&tally_factory(), 1, 1));
        let mut room = Room::new(config_of_room, RoomSecret([1; 32])).expect("valid");
        let mut client = Client::new(config, Box::new(Arc::new(tally_factory())));
        room.handle_connected(ConnectionId(0), Moment::ZERO);
        client.handle_connected(Moment::ZERO);
        Pair { room, client, held: vec![] }
    }

    /// One turn of both at `tick`, after `share` of what is held was delivered.
    fn turn(&mut self, tick: u64, share: fn(usize) -> usize) {
        let now = TickRate::Hz60.moment_of(Tick::new(tick));
        let count = share(self.held.len());
        self.held.drain(..count).for_each(|bytes| self.client.handle_message(&bytes, now).expect("an honest room"));
        self.client.handle_turn(now);
        while let Some(wanted) = self.client.wanted_input() {
            self.client.submit_input(&zig_packed(seat(0), wanted)).expect("wanted");
        }
        self.client.step().expect("the match goes on");
        while let Some(output) = self.client.poll_output() {
            if let Output::Transmit(bytes) = output {
                self.room.handle_message(ConnectionId(0), bytes, now);
            }
        }
        self.room.handle_timeout(now);
        while let Some(output) = self.room.poll_output() {
            if let RoomOutput::Transmit { bytes, .. } = output {
                self.held.push(bytes.to_vec());
            }
        }
    }

    fn standing(&self) -> (Standing, usize) {
        let session = self.client.session().expect("greeted");
        (session.standing(), session.kept_checkpoints())
    }
}

#[test]
fn s5_a_client_keeps_the_window_while_confirmed_frames_have_not_arrived() {
    let mut pair = Pair::new(ClientConfig::default());
    let all: fn(usize) -> usize = |held| held;
    (0..300).for_each(|tick| pair.turn(tick, all));
    let (standing, live) = pair.standing();
    assert_eq!(standing, Standing::Live);
    assert!(live <= 1 + 8 + 3, "{live}");
    // Nothing arrives for four seconds; then half of it, then the rest.
    (300..540).for_each(|tick| pair.turn(tick, |_| 0));
    assert_eq!(pair.standing().0, Standing::CatchingUp);
    let before = pair.client.session().expect("greeted").confirmed();
    pair.turn(540, |held| held / 2);
    let applied = pair.client.session().expect("greeted").confirmed().since(before);
    let (standing, behind) = pair.standing();
    assert_eq!(standing, Standing::CatchingUp);
    assert!(applied > 100 && behind as u64 > applied, "{behind} states of {applied} ticks");
    pair.turn(541, all);
    pair.turn(542, all);
    let (standing, live) = pair.standing();
    assert_eq!(standing, Standing::Live);
    assert!(live <= 1 + 8 + 3, "{live}");
}

#[test]
fn s5_a_client_hands_its_retention_to_its_session() {
    let (retention, input_retention) = (Retention::Window, InputRetention::All);
    let mut pair = Pair::new(ClientConfig { retention, input_retention, ..ClientConfig::default() });
    (0..400).for_each(|tick| pair.turn(tick, |held| held));
    let (standing, kept) = pair.standing();
    assert_eq!(standing, Standing::Live);
    assert!(kept > 256, "{kept}");
    let session = pair.client.session_mut().expect("greeted");
    let replay = session.export_replay().expect("all is retained");
    let verdict = retick_core::replay::verify(&replay, &tally_factory());
    assert!(matches!(verdict, retick_core::replay::Verdict::Verified { .. }), "{verdict:?}");
}
