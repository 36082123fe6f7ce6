//! Local play: several players at one machine, bots, time as an argument, and no network (S6).

use std::sync::Arc;
use std::time::Duration;

use retick_core::frame::{CommandSource, Frame, MAX_COMMANDS_PER_FRAME};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputError, InputSchema, Packer, Unpacker};
use retick_core::replay::{Verdict, verify};
use retick_core::runtime::{RuntimeFactory, StepFault};
use retick_core::seat::{Presence, Seat, SeatSet};
use retick_core::session::{
    CommandError, HeldInputs, InputRetention, LocalConfig, LocalError, LocalProgress, LocalSession, LocalSetupError,
    LocalStats, MAX_PENDING_COMMANDS, MAX_STEPS_PER_UPDATE, Recording, SessionError, SessionEvent, SessionFault,
    SessionPolicy, StateReadError, SubmitError, TickInputs,
};
use retick_core::tick::{Tick, TickRate};
use retick_testing::fixtures::{
    TallyInput, TallyView, pack_tally, tally_descriptor, tally_factory, tally_reference, zig, zig_packed,
};
use retick_testing::strict::{FaultPlan, StrictFactory, StrictProbe};

use crate::commands::market;
use crate::support::seat;

const SEATS: u8 = 4;

pub fn seats(numbers: &[u8]) -> SeatSet {
    numbers.iter().map(|number| seat(*number)).collect()
}

pub fn descriptor() -> MatchDescriptor {
    tally_descriptor(&tally_factory(), SEATS, 1)
}

/// Seats 0 and 1 are local, 2 is a bot's, 3 is empty.
pub fn config() -> LocalConfig {
    let policy = SessionPolicy {
        recording: Recording::Frames,
        input_retention: InputRetention::All,
        checksum_cadence_ticks: 20,
        ..SessionPolicy::default()
    };
    LocalConfig { local_seats: seats(&[0, 1]), bot_seats: seats(&[2]), policy, ..LocalConfig::default() }
}

pub fn local(config: LocalConfig, faults: Vec<FaultPlan>) -> (LocalSession, StrictProbe) {
    let factory = StrictFactory::new(Arc::new(tally_factory()));
    let factory = faults.into_iter().fold(factory, StrictFactory::with_fault);
    let runtime = factory.create(&descriptor()).expect("a match of TALLY");
    let session = LocalSession::new(runtime, &descriptor(), config).expect("a valid config");
    (session, factory.probes().remove(0))
}

/// One tick of 60 Hz, rounded up.
pub const TICK: Duration = Duration::from_nanos(16_666_667);

pub fn bots(seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
    *packed = zig_packed(seat, tick);
}

fn events(session: &mut LocalSession) -> (Vec<Frame>, Vec<Tick>) {
    let (mut frames, mut reports) = (vec![], vec![]);
    while let Some(event) = session.poll_event() {
        match event {
            SessionEvent::Confirmed(frame) => frames.push(*frame),
            SessionEvent::Checksum { tick, .. } => reports.push(tick),
            SessionEvent::RolledBack { .. } => panic!("local play predicts nothing"),
        }
    }
    (frames, reports)
}

#[test]
fn s6_each_tick_is_ordered_as_a_frame_of_players_bots_and_empty_seats() {
    let (mut session, probe) = local(config(), vec![]);
    session.set_input(seat(0), &pack_tally(3)).expect("a local seat");
    for _ in 0..60 {
        session.update(TICK, &mut bots).expect("plays");
    }
    // What a seat holds stays until it is set again.
    session.set_input(seat(0), &pack_tally(-1)).expect("a local seat");
    session.set_input(seat(1), &pack_tally(8)).expect("a local seat");
    for _ in 60..90 {
        session.update(TICK, &mut bots).expect("plays");
    }
    assert_eq!(session.tick(), Tick::new(90));
    let (frames, reports) = events(&mut session);
    assert_eq!((frames.len(), reports), (90, [1, 21, 41, 61, 81].map(Tick::new).to_vec()));
    for (frame, tick) in frames.iter().zip(0..) {
        let held = if tick < 60 { [3, 0] } else { [-1, 8] };
        let expected = [
            (Some(pack_tally(held[0])), Presence::Human),
            (Some(pack_tally(held[1])), Presence::Human),
            (Some(zig_packed(seat(2), Tick::new(tick))), Presence::Bot),
            (None, Presence::Empty),
        ];
        let found = frame.seats().map(|seat| (seat.input.map(<[u8]>::to_vec), seat.presence));
        assert!(found.eq(expected), "tick {tick}");
        // The epochs are those of a room: each driver has taken its seat once, and nobody the empty one.
        let epochs = frame.seats().map(|seat| (seat.substituted, seat.epoch.0));
        assert!(epochs.eq([(false, 1), (false, 1), (false, 1), (false, 0)]));
    }
    let view = tally_reference(usize::from(SEATS), &frames);
    assert_eq!(TallyView::read(session.projections().0), Some(view));
    assert_eq!(
        TallyView::read(session.projections().1),
        Some(tally_reference(usize::from(SEATS), &frames[..89])),
        "the projection of the tick before"
    );
    let replay = session.export_replay().expect("all is retained");
    let verdict = verify(&replay, &tally_factory());
    assert!(matches!(verdict, Verdict::Verified { checksums: 6, .. }), "{verdict:?}");
    probe.assert_clean();
}

