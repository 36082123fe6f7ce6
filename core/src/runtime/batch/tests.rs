use alloc::vec;

use super::*;
use crate::seat::Generation;

fn schema() -> InputSchema {
    InputSchema::builder("batch/v1").integer("value", 0..=255).build().expect("valid")
}

fn seat(input: &[u8]) -> SeatStep<'_> {
    SeatStep { input, substituted: false, malformed: false, presence: Presence::Human, epoch: ControlEpoch(0) }
}

fn push(batch: &mut StepBatch, inputs: [u8; 2]) {
    batch.push_step(Keep::NOTHING);
    inputs.iter().for_each(|input| batch.push_seat(seat(core::slice::from_ref(input))));
}

fn inputs(batch: &StepBatch) -> Vec<Vec<u8>> {
    batch.steps().map(|step| step.seats().flat_map(|seat| seat.input.to_vec()).collect()).collect()
}

/// What was played stands in front, out of sight; steps that share their seats survive cuts on both sides.
#[test]
fn k2_played_steps_are_out_of_sight_and_cuts_keep_the_others_whole() {
    let mut batch = StepBatch::default();
    batch.reset(Tick::ZERO);
    push(&mut batch, [1, 2]);
    push(&mut batch, [3, 4]);
    batch.push_command(CommandSource::Authority, b"go");
    batch.show_from(2, Tick::new(2));
    assert!(batch.is_empty() && !batch.has_commands());

    batch.push_again(1, Keep::CHECKPOINT);
    batch.push_last_again(1, || Keep::NOTHING);
    batch.set_human_inputs(Seat::new(1).expect("valid"), 3, [&[9_u8][..]].into_iter());
    batch.push_last_again(1, || Keep::CHECKSUM);
    assert_eq!(inputs(&batch), [vec![3, 4], vec![3, 9], vec![3, 9]]);
    assert_eq!((batch.first(), batch.other_seat_count(2)), (Tick::new(2), None));
    assert_eq!(batch.step(1).map(|step| step.tick()), Some(Tick::new(3)));
    assert!(batch.keeps_any(Keep::CHECKSUM) && !batch.keeps_any(Keep::PROJECTION));

    batch.cut_front(2);
    assert_eq!(inputs(&batch), [vec![3, 4], vec![3, 9], vec![3, 9]]);
    batch.truncate(2);
    push(&mut batch, [7, 8]);
    assert_eq!(inputs(&batch), [vec![3, 4], vec![3, 9], vec![7, 8]]);
    batch.truncate_all(1);
    assert_eq!(inputs(&batch), [vec![3, 4]]);
}

/// The quick ways by equal bytes say what the slow one by the schema's policy says.
#[test]
fn s3_a_step_plays_a_frame_only_if_everything_is_equal() {
    let schema = schema();
    let mut frame = Frame::new(Generation(0), Tick::ZERO);
    let human = SeatFrame { presence: Presence::Human, ..SeatFrame::default() };
    frame.push_seat(SeatFrame { input: Some(&[5]), ..human });
    frame.push_seat(SeatFrame { input: None, ..human });
    let mut batch = StepBatch::default();
    batch.push_frame(&frame, &schema, Keep::NOTHING);
    let plays = |batch: &StepBatch, frame: &Frame| {
        batch.step(0).is_some_and(|step| step.plays(frame, &schema, &mut Vec::new()))
    };
    assert!(plays(&batch, &frame));

    let edited = |edit: fn(&mut [SeatFrame<'_>; 2])| {
        let mut seats = [SeatFrame { input: Some(&[5]), ..human }, SeatFrame { input: None, ..human }];
        edit(&mut seats);
        let mut frame = Frame::new(Generation(0), Tick::ZERO);
        seats.into_iter().for_each(|seat| frame.push_seat(seat));
        frame
    };
    // The neutral input and null are the same to a step.
    assert!(plays(&batch, &edited(|seats| seats[1].input = Some(&[0]))));
    for other in [
        edited(|seats| seats[0].input = Some(&[6])),
        edited(|seats| seats[0].substituted = true),
        edited(|seats| seats[0].presence = Presence::Disconnected),
        edited(|seats| seats[1].epoch = ControlEpoch(1)),
        edited(|seats| seats[1].input = Some(&[0, 0])),
    ] {
        assert!(!plays(&batch, &other), "{other:?}");
    }
    frame.push_command(CommandSource::Authority, b"go");
    assert!(!plays(&batch, &frame));
}
