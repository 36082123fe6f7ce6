//! What a session refuses, by name, at each limit and one past it; nothing is taken then (S1, S8, N6).

use std::iter;
use std::sync::Arc;

use retick_core::frame::{CommandSource, Frame, MAX_COMMAND_BYTES, MAX_COMMANDS_PER_FRAME};
use retick_core::input::InputError;
use retick_core::replay::{Verdict, verify};
use retick_core::runtime::{AdvanceError, Capabilities, CheckpointError, HydrateError, RuntimeFactory};
use retick_core::seat::{ControlEpoch, Generation, Presence, SeatSet};
use retick_core::session::{
    Budget, ConfirmError, InputRetention, MAX_LOCAL_INPUTS_AHEAD, MAX_QUEUED_FRAME_BYTES, MAX_QUEUED_FRAMES,
    ReplayExportError, Session, SessionError, SessionEvent, SessionFault, SessionPolicy, StateReadError, SubmitError,
};
use retick_core::snapshot::{LastInput, Snapshot, SnapshotError};
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, tally_descriptor, tally_factory, tally_state, zig_packed};

use crate::brittle::{POISON, UNCAPTURABLE_SEATS, brittle_factory};
use crate::games::{Game, state_of, straight};
use crate::support::{Table, descriptor, frame, seat};

fn build(policy: SessionPolicy, local: SeatSet) -> Result<Session, SessionError> {
    Session::new(tally_factory().create(&descriptor()).expect("a match of TALLY"), &descriptor(), policy, local)
}

#[test]
fn s1_a_session_that_can_t_be_is_refused_by_name() {
    let required = Capabilities { commands: true, projection: true };
    let available = Capabilities { commands: false, projection: true };
    let policy = SessionPolicy { requires: required, ..SessionPolicy::default() };
    assert_eq!(build(policy, SeatSet::EMPTY).err(), Some(SessionError::Capabilities { required, available }));

    let within = |window, cadence| SessionPolicy {
        checkpoint_window_ticks: window,
        checksum_cadence_ticks: cadence,
        ..SessionPolicy::default()
    };
    for (window, cadence) in [(7, 0), (7, 8)] {
        let refused = build(within(window, cadence), SeatSet::EMPTY).err();
        assert_eq!(refused, Some(SessionError::Cadence { window, cadence }));
    }
    assert!(build(within(8, 8), SeatSet::EMPTY).is_ok());

    let stranger: SeatSet = [seat(2)].into_iter().collect();
    let expected = SessionError::LocalSeat { seat: seat(2), seats: descriptor().seats() };
    assert_eq!(build(SessionPolicy::default(), stranger).err(), Some(expected));

    // Another seed, and another number of seats.
    for other in [tally_descriptor(&tally_factory(), 2, 2), tally_descriptor(&tally_factory(), 3, 1)] {
        let runtime = tally_factory().create(&other).expect("a match of TALLY");
        let refused = Session::new(runtime, &descriptor(), SessionPolicy::default(), SeatSet::EMPTY).err();
        let (expected, found) = (descriptor().digest(), other.digest());
        assert_eq!(refused, Some(SessionError::OtherMatch { expected, found }));
    }

    let mut runtime = tally_factory().create(&descriptor()).expect("a match of TALLY");
    let tick = Tick::new(5);
    runtime.hydrate(tick, &tally_state(tick, 2)).expect("a state of TALLY");
    let refused = Session::new(runtime, &descriptor(), SessionPolicy::default(), SeatSet::EMPTY).err();
    assert_eq!(refused, Some(SessionError::NotAtStart { tick }));

    let factory = brittle_factory();
    let descriptor = tally_descriptor(&factory, UNCAPTURABLE_SEATS, 1);
    let runtime = factory.create(&descriptor).expect("a match of the game");
    let refused = Session::new(runtime, &descriptor, SessionPolicy::default(), SeatSet::EMPTY).err();
    assert_eq!(refused, Some(SessionError::Runtime));
}

#[test]
fn s1_an_input_is_refused_unless_it_is_the_next_of_a_local_seat() {
    let mut session = Table::new(SessionPolicy::default()).session;
    let input = pack_tally(1);
    assert_eq!(session.submit(seat(1), Tick::ZERO, &input), Err(SubmitError::SeatNotLocal { seat: seat(1) }));
    let (expected, found) = (Tick::ZERO, Tick::new(1));
    assert_eq!(session.submit(seat(0), found, &input), Err(SubmitError::NotNext { expected, found }));
    let short = session.submit(seat(0), Tick::ZERO, &input[1..]);
    assert!(matches!(short, Err(SubmitError::Input(InputError::Length { .. }))), "{short:?}");
    assert_eq!(session.next_input(seat(0)), Tick::ZERO);

    (0..=MAX_LOCAL_INPUTS_AHEAD).for_each(|tick| session.submit(seat(0), Tick::new(tick), &input).expect("the next"));
    let tick = Tick::new(MAX_LOCAL_INPUTS_AHEAD + 1);
    assert_eq!(session.submit(seat(0), tick, &input), Err(SubmitError::TooFarAhead { tick }));
}