/// Samples each local seat in each tick, and keeps what it was asked.
#[derive(Default)]
struct Sampler(Vec<(Seat, Tick)>);

impl TickInputs for Sampler {
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        assert_eq!(*packed, pack_tally(0), "a bot's input begins neutral");
        self.0.push((seat, tick));
    }

    fn local(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        assert_eq!(*packed, pack_tally(5), "a local input begins as it was set");
        self.0.push((seat, tick));
        if seat.number() == 1 {
            *packed = pack_tally(zig(seat, tick));
        }
    }
}

#[test]
fn s6_a_provider_is_asked_once_for_each_driven_seat_and_tick() {
    let (mut session, _) = local(config(), vec![]);
    [0, 1].into_iter().for_each(|number| session.set_input(seat(number), &pack_tally(5)).expect("a local seat"));
    let mut sampler = Sampler::default();
    for _ in 0..10 {
        session.update(TICK * 3, &mut sampler).expect("plays");
    }
    let asked: Vec<_> = (0..30).flat_map(|tick| [0, 1, 2].map(|number| (seat(number), Tick::new(tick)))).collect();
    assert_eq!(sampler.0, asked);
    let (frames, _) = events(&mut session);
    let sampled = |frame: &Frame| frame.input(seat(1)) == Some(&zig_packed(seat(1), frame.tick())[..]);
    let held = |frame: &Frame| frame.input(seat(0)) == Some(&pack_tally(5)[..]);
    assert!(frames.len() == 30 && frames.iter().all(|frame| sampled(frame) && held(frame)));
}

#[test]
fn s6_an_update_steps_at_most_eight_ticks_and_drops_and_counts_the_rest() {
    let (mut session, _) = local(LocalConfig { local_seats: seats(&[0]), ..LocalConfig::default() }, vec![]);
    // Eight ticks and a half: nothing is dropped, and the half is carried on.
    let progress = session.update(TICK * 8 + TICK / 2, &mut HeldInputs);
    assert_eq!(progress, Ok(LocalProgress { steps: 8, dropped_ticks: 0 }));
    assert!((0.49..0.51).contains(&session.alpha()), "{}", session.alpha());
    // Nine and a half with it: one is dropped.
    let progress = session.update(TICK * 9, &mut HeldInputs);
    assert_eq!(progress, Ok(LocalProgress { steps: 8, dropped_ticks: 1 }));
    // A backgrounded tab: an hour, then not a tick more than the next frame of the display is worth.
    let progress = session.update(Duration::from_secs(3600), &mut HeldInputs).expect("plays");
    assert_eq!((progress.steps, progress.dropped_ticks), (8, 3600 * 60 - 8));
    let progress = session.update(TICK / 4, &mut HeldInputs);
    assert_eq!(progress, Ok(LocalProgress { steps: 0, dropped_ticks: 0 }));
    assert_eq!(session.update(Duration::ZERO, &mut HeldInputs).map(|progress| progress.steps), Ok(0));
    assert_eq!(session.tick(), Tick::new(24));
    assert_eq!(session.stats(), LocalStats { steps: 24, dropped_ticks: 3600 * 60 - 7, commands: 0 });
}

/// The same time in other pieces is the same match: no fraction of a tick is lost or won.
#[test]
fn s6_how_time_is_cut_changes_nothing() {
    let play = |piece: Duration, pieces: u32| {
        let (mut session, _) = local(config(), vec![]);
        session.set_input(seat(0), &pack_tally(2)).expect("a local seat");
        for _ in 0..pieces {
            assert_eq!(session.update(piece, &mut bots).map(|progress| progress.dropped_ticks), Ok(0));
        }
        (session.tick(), session.checksum_at(session.tick()), session.export_replay())
    };
    let expected = play(Duration::from_millis(100), 100);
    assert_eq!(expected.0, Tick::new(600));
    for (micros, pieces) in [(1_000, 10_000), (6_250, 1_600), (40_000, 250)] {
        assert_eq!(play(Duration::from_micros(micros), pieces), expected, "{micros} us");
    }
}

