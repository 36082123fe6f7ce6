//! Which ticks are sampled, and how their inputs are sent (N2, N6).

use super::{Client, Transport};
use crate::seat::Seat;
use crate::session::SubmitError;
use crate::tick::Tick;
use crate::wire::{MAX_CLIENT_MESSAGE_BYTES, MAX_INPUTS_PER_MESSAGE, encode_inputs, look_ahead_ticks};

/// Most ticks of unconfirmed input that are sent again on a lossy transport, the oldest first.
pub const MAX_REDUNDANT_INPUTS: u64 = 128;
/// Most bytes of a message of inputs on a lossy transport, so that it fits a datagram on any path.
pub const MAX_LOSSY_MESSAGE_BYTES: usize = 1200;
/// Most bytes that stand before the inputs of a message: six numbers of at most ten bytes each.
const HEADER_BYTES: usize = 64;

const _: () = assert!(MAX_LOSSY_MESSAGE_BYTES >= HEADER_BYTES + crate::input::MAX_INPUT_BYTES, "one input always fits");

impl Client {
    /// The next tick whose input the client needs, if it needs one now.
    ///
    /// Input flows with the pace, with the present, with the confirmed state and with what has been received, also while the client
    /// catches up or predicts nothing (N4, N6): through the last of them, plus the input delay. Only ticks that were received as
    /// confirmed are skipped. During the catch-up of a greeting nothing is wanted until the history is there: the room has
    /// confirmed those ticks.
    pub fn wanted_input(&self) -> Option<Tick> {
        let (session, claimed) = (self.session.as_ref()?, self.claimed?);
        let is_behind = session.received() < self.greeted_at || self.transfers.is_awaiting();
        if !self.started || self.end.is_some() || is_behind {
            return None;
        }
        let next = session.next_input(claimed.seat).max(session.received()).max(self.life.active_from?);
        // The room refuses what lies further ahead than this, and a refused input is not sent again.
        let descriptor = session.descriptor();
        let ahead = look_ahead_ticks(descriptor.tick_rate(), &claimed.rules, &descriptor.limits());
        let through = self.sample_through().min(session.received().saturating_add(ahead));
        (next < through).then_some(next)
    }

    /// The first tick that needs no input yet.
    fn sample_through(&self) -> Tick {
        let Some(session) = &self.session else { return Tick::ZERO };
        let (received, delay) = (session.received(), self.goals.sample.since(self.goals.present));
        // Input keeps the pace where the present can't: waiting for the window would make it late, and the room wait for it. Without
        // a transport nobody waits, and the present's own steps are enough.
        let reachable = session.head().max(received).saturating_add(u64::from(self.config.max_steps_per_turn));
        let paced = if self.connected && self.greeted {
            self.goals.sample
        } else {
            self.goals.present.min(reachable).saturating_add(delay)
        };
        let present = session.head().max(received.saturating_add(1)).saturating_add(delay);
        paced.max(present)
    }

    /// Hands over the input for the tick that [`Client::wanted_input`] names.
    ///
    /// # Errors
    /// [`SubmitError`]; the tick is still wanted then.
    pub fn submit_input(&mut self, packed: &[u8]) -> Result<Tick, SubmitError> {
        let (Some(tick), Some(session), Some(claimed)) = (self.wanted_input(), self.session.as_mut(), self.claimed)
        else {
            let seat = self.claimed.map(|claimed| claimed.seat).or(Seat::new(0));
            return Err(
                seat.map_or(SubmitError::TooFarAhead { tick: Tick::MAX }, |seat| SubmitError::SeatNotLocal { seat })
            );
        };
        session.skip_inputs_before(claimed.seat, session.received());
        session.take_part_from(claimed.seat, self.life.active_from.unwrap_or_default());
        session.submit(claimed.seat, tick, packed)?;
        Ok(tick)
    }