#[test]
fn s3_a_frame_is_refused_unless_it_is_the_next_of_the_match() {
    let mut session = Table::new(SessionPolicy::default()).session;
    let (expected, found) = (Tick::ZERO, Tick::new(1));
    assert_eq!(session.confirm(&frame(1, [0; 2], [false; 2])), Err(ConfirmError::NotNext { expected, found }));
    let mut later = frame(0, [0; 2], [false; 2]);
    later.reset(Generation(1), Tick::ZERO);
    let nobody = Frame::new(Generation(0), Tick::ZERO);
    for other in [later, nobody] {
        assert_eq!(session.confirm(&other), Err(ConfirmError::OtherMatch));
    }
    assert_eq!(session.queued_frames(), 0);
}

#[test]
fn n6_frames_wait_up_to_a_number_and_up_to_a_size() {
    let mut session = Table::new(SessionPolicy::default()).session;
    let waiting = MAX_QUEUED_FRAMES as u64;
    (0..waiting).for_each(|tick| session.confirm(&frame(tick, [0; 2], [false; 2])).expect("there is room"));
    assert_eq!(session.confirm(&frame(waiting, [0; 2], [false; 2])), Err(ConfirmError::QueueFull));
    assert_eq!(session.queued_frames(), MAX_QUEUED_FRAMES);

    // Frames of a quarter of a mebibyte each.
    let mut session = Table::new(SessionPolicy::default()).session;
    let heavy = |tick| {
        let mut frame = frame(tick, [0; 2], [false; 2]);
        let command = [0; MAX_COMMAND_BYTES];
        (0..MAX_COMMANDS_PER_FRAME).for_each(|_| frame.push_command(CommandSource::Authority, &command));
        frame
    };
    let taken = (0..).take_while(|tick| session.confirm(&heavy(*tick)).is_ok()).count();
    assert_eq!(session.confirm(&heavy(taken as u64)), Err(ConfirmError::QueueFull));
    let payload = MAX_COMMANDS_PER_FRAME * MAX_COMMAND_BYTES;
    let most = MAX_QUEUED_FRAME_BYTES / payload;
    assert!((MAX_QUEUED_FRAME_BYTES / (payload + 4096)..most).contains(&taken), "{taken} of less than {most}");
}

#[test]
fn s8_a_snapshot_whose_parts_are_not_of_the_game_is_refused_and_changes_nothing() {
    let mut table = Table::new(SessionPolicy::default());
    table.session.confirm(&frame(0, [1, 2], [false; 2])).expect("the next");
    table.advance(0).expect("plays");
    let before = table.head_checksum();
    let (tick, last) = (Tick::new(9), LastInput::new(&pack_tally(1), Presence::Human, ControlEpoch(0)));
    let short = LastInput::new(&[1], Presence::Human, ControlEpoch(0));
    let state = tally_state(tick, 2);
    for last_inputs in [vec![], vec![last.clone()], vec![last.clone(), short]] {
        let snapshot = Snapshot::new(&descriptor(), tick, last_inputs, &state);
        assert_eq!(table.session.hydrate(&snapshot), Err(SnapshotError::LastInputs));
    }
    let refused = |error| Err(SnapshotError::State(error));
    let last = vec![last; 2];
    let junk = Snapshot::new(&descriptor(), tick, last.clone(), b"junk");
    assert_eq!(table.session.hydrate(&junk), refused(HydrateError::Malformed));
    let later = Snapshot::new(&descriptor(), Tick::new(10), last, &state);
    let (expected, found) = (Tick::new(10), tick);
    assert_eq!(table.session.hydrate(&later), refused(HydrateError::Tick { expected, found }));
    assert_eq!((table.head_checksum(), table.session.confirmed()), (before, Tick::new(1)));
}

/// A confirmed state that has no canonical form has no checksum to report: the session ends before the frames of that turn.
#[test]
fn k13_a_confirmed_state_without_a_form_ends_the_session_and_the_one_before_stays_readable() {
    let game = Game { factory: Arc::new(brittle_factory()), input: zig_packed };
    let frame = |tick| frame(tick, [1, if tick == 4 { POISON } else { 2 }], [false; 2]);
    let frames: Vec<_> = (0..8).map(frame).collect();
    let mut player = game.player(SessionPolicy { checksum_cadence_ticks: 1, ..SessionPolicy::default() });
    player.confirm_to(&frames, 3, 3);
    frames[3..].iter().for_each(|frame| player.session.confirm(frame).expect("the next"));
    for _ in 0..3 {
        let ended = player.session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(8) });
        let at_five =
            |error: &AdvanceError| matches!(error, AdvanceError::Capture { tick, .. } if *tick == Tick::new(5));
        assert!(matches!(&ended, Err(SessionFault::Capture(error)) if at_five(error)), "{ended:?}");
        assert_eq!(player.session.confirmed(), Tick::new(3));
        let good = straight(game.factory.as_ref(), &game.descriptor(), &frames[..3]).pop();
        assert_eq!(state_of(&mut player.session, 3), good);
    }
}

