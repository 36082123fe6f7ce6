//! One turn: compare what was played with what was confirmed, roll back once if need be, resimulate and predict in one batch.

use alloc::boxed::Box;

use super::prediction::Guess;
use super::presentation::Turn;
use super::retention::RetentionRule;
use super::{
    Budget, EVENTS_OF_A_FRAME, Held, MAX_QUEUED_FRAME_BYTES, MAX_WAITING_EVENTS, Progress, Recording, Session,
    SessionEvent, SessionFault, StateReadError,
};
use crate::frame::Frame;
use crate::runtime::{AdvanceError, Capabilities, CheckpointError, Keep, StepFault};
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
        // What a panic of the game's leaves half done is never played on.
        self.fault = Some(SessionFault::Unwound { tick: plan.start });
        let done = self.run(plan);
        self.fault = done.as_ref().err().cloned();
        if done.is_err() {
            self.presentation.stopped(self.timeline.confirmed());
        }
        done
    }

    fn plan(&mut self, budget: Budget) -> Plan {
        let wanted = budget.confirmed_frames.min(self.queue.len());
        let take = wanted.min(self.room_for_events());
        let matched = self.count_matching(take);
        let (frontier, head) = (self.confirmed(), self.head());
        let first_new = frontier.saturating_add(matched as u64);
        let start = if matched < take { first_new } else { head };
        let confirmed = frontier.saturating_add(take as u64);
        // After a rollback nobody knows yet whether the step still faults.
        let fault = self.held_fault.filter(|_| start == head);
        let (target, held) = self.reach(confirmed, head.max(confirmed), budget.target, fault);
        let held = if take < wanted { Some(Held::EventsWaiting) } else { held };
        Plan { start, take, matched, confirmed, head: target, held }
    }

    /// How many frames may be applied before what they give out has no room.
    fn room_for_events(&self) -> usize {
        if self.waiting_bytes >= MAX_QUEUED_FRAME_BYTES {
            return 0;
        }
        MAX_WAITING_EVENTS.saturating_sub(self.events.len()) / EVENTS_OF_A_FRAME
    }

    /// How many of the first `take` queued frames were played exactly as they came.
    fn count_matching(&mut self, take: usize) -> usize {
        let Session { queue, timeline, schema, scratch, .. } = self;
        let played = |(offset, frame): &(usize, &Frame)| {
            timeline.played(*offset).is_some_and(|step| step.plays(frame, schema, scratch))
        };
        queue.iter().take(take).enumerate().take_while(played).count()
    }

    /// How far prediction may go from `head`, and what stops it there.
    fn reach(
        &self,
        confirmed: Tick,
        head: Tick,
        target: Tick,
        fault: Option<(Tick, StepFault)>,
    ) -> (Tick, Option<Held>) {
        if let Some((tick, fault)) = fault.filter(|(tick, _)| *tick == head && confirmed <= *tick) {
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
        if !rolls_back && (plan.head > head_before || plan.confirmed == head_before) {
            self.keep_head()?;
        }
        self.apply_confirmed(plan.matched);
        if let Some(fault) = self.report_fault.take() {
            if rolls_back {
                self.show_present();
            }
            return Err(fault);
        }
        self.fill_batch(&plan);
        let stepped = self.step_batch(&plan);
        self.timeline.set_played(stepped.as_ref().copied().unwrap_or(0));
        if stepped.is_err() && rolls_back {
            self.show_present();
        }
        let stepped = stepped?;
        let reached = plan.start.saturating_add(stepped as u64);
        let applied = plan.take.min(plan.matched.saturating_add(stepped));
        self.timeline.record_kept(&self.output.kept);
        self.malformed_commands += self.output.malformed_commands;
        self.take_projections();
        self.apply_confirmed(applied - plan.matched.min(applied));
        if self.head() == self.confirmed() {
            self.keep_head()?;
        }
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
        let fault = self.report_fault.take().or_else(|| self.confirmed_fault(&plan, reached));
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

    /// Keeps the present, which the turn that led to it left out: most often it is rolled back before anyone could return to it.
    /// It is needed when the next step leaves it, or when it becomes the last confirmed state.
    fn keep_head(&mut self) -> Result<(), SessionFault> {
        let head = self.head();
        if self.timeline.checkpoint(head).is_some() {
            return Ok(());
        }
        self.kept_late.clear();
        let kept = self.runtime.keep(Keep::CHECKPOINT, &mut self.kept_late);
        kept.map_err(|_| SessionFault::Contract { tick: head })?;
        self.timeline.record_kept(&self.kept_late.kept);
        Ok(())
    }

    /// Shows the present again, when what was shown has been rolled back and nothing followed.
    fn show_present(&mut self) {
        self.output.clear();
        if self.runtime.capabilities().projection && self.runtime.keep(Keep::PROJECTION, &mut self.output).is_ok() {
            self.take_projections();
        }
    }

    fn fill_batch(&mut self, plan: &Plan) {
        self.timeline.begin_turn();
        let mut keeps = Keeps::new(plan, self.retention_rule(), self.runtime.capabilities());
        let mut tick = plan.start;
        for frame in self.queue.iter().take(plan.take - plan.matched) {
            self.timeline.steps_mut().push_frame(frame, &self.schema, keeps.after(tick));
            tick = tick.saturating_add(1);
        }
        if tick >= plan.head {
            return;
        }
        // What is predicted goes by the newest frame that this turn applies: the step just before the frontier to come.
        let basis = self.timeline.position_before(plan.take - plan.matched);
        let (remote, schema) = (self.policy.remote_prediction, &self.schema);
        let count = usize::try_from(plan.head.since(tick)).unwrap_or(usize::MAX);
        let mut next = tick;
        let keep = || {
            let keep = keeps.after(next);
            next = next.saturating_add(1);
            keep
        };
        let (steps, guess) = (self.timeline.steps_mut(), Guess { remote, schema });
        self.local.push_predicted(steps, basis, (tick, count), keep, guess);
    }

    /// Runs the batch; when a step faults, runs it again up to there, so that the state is `S(t)` (W5).
    fn step_batch(&mut self, plan: &Plan) -> Result<usize, SessionFault> {
        self.output.clear();
        let length = self.timeline.steps().len();
        if length == 0 {
            return Ok(0);
        }
        let contract = SessionFault::Contract { tick: plan.start };
        let (tick, fault) = match self.runtime.advance(self.timeline.steps(), &mut self.output) {
            Ok(()) => {
                self.held_fault = None;
                return Ok(length);
            }
            Err(AdvanceError::Fault { tick, fault }) => (tick, fault),
            Err(AdvanceError::Capture { tick, .. }) if tick > plan.confirmed => {
                // Only a guess leads to a state without a form: nobody has asked for its checksum yet.
                let predicted = usize::try_from(plan.confirmed.since(plan.start)).unwrap_or(usize::MAX);
                let asked_for_less = self.timeline.steps_mut().keep_less(predicted, Keep::CHECKSUM);
                return if asked_for_less { self.step_batch(plan) } else { Err(contract) };
            }
            Err(error @ AdvanceError::Capture { .. }) => return Err(SessionFault::Capture(error)),
            Err(_) => return Err(contract),
        };
        let good = usize::try_from(tick.since(plan.start)).unwrap_or(usize::MAX);
        if good >= length || fault == StepFault::Host {
            return Err(SessionFault::Runtime { tick, fault });
        }
        self.timeline.steps_mut().truncate(good);
        self.output.clear();
        if good > 0 {
            self.runtime.advance(self.timeline.steps(), &mut self.output).map_err(|_| contract.clone())?;
        }
        // What was to be kept and shown lies beyond this state, which may be the last one that can be read.
        let kept = self.output.kept.last().is_some_and(|kept| kept.tick == tick && kept.checkpoint.is_some());
        let projection = if self.runtime.capabilities().projection { Keep::PROJECTION } else { Keep::NOTHING };
        let keep = if kept || good == 0 { Keep::NOTHING } else { Keep::CHECKPOINT | Keep::CHECKSUM };
        let mut done = self.runtime.keep(keep | projection, &mut self.output);
        if matches!(done, Err(AdvanceError::Capture { .. })) {
            // A state without a form has no checksum, and can be gone back to all the same.
            done = self.runtime.keep(keep.without(Keep::CHECKSUM) | projection, &mut self.output);
        }
        done.map_err(|_| contract)?;
        self.held_fault = Some((tick, fault));
        Ok(good)
    }

    /// Takes the next `count` queued frames as applied: their ticks have been played as they say.
    fn apply_confirmed(&mut self, count: usize) {
        for _ in 0..count {
            let Some(frame) = self.queue.pop_front() else { return };
            self.queued_bytes -= frame.weight();
            let is_told = frame.tick() < self.told;
            if !is_told {
                self.input_log.push(&frame);
            }
            self.timeline.confirm_one();
            match self.policy.recording {
                Recording::Frames if !is_told => {
                    self.waiting_bytes += frame.weight();
                    self.events.push_back(SessionEvent::Confirmed(Box::new(frame)));
                }
                Recording::Frames | Recording::Off => self.spare_frames.push(frame),
            }
            let (state, rule) = (self.confirmed(), self.retention_rule());
            let reports = rule.is_report(state);
            if reports || rule.keeps_all() {
                self.timeline.keep_last_inputs();
            }
            if reports {
                self.report(state);
            }
        }
        self.local.forget_before(self.confirmed());
    }

    /// Hands out the checksum of the confirmed `S(state)`. It was taken with the state, unless that was only a guess which had no
    /// form; now that it is right, it is the match's.
    fn report(&mut self, state: Tick) {
        let taken = self.timeline.checksum(state).map_or_else(|| self.checksum_at(state), Ok);
        match taken {
            Ok(checksum) => {
                self.input_log.push_checksum(state, checksum);
                if state > self.told {
                    self.events.push_back(SessionEvent::Checksum { tick: state, checksum });
                }
            }
            Err(StateReadError::Checkpoint(CheckpointError::Capture { tick, error })) => {
                self.report_fault = Some(SessionFault::Capture(AdvanceError::Capture { tick, error }));
            }
            Err(_) => self.report_fault = Some(SessionFault::Contract { tick: state }),
        }
    }

    fn release_unreadable(&mut self) {
        let rule = self.retention_rule();
        let runtime = &mut self.runtime;
        self.timeline.release_unreadable(rule, |checkpoint| {
            let released = runtime.release(checkpoint);
            debug_assert!(released.is_ok(), "the session releases what it holds, once");
        });
    }
}

/// What to keep of the states of a turn.
struct Keeps {
    rule: RetentionRule,
    confirmed: Tick,
    /// The present, if it will be a guess: see [`Session::keep_head`].
    guessed_head: Option<Tick>,
    first_shown: Option<Tick>,
    next_report: Tick,
}

impl Keeps {
    fn new(plan: &Plan, rule: RetentionRule, capabilities: Capabilities) -> Keeps {
        let next_report = plan.start.index().checked_next_multiple_of(u64::from(rule.cadence_ticks));
        Keeps {
            rule,
            confirmed: plan.confirmed,
            guessed_head: (plan.head > plan.confirmed).then_some(plan.head),
            first_shown: capabilities.projection.then(|| plan.head.saturating_sub(1)),
            next_report: Tick::new(next_report.unwrap_or(u64::MAX)),
        }
    }

    /// What to keep of `S(tick+1)`; asked for each tick of the turn, in order.
    fn after(&mut self, tick: Tick) -> Keep {
        let state = tick.saturating_add(1);
        let mut keep = Keep::NOTHING;
        if tick == self.next_report {
            self.next_report = tick.saturating_add(u64::from(self.rule.cadence_ticks));
            keep = keep | Keep::CHECKSUM;
        }
        if self.guessed_head != Some(state) && self.rule.keeps(state, self.confirmed) {
            keep = keep | Keep::CHECKPOINT;
        }
        if self.first_shown.is_some_and(|first| state >= first) {
            keep = keep | Keep::PROJECTION;
        }
        keep
    }
}