    /// Sends every input that was not sent on this connection; on a lossy transport, the oldest unconfirmed ones again with them,
    /// and once a tick also without any new one, for the last message may be the one that was lost (N2).
    pub(super) fn send_inputs(&mut self) {
        let may_send = self.greeted && !self.gathering;
        let (Some(session), Some(claimed), true, true) = (&self.session, self.claimed, self.connected, may_send) else {
            return;
        };
        let (oldest, end) = (session.received(), session.next_input(claimed.seat));
        let unsent = self.unsent.max(oldest);
        let lossy = self.config.transport == Transport::Lossy;
        if lossy && (unsent < end || self.now >= self.next_resend) {
            let again = end.min(oldest.saturating_add(self.redundant_inputs())).max(oldest);
            self.send_input_run(oldest, again);
            self.send_input_run(unsent.max(again), end);
            self.next_resend = self.now.plus_nanos(self.pace.tick_length_nanos());
        } else {
            self.send_input_run(unsent, end);
        }
        self.unsent = unsent.max(end);
    }

    /// How many unconfirmed inputs are sent again: one message's worth.
    fn redundant_inputs(&self) -> u64 {
        let fitting = inputs_per_message(self.factory.manifest().input_schema().packed_bytes(), Transport::Lossy);
        u64::from(fitting).min(MAX_REDUNDANT_INPUTS)
    }

    fn send_input_run(&mut self, mut first: Tick, end: Tick) {
        let (Some(session), Some(claimed)) = (&self.session, self.claimed) else { return };
        let schema = self.factory.manifest().input_schema();
        let (neutral, input_bytes) = (schema.neutral(), schema.packed_bytes());
        let most = inputs_per_message(input_bytes, self.config.transport);
        while first < end {
            let count = u32::try_from(end.since(first)).unwrap_or(u32::MAX).min(most);
            let header = (claimed.generation, claimed.epoch, first);
            let tick = |index: u32| first.saturating_add(u64::from(index));
            let inputs = (0..count).map(|index| session.local_input(claimed.seat, tick(index)).unwrap_or(neutral));
            self.outbox.push_message(|out| encode_inputs(header, count, input_bytes, inputs, out));
            first = first.saturating_add(u64::from(count));
        }
    }
}

/// How many inputs of this size one message takes.
fn inputs_per_message(packed_bytes: usize, transport: Transport) -> u32 {
    let most = match transport {
        Transport::Reliable => MAX_CLIENT_MESSAGE_BYTES,
        Transport::Lossy => MAX_LOSSY_MESSAGE_BYTES,
    };
    let fitting = (most - HEADER_BYTES) / packed_bytes.max(1);
    u32::try_from(fitting.min(MAX_INPUTS_PER_MESSAGE)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::input::MAX_INPUT_BYTES;
    use crate::seat::{ControlEpoch, Generation};
    use crate::wire::ClientMessage;

    #[test]
    fn n2_a_message_takes_as_many_inputs_as_fit_it() {
        for (transport, most) in
            [(Transport::Reliable, MAX_CLIENT_MESSAGE_BYTES), (Transport::Lossy, MAX_LOSSY_MESSAGE_BYTES)]
        {
            for packed_bytes in [0, 1, 124, 125, MAX_INPUT_BYTES] {
                let (count, input) = (inputs_per_message(packed_bytes, transport), vec![7; packed_bytes]);
                assert!(count > 0);
                let inputs = (0..count).map(|_| input.as_slice());
                let header = (Generation(u32::MAX), ControlEpoch(u32::MAX), Tick::new(u64::MAX - 600));
                let mut bytes = vec![];
                encode_inputs(header, count, packed_bytes, inputs, &mut bytes);
                assert!(matches!(ClientMessage::decode(&bytes), Ok(ClientMessage::Inputs(_))), "{packed_bytes} bytes");
                assert!(bytes.len() <= most, "{packed_bytes} bytes each, {} in all", bytes.len());
            }
        }
        assert_eq!(inputs_per_message(4, Transport::Reliable) as usize, MAX_INPUTS_PER_MESSAGE);
        assert_eq!(inputs_per_message(4, Transport::Lossy), 284);
    }
}