/// Where no checksum is due, the match goes on, and only whoever asks for such a state is refused.
#[test]
fn k13_a_state_without_a_form_can_t_be_exported_and_ends_nothing() {
    let (factory, policy) = (brittle_factory(), SessionPolicy::default());
    let descriptor = tally_descriptor(&factory, 2, 1);
    let runtime = factory.create(&descriptor).expect("a match of the game");
    let mut session = Session::new(runtime, &descriptor, policy, SeatSet::EMPTY).expect("a valid policy");
    let mut play = |tick, input| {
        session.confirm(&frame(tick, [1, input], [false; 2])).expect("the next");
        let played = session.advance(Budget { confirmed_frames: 1, target: Tick::ZERO });
        assert_eq!(played.map(|progress| progress.confirmed_frames), Ok(1));
        session.export_snapshot(Tick::new(tick + 1)).map(|snapshot| snapshot.tick())
    };
    assert_eq!(play(0, 2), Ok(Tick::new(1)));
    let refused = play(1, POISON);
    let unreadable = |error: &CheckpointError| matches!(error, CheckpointError::Capture { .. });
    assert!(
        matches!(&refused, Err(SnapshotError::Read(StateReadError::Checkpoint(error))) if unreadable(error)),
        "{refused:?}"
    );
    assert_eq!(play(2, 2), Ok(Tick::new(3)));
}

/// A replay vouches for its last state, so there is none that ends in a state without a form; a tick later there is.
#[test]
fn r4_no_replay_ends_in_a_state_without_a_form() {
    let factory = brittle_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let policy = SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() };
    let runtime = factory.create(&descriptor).expect("a match of the game");
    let mut session = Session::new(runtime, &descriptor, policy, SeatSet::EMPTY).expect("a valid policy");
    for (tick, input) in [2, POISON, 2].into_iter().enumerate() {
        session.confirm(&frame(tick as u64, [1, input], [false; 2])).expect("the next");
        session.advance(Budget { confirmed_frames: 1, target: Tick::ZERO }).expect("plays");
        let exported = session.export_replay();
        if input == POISON {
            let Err(ReplayExportError::State(StateReadError::Checkpoint(error))) = exported else {
                panic!("{exported:?}")
            };
            assert!(matches!(error, CheckpointError::Capture { tick, .. } if tick == Tick::new(2)), "{error}");
        } else {
            let verdict = verify(&exported.expect("a whole match"), &factory);
            let played = Tick::new(tick as u64 + 1);
            assert!(matches!(verdict, Verdict::Verified { ticks, .. } if ticks == played), "{verdict:?}");
        }
    }
}

/// While a state without a form is only a guess, nobody asks for its checksum: the match goes on, and it ends only when the
/// guess proves right (W5).
#[test]
fn k13_a_guess_without_a_form_ends_the_session_only_once_it_is_confirmed() {
    let factory = brittle_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let policy = SessionPolicy { checksum_cadence_ticks: 1, ..SessionPolicy::default() };
    for (confirmed_input, ends) in [(3, false), (POISON, true)] {
        let runtime = factory.create(&descriptor).expect("a match of the game");
        let local = seat(0);
        let mut session = Session::new(runtime, &descriptor, policy, [local].into_iter().collect()).expect("valid");
        for (tick, input) in [1, POISON, 2].into_iter().enumerate() {
            session.submit(local, Tick::new(tick as u64), &pack_tally(input)).expect("the next tick");
        }
        let played = session.advance(Budget { confirmed_frames: 0, target: Tick::new(3) });
        assert_eq!(played.map(|progress| progress.predicted), Ok(3));
        session.confirm(&frame(0, [1, 0], [false; 2])).expect("the next");
        session.confirm(&frame(1, [confirmed_input, 0], [false; 2])).expect("the next");
        let played = session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(3) });
        let reported = iter::from_fn(|| session.poll_event())
            .filter_map(|event| match event {
                SessionEvent::Checksum { tick, .. } => Some(tick.index()),
                _ => None,
            })
            .collect::<Vec<_>>();
        if ends {
            let at_two =
                |error: &AdvanceError| matches!(error, AdvanceError::Capture { tick, .. } if tick.index() == 2);
            assert!(matches!(&played, Err(SessionFault::Capture(error)) if at_two(error)), "{played:?}");
            assert_eq!(reported, [1]);
        } else {
            assert_eq!(played.map(|progress| progress.confirmed_frames), Ok(2));
            assert_eq!(reported, [1, 2]);
        }
    }
}
