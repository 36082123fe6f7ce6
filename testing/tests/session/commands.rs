//! Confirmed commands and inputs that are malformed end nobody's match (K7).

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::frame::{CommandSource, Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputError, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::{ControlEpoch, Generation, Presence, SeatCount, SeatSet};
use retick_core::session::{Budget, ConfirmError, Session, SessionPolicy, SubmitError};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize};

use crate::support::{Table, frame, seat};

/// A game whose step writes down whatever it sees: inputs, malformed flags, and commands in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Market {
    total: i64,
    malformed: u64,
    orders: Vec<(u8, u8)>,
}

#[derive(Clone, Copy)]
pub struct Digit(i64);

impl GameInput for Digit {
    fn schema() -> InputSchema {
        InputSchema::builder("digit/v1").integer("digit", 0..=9).build().expect("a valid schema")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Digit {
        Digit(unpacker.integer())
    }
}

/// An order: one byte below 100.
pub struct Order(u8);

impl Simulation for Market {
    type Input = Digit;
    type Command = Order;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "market/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=2,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Market, u32> {
        Ok(Market::default())
    }

    fn step(&mut self, context: &StepContext<'_, Market>) {
        for seat in context.seats() {
            self.total = self.total * 10 + context.input(seat).0;
            self.malformed += u64::from(context.malformed(seat));
        }
        for (source, Order(value)) in context.commands() {
            let CommandSource::Game(seat) = source else { continue };
            self.orders.push((seat.number(), *value));
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.total.to_le_bytes());
        out.extend_from_slice(&self.malformed.to_le_bytes());
        self.orders.iter().for_each(|(seat, value)| out.extend_from_slice(&[*seat, *value]));
    }

    fn decode_command(payload: &[u8]) -> Option<Order> {
        match payload {
            [value] if *value < 100 => Some(Order(*value)),
            _ => None,
        }
    }
}

/// The market's factory, and a match of two seats of it.
pub fn market() -> (NativeFactory<Market>, MatchDescriptor) {
    let factory = NativeFactory::<Market>::new(|builder| builder).expect("a valid manifest");
    let seats = SeatCount::new(2).expect("valid");
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    (factory, descriptor)
}

fn session() -> Session {
    let (factory, descriptor) = market();
    let runtime = factory.create(&descriptor).expect("a match of the market");
    let local: SeatSet = [seat(0)].into_iter().collect();
    Session::new(runtime, &descriptor, SessionPolicy::default(), local).expect("valid")
}

fn market_frame(tick: u64, inputs: [Option<&[u8]>; 2], commands: &[(u8, &[u8])]) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for input in inputs {
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        frame.push_seat(SeatFrame { input, substituted: false, presence, epoch });
    }
    commands.iter().for_each(|(number, payload)| frame.push_command(CommandSource::Game(seat(*number)), payload));
    frame
}

fn advance(session: &mut Session, target: u64) {
    session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::new(target) }).expect("plays");
}

fn shown(session: &Session) -> (i64, u64, Vec<(u8, u8)>) {
    let (words, orders) = session.projections().0.split_at(16);
    let word = |range: std::ops::Range<usize>| i64::from_le_bytes(words[range].try_into().expect("eight bytes"));
    let orders = orders.chunks(2).map(|order| (order[0], order[1])).collect();
    (word(0..8), word(8..16).unsigned_abs(), orders)
}

#[test]
fn k7_a_malformed_confirmed_input_is_neutral_and_flagged() {
    let mut session = session();
    // Too short, too long, out of range, padding that is not zero; null is neutral, and not malformed.
    let bad: [&[u8]; 4] = [&[], &[1, 0], &[10], &[0x13]];
    for (tick, input) in (0..).zip(bad) {
        session.confirm(&market_frame(tick, [Some(&[2]), Some(input)], &[])).expect("next");
    }
    session.confirm(&market_frame(4, [Some(&[2]), None], &[])).expect("next");
    session.confirm(&market_frame(5, [Some(&[2]), Some(&[9])], &[])).expect("next");
    advance(&mut session, 0);
    assert_eq!(session.confirmed(), Tick::new(6));
    assert_eq!(shown(&session), (202_020_202_029, 4, vec![]));
}