/// Offline one: nobody asks for an older state.
#[test]
fn s5_offline_one_checkpoint_is_kept() {
    let (mut session, probe) = local(config(), vec![]);
    for _ in 0..100 {
        session.update(TICK * 2, &mut bots).expect("plays");
        assert_eq!(session.session().kept_checkpoints(), 1);
        assert_eq!(probe.counters().checkpoints_alive, 1);
    }
    assert!(session.checksum_at(session.tick()).is_ok() && session.export_snapshot(session.tick()).is_ok());
    // S(181) was a report tick's.
    let released = StateReadError::Released { tick: Tick::new(181) };
    assert_eq!(session.checksum_at(Tick::new(181)), Err(released));
    probe.assert_clean();
}

#[test]
fn s6_what_is_not_an_input_is_refused_by_seat_and_tick_and_asked_for_again() {
    let (mut session, probe) = local(config(), vec![]);
    assert_eq!(session.set_input(seat(2), &pack_tally(1)), Err(SubmitError::BotSeat { seat: seat(2) }));
    assert_eq!(session.set_input(seat(3), &pack_tally(1)), Err(SubmitError::SeatNotLocal { seat: seat(3) }));
    assert_eq!(session.set_input(seat(99), &pack_tally(1)), Err(SubmitError::SeatNotLocal { seat: seat(99) }));
    assert!(matches!(session.set_input(seat(0), &[1, 2]), Err(SubmitError::Input(InputError::Length { .. }))));

    let mut broken = |_: Seat, tick: Tick, packed: &mut Vec<u8>| {
        if tick == Tick::new(2) {
            packed.push(0);
        }
    };
    let refused = session.update(TICK * 5, &mut broken);
    assert!(
        matches!(refused, Err(LocalError::Input { seat: bot, tick, .. }) if (bot, tick) == (seat(2), Tick::new(2)))
    );
    assert_eq!(session.tick(), Tick::new(2), "what was due before it was stepped");
    // The time of the ticks that were not stepped is still due.
    assert_eq!(session.update(Duration::ZERO, &mut bots).map(|progress| progress.steps), Ok(3));
    assert_eq!(session.tick(), Tick::new(5));
    probe.assert_clean();
}

/// The game's own type stands for its bytes, at local seats and at bots'.
#[test]
fn s6_inputs_of_the_games_own_type_are_those_of_their_bytes() {
    let (mut typed, _) = local(config(), vec![]);
    let (mut bytes, _) = local(config(), vec![]);
    typed.set_input_of(seat(1), &TallyInput(7)).expect("a local seat");
    bytes.set_input(seat(1), &pack_tally(7)).expect("a local seat");
    assert_eq!(typed.set_input_of(seat(2), &TallyInput(1)), Err(SubmitError::BotSeat { seat: seat(2) }));
    let refused = typed.set_input_of(seat(1), &Wide(1 << 40));
    assert_eq!(refused, Err(SubmitError::Input(InputError::OutOfRange { field: 0 })));
    let schema = TallyInput::schema();
    let mut typed_bots = |seat: Seat, tick: Tick, packed: &mut Vec<u8>| {
        schema.pack_into(&TallyInput(zig(seat, tick)), packed).expect("in range");
    };
    typed.update(TICK * 8, &mut typed_bots).expect("plays");
    bytes.update(TICK * 8, &mut bots).expect("plays");
    assert_eq!(events(&mut typed), events(&mut bytes));
    assert_eq!(typed.tick(), Tick::new(8));
}

/// An input that follows TALLY's schema but for its range.
#[derive(Clone)]
struct Wide(i64);

impl GameInput for Wide {
    fn schema() -> InputSchema {
        TallyInput::schema()
    }
    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }
    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Wide(unpacker.integer())
    }
}

#[test]
fn s6_a_fault_ends_local_play_with_the_last_good_state_readable() {
    let fault = StepFault::OutOfGas;
    let (mut session, probe) = local(config(), vec![FaultPlan::always(Tick::new(5), fault)]);
    let expected = Err(LocalError::Fault(SessionFault::Runtime { tick: Tick::new(5), fault }));
    assert_eq!(session.update(TICK * 8, &mut bots), expected);
    assert_eq!(session.update(TICK * 8, &mut bots), expected);
    assert_eq!(session.tick(), Tick::new(5));
    assert!(session.checksum_at(Tick::new(5)).is_ok());
    let replay = session.export_replay().expect("what was played");
    assert!(matches!(verify(&replay, &tally_factory()), Verdict::Verified { ticks, .. } if ticks == Tick::new(5)));
    probe.assert_clean();
}

