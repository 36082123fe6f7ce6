//! One turn: compare what was played with what was confirmed, roll back once if need be, resimulate and predict in one batch.

use alloc::boxed::Box;
use core::mem;

use super::presentation::Turn;
use super::{Budget, Held, Progress, Recording, Session, SessionEvent, SessionFault};
use crate::runtime::{AdvanceError, Keep, StepFault};
use crate::seat::Seat;
use crate::tick::Tick;

/// What a turn is going to do, decided before anything changes.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// First tick to step; less than the head means a rollback.
    start: Tick,
    /// How many queued frames to apply.
    take: usize,
    /// How many of those were played as they came; they need no step.
    matched: usize,
    /// The frontier afterwards.
    confirmed: Tick,
    /// The present afterwards.
    head: Tick,
    /// What keeps it short of the target.
    held: Option<Held>,
}

impl Session {
    /// Applies queued frames and predicts, within a budget. Correct predictions cost no resimulation; a wrong one restores the
    /// checkpoint of the first wrong tick and resimulates to the present in one batch (S3).
    ///
    /// # Errors
    /// [`SessionFault`], the same one from then on. The last good state stays readable.
    pub fn advance(&mut self, budget: Budget) -> Result<Progress, SessionFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let plan = self.plan(budget);
        let done = self.run(plan);
        if let Err(fault) = &done {
            self.fault = Some(fault.clone());
            self.presentation.stopped(self.timeline.confirmed());
        }
        done
    }

    fn plan(&mut self, budget: Budget) -> Plan {
        let take = budget.confirmed_frames.min(self.queue.len());
        let matched = self.count_matching(take);
        let (frontier, head) = (self.confirmed(), self.head());
        let first_new = frontier.saturating_add(matched as u64);
        let start = if matched < take { first_new } else { head };
        let confirmed = frontier.saturating_add(take as u64);
        let (target, held) = self.reach(confirmed, head.max(confirmed), budget.target);
        Plan { start, take, matched, confirmed, head: target, held }
    }

    /// How many of the first `take` queued frames were played exactly as they came.
    fn count_matching(&mut self, take: usize) -> usize {
        let mut comparison = mem::take(&mut self.comparison);
        let matches = |offset: &usize| {
            let (Some(frame), Some(played)) = (self.queue.get(*offset), self.timeline.played(*offset)) else {
                return false;
            };
            comparison.reset(frame.tick());
            comparison.push_frame(frame, &self.schema, Keep::NOTHING);
            comparison.step(0).zip(played.step(0)).is_some_and(|(confirmed, played)| confirmed.same_play(&played))
        };
        let matched = (0..take).take_while(matches).count();
        self.comparison = comparison;
        matched
    }

    /// How far prediction may go from `head`, and what stops it there.
    fn reach(&self, confirmed: Tick, head: Tick, target: Tick) -> (Tick, Option<Held>) {
        if let Some((tick, fault)) = self.held_fault.filter(|(tick, _)| *tick == head && confirmed <= *tick) {
            return (head, Some(Held::PredictedFault { tick, fault }));
        }
        let window_end = confirmed.saturating_add(u64::from(self.policy.prediction_window_ticks));
        let mut reached = head;
        while reached < target {
            if reached >= window_end {
                return (reached, Some(Held::WindowFull));
            }
            if let Some(seat) = self.missing_input(reached) {
                return (reached, Some(Held::InputMissing { seat, tick: reached }));
            }
            reached = reached.saturating_add(1);
        }
        (reached, None)
    }

    fn missing_input(&self, tick: Tick) -> Option<Seat> {
        self.local.missing(tick)
    }

    fn run(&mut self, plan: Plan) -> Result<Progress, SessionFault> {
        let head_before = self.head();
        let rolls_back = plan.start < head_before;
        if rolls_back {
            self.roll_back(plan.start)?;
            self.held_fault = None;
        }
        self.apply_confirmed(plan.matched);
        self.fill_batch(&plan);
        let stepped = self.step_batch(&plan)?;
        let reached = plan.start.saturating_add(stepped as u64);
        let applied = plan.take.min(plan.matched.saturating_add(stepped));
        (0..stepped).for_each(|index| self.timeline.push_played(&self.batch, index));
        self.timeline.record_kept(&self.output.kept);
        self.malformed_commands += self.output.malformed_commands;
        self.take_projections();
        self.apply_confirmed(applied - plan.matched.min(applied));
        let (confirmed, received) = (self.confirmed(), self.received());
        self.presentation.turn(Turn { start: plan.start, reached, confirmed, received }, &self.output.events);
        if rolls_back {
            self.events.push_back(SessionEvent::RolledBack { from: plan.start, to: head_before });
        }
        self.release_unreadable();
        let held = match self.held_fault {
            Some((tick, fault)) if tick == reached => Some(Held::PredictedFault { tick, fault }),
            _ => plan.held,
        };
        let fault = self.confirmed_fault(&plan, reached);
        fault.map_or(Ok(()), Err)?;
        Ok(Progress {
            confirmed_frames: applied,
            steps: stepped,
            resimulated: head_before.min(reached).since(plan.start),
            predicted: reached.since(head_before.max(plan.confirmed)),
            held,
        })
    }

    /// The fault that ends the session: the batch stopped short of a tick that is confirmed (W5).
    fn confirmed_fault(&self, plan: &Plan, reached: Tick) -> Option<SessionFault> {
        let (tick, fault) = self.held_fault?;
        (tick == reached && reached < plan.confirmed).then_some(SessionFault::Runtime { tick, fault })
    }

    fn roll_back(&mut self, start: Tick) -> Result<(), SessionFault> {
        let contract = SessionFault::Contract { tick: start };
        let checkpoint = self.timeline.checkpoint(start).ok_or(contract.clone())?;
        self.runtime.restore(checkpoint).map_err(|_| contract)?;
        self.timeline.roll_back_to(start);
        Ok(())
    }

    fn fill_batch(&mut self, plan: &Plan) {
        self.batch.reset(plan.start);
        // What is predicted goes by the newest frame that this turn applies.
        self.basis.copy_from(&self.last);
        let mut tick = plan.start;
        for offset in 0..plan.take - plan.matched {
            let keep = self.keep_after(tick, plan);
            let Some(frame) = self.queue.get(offset) else { break };
            self.batch.push_frame(frame, &self.schema, keep);
            self.basis.apply(frame, &self.schema);
            tick = tick.saturating_add(1);
        }
        let remote = self.policy.remote_prediction;
        while tick < plan.head {
            let keep = self.keep_after(tick, plan);
            self.batch.push_step(keep);
            self.basis.push_predicted(&mut self.batch, &self.local, tick, remote, &self.schema, &mut self.scratch);
            tick = tick.saturating_add(1);
        }
    }

    /// What to keep of `S(tick+1)`.
    fn keep_after(&self, tick: Tick, plan: &Plan) -> Keep {
        let state = tick.saturating_add(1);
        let mut keep = Keep::NOTHING;
        if self.is_report(state) {
            keep = keep | Keep::CHECKSUM | Keep::CHECKPOINT;
        }
        if state >= plan.confirmed {
            keep = keep | Keep::CHECKPOINT;
        }
        if self.runtime.capabilities().projection && state.saturating_add(1) >= plan.head {
            keep = keep | Keep::PROJECTION;
        }
        keep
    }

    /// Whether a checksum of `S(state)` is due: `state = t + 1` for a tick `t` of the cadence (A8).
    fn is_report(&self, state: Tick) -> bool {
        state > Tick::ZERO
            && state.saturating_sub(1).index().is_multiple_of(u64::from(self.policy.checksum_cadence_ticks))
    }

    /// Runs the batch; when a step faults, runs it again up to there, so that the state is `S(t)` (W5).
    fn step_batch(&mut self, plan: &Plan) -> Result<usize, SessionFault> {
        self.output.clear();
        if self.batch.is_empty() {
            return Ok(0);
        }
        let contract = SessionFault::Contract { tick: plan.start };
        let (tick, fault) = match self.runtime.advance(&self.batch, &mut self.output) {
            Ok(()) => {
                self.held_fault = None;
                return Ok(self.batch.len());
            }
            Err(AdvanceError::Fault { tick, fault }) => (tick, fault),
            Err(error @ AdvanceError::Capture { .. }) => return Err(SessionFault::Capture(error)),
            Err(_) => return Err(contract),
        };
        let good = usize::try_from(tick.since(plan.start)).unwrap_or(usize::MAX);
        if good >= self.batch.len() || fault == StepFault::Host {
            return Err(SessionFault::Runtime { tick, fault });
        }
        self.batch.truncate(good);
        self.output.clear();
        if good > 0 {
            self.runtime.advance(&self.batch, &mut self.output).map_err(|_| contract.clone())?;
        }
        // What was to be kept and shown lies beyond this state, which may be the last one that can be read.
        let kept = self.output.kept.last().is_some_and(|kept| kept.tick == tick && kept.checkpoint.is_some());
        let projection = if self.runtime.capabilities().projection { Keep::PROJECTION } else { Keep::NOTHING };
        let checkpoint = if kept || good == 0 { Keep::NOTHING } else { Keep::CHECKPOINT | Keep::CHECKSUM };
        self.runtime.keep(checkpoint | projection, &mut self.output).map_err(|_| contract)?;
        self.held_fault = Some((tick, fault));
        Ok(good)
    }

    /// Takes the next `count` queued frames as applied: their ticks have been played as they say.
    fn apply_confirmed(&mut self, count: usize) {
        for _ in 0..count {
            let Some(frame) = self.queue.pop_front() else { return };
            self.queued_bytes -= frame.weight();
            self.last.apply(&frame, &self.schema);
            self.timeline.confirm_one();
            let state = self.confirmed();
            self.local.forget_before(state);
            match self.policy.recording {
                Recording::Frames => self.events.push_back(SessionEvent::Confirmed(Box::new(frame))),
                Recording::Off => self.spare_frames.push(frame),
            }
            if self.is_report(state) {
                self.timeline.set_last_inputs(state, &self.last);
                if let Some(checksum) = self.timeline.checksum(state) {
                    self.events.push_back(SessionEvent::Checksum { tick: state, checksum });
                }
            }
        }
    }

    fn release_unreadable(&mut self) {
        let cadence = u64::from(self.policy.checksum_cadence_ticks);
        let is_report = |state: Tick| state > Tick::ZERO && state.saturating_sub(1).index().is_multiple_of(cadence);
        let runtime = &mut self.runtime;
        let window = self.policy.checkpoint_window_ticks;
        self.timeline.release_unreadable(window, is_report, |checkpoint| {
            let released = runtime.release(checkpoint);
            debug_assert!(released.is_ok(), "the session releases what it holds, once");
        });
    }
}