#[test]
fn k7_a_malformed_prediction_basis_is_neutral_too() {
    let mut session = session();
    session.confirm(&market_frame(0, [Some(&[2]), Some(&[10])], &[])).expect("next");
    session.skip_inputs_before(seat(0), Tick::new(1));
    session.submit(seat(0), Tick::new(1), &[3]).expect("next");
    advance(&mut session, 2);
    // The second tick is predicted: neutral, and not flagged.
    assert_eq!((session.head(), shown(&session)), (Tick::new(2), (2030, 1, vec![])));
}

#[test]
fn k7_a_malformed_command_is_skipped_and_counted_and_the_others_keep_their_order() {
    let mut session = session();
    let commands: [(u8, &[u8]); 5] = [(1, &[7]), (0, &[100]), (0, &[8]), (1, &[]), (1, &[9])];
    session.confirm(&market_frame(0, [Some(&[0]), Some(&[0])], &commands)).expect("next");
    advance(&mut session, 0);
    assert_eq!(shown(&session).2, [(1, 7), (0, 8), (1, 9)]);
    assert_eq!(session.malformed_commands(), 2);
}

#[test]
fn s3_a_command_that_was_not_predicted_rolls_back_to_its_tick() {
    let mut session = session();
    (0..3).for_each(|tick| session.submit(seat(0), Tick::new(tick), &[1]).expect("next"));
    advance(&mut session, 3);
    session.confirm(&market_frame(0, [Some(&[1]), Some(&[0])], &[])).expect("next");
    session.confirm(&market_frame(1, [Some(&[1]), Some(&[0])], &[(1, &[5])])).expect("next");
    let budget = Budget { confirmed_frames: usize::MAX, target: Tick::new(3) };
    assert_eq!(session.advance(budget).map(|progress| progress.resimulated), Ok(2));
    assert_eq!(shown(&session), (101_010, 0, vec![(1, 5)]));
}

/// The room orders none for such a game; one that a faulty room ordered all the same ends nobody's match.
#[test]
fn k7_a_confirmed_command_is_skipped_and_counted_where_the_game_takes_none() {
    let mut table = Table::new(SessionPolicy::default());
    let mut commanded = frame(0, [1, 1], [false; 2]);
    commanded.push_command(CommandSource::Game(seat(0)), &[1]);
    assert_eq!(table.session.confirm(&commanded), Ok(()));
    advance(&mut table.session, 0);
    assert_eq!((table.session.confirmed(), table.session.malformed_commands()), (Tick::new(1), 1));
}

#[test]
fn i1_frames_come_in_order_and_of_this_match_or_are_refused() {
    let mut table = Table::new(SessionPolicy::default());
    let not_next =
        |expected, found| Err(ConfirmError::NotNext { expected: Tick::new(expected), found: Tick::new(found) });
    assert_eq!(table.session.confirm(&frame(1, [1, 1], [false; 2])), not_next(0, 1));
    assert_eq!(table.session.confirm(&frame(0, [1, 1], [false; 2])), Ok(()));
    assert_eq!(table.session.confirm(&frame(0, [1, 1], [false; 2])), not_next(1, 0));
    let mut foreign = Frame::new(Generation(1), Tick::new(1));
    (0..2).for_each(|_| foreign.push_seat(SeatFrame::default()));
    assert_eq!(table.session.confirm(&foreign), Err(ConfirmError::OtherMatch));
    let few = Frame::new(Generation(0), Tick::new(1));
    assert_eq!(table.session.confirm(&few), Err(ConfirmError::OtherMatch));
    assert_eq!(table.session.received(), Tick::new(1));
}

#[test]
fn k7_a_local_input_is_refused_with_what_is_wrong() {
    let mut session = session();
    let submit = |session: &mut Session, number, tick, packed| session.submit(seat(number), Tick::new(tick), packed);
    assert_eq!(submit(&mut session, 1, 0, &[1]), Err(SubmitError::SeatNotLocal { seat: seat(1) }));
    let not_next = SubmitError::NotNext { expected: Tick::ZERO, found: Tick::new(1) };
    assert_eq!(submit(&mut session, 0, 1, &[1]), Err(not_next));
    let out_of_range = SubmitError::Input(InputError::OutOfRange { field: 0 });
    assert_eq!(submit(&mut session, 0, 0, &[10]), Err(out_of_range));
    assert_eq!(submit(&mut session, 0, 0, &[9]), Ok(()));
}