#[test]
fn s6_a_config_that_can_not_be_is_refused() {
    let refused = |config| {
        let runtime = tally_factory().create(&descriptor()).expect("a match of TALLY");
        LocalSession::new(runtime, &descriptor(), config).err()
    };
    let twice = LocalConfig { bot_seats: seats(&[1, 2]), ..config() };
    assert_eq!(refused(twice), Some(LocalSetupError::SeatTwice { seat: seat(1) }));
    let count = descriptor().seats();
    let beyond = LocalConfig { bot_seats: seats(&[2, SEATS, SEATS + 1]), ..config() };
    assert_eq!(refused(beyond), Some(LocalSetupError::BotSeat { seat: seat(SEATS), seats: count }));
    let beyond = LocalConfig { local_seats: seats(&[0, SEATS + 1]), ..config() };
    let expected = SessionError::LocalSeat { seat: seat(SEATS + 1), seats: count };
    assert_eq!(refused(beyond), Some(LocalSetupError::Session(expected)));
    for found in [0, MAX_STEPS_PER_UPDATE + 1] {
        let steps = LocalConfig { max_steps_per_update: found, ..config() };
        assert_eq!(refused(steps), Some(LocalSetupError::StepsPerUpdate { found }));
    }
    let most = LocalConfig { max_steps_per_update: MAX_STEPS_PER_UPDATE, ..config() };
    assert_eq!(refused(most), None);
    let mut session = local(most, vec![]).0;
    assert_eq!(session.update(Duration::MAX, &mut bots).map(|progress| progress.steps), Ok(MAX_STEPS_PER_UPDATE));
}

#[test]
fn s6_commands_are_ordered_into_frames_within_their_limits() {
    let (factory, descriptor) = market();
    let policy = SessionPolicy { recording: Recording::Frames, ..config().policy };
    let config = LocalConfig { local_seats: seats(&[0]), bot_seats: SeatSet::EMPTY, policy, ..config() };
    let runtime = factory.create(&descriptor).expect("a match of the market");
    let mut session = LocalSession::new(runtime, &descriptor, config).expect("a valid config");
    assert_eq!(session.submit_command(seat(1), &[1]), Err(CommandError::SeatNotDriven { seat: seat(1) }));
    assert_eq!(session.submit_command(seat(0), &[0; 4097]), Err(CommandError::TooLong { actual: 4097, limit: 4096 }));
    for number in 0..MAX_PENDING_COMMANDS {
        session.submit_command(seat(0), &[number.to_le_bytes()[0] % 100]).expect("below the limit");
    }
    assert_eq!(session.submit_command(seat(0), &[1]), Err(CommandError::QueueFull));
    session.update(TICK, &mut HeldInputs).expect("plays");
    session.submit_command(seat(0), &[99]).expect("a frame took some");
    session.update(TICK * 5, &mut HeldInputs).expect("plays");
    let (frames, _) = events(&mut session);
    let counts: Vec<_> = frames.iter().map(|frame| frame.commands().len()).collect();
    let full = MAX_COMMANDS_PER_FRAME;
    assert_eq!(counts, [full, full, full, full, 1, 0]);
    let ordered: Vec<_> = frames.iter().flat_map(|frame| frame.commands().map(|(_, bytes)| bytes[0])).collect();
    let given = (0..MAX_PENDING_COMMANDS).map(|number| number.to_le_bytes()[0] % 100).chain([99]);
    assert!(ordered.iter().copied().eq(given));
    assert!(frames.iter().all(|frame| frame.commands().all(|(source, _)| source == CommandSource::Game(seat(0)))));
    assert_eq!(session.stats().commands, MAX_PENDING_COMMANDS as u64 + 1);
    let verdict = verify(&session.export_replay().expect("all is retained"), &factory);
    assert!(matches!(verdict, Verdict::Verified { .. }), "{verdict:?}");

    let (mut silent, _) = local(self::config(), vec![]);
    assert_eq!(silent.submit_command(seat(0), &[1]), Err(CommandError::Unsupported));
}

#[test]
fn s6_the_rate_is_the_matchs() {
    // TALLY ticks at 60 Hz; a second has as many ticks, however it is cut.
    let (mut session, _) = local(LocalConfig { max_steps_per_update: 64, ..config() }, vec![]);
    let steps = session.update(Duration::from_secs(1), &mut bots).expect("plays").steps;
    assert_eq!(u32::from(steps), TickRate::Hz60.hz());
}
