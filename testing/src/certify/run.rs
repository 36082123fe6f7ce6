//! The order of a certification: every match, its proofs, then its measures; and the budgets at the end.

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::CreateError;
use retick_core::seat::SeatCount;

use super::measure::Match;
use super::{Candidate, Certificate, Finding, FindingCode, Options, StepTimes, Trial, made_up_inputs, nearest_to_zero};
use crate::assert::{GameFault, Premise, check_convergence, check_hydration, check_synctest};

/// Every how many ticks a fresh instance takes over, in the hydration check.
const HYDRATE_EVERY_TICKS: u64 = 97;

/// A certification in progress.
pub(super) struct Run<'a> {
    candidate: &'a Candidate<'a>,
    options: &'a Options,
    clock: &'a mut dyn FnMut() -> u64,
    /// The time of every step so far.
    nanos: Vec<u64>,
    certificate: Certificate,
}

impl<'a> Run<'a> {
    pub fn new(candidate: &'a Candidate<'a>, options: &'a Options, clock: &'a mut dyn FnMut() -> u64) -> Run<'a> {
        let certificate = Certificate::new(Some(candidate.manifest().identity()));
        Run { candidate, options, clock, nanos: Vec::new(), certificate }
    }

    /// Tries every match, and holds what they took against the budgets.
    pub fn certify(mut self) -> Certificate {
        self.check_description();
        let seeds = &self.options.seeds;
        for seats in self.seats() {
            seeds.iter().for_each(|seed| self.try_match(Trial { seats, seed: *seed }));
        }
        self.end()
    }

    fn check_description(&mut self) {
        if self.candidate.manifest().input_schema().fields().is_empty() {
            self.certificate.find(Finding::NoInput);
        }
        if self.candidate.hides_projection() {
            self.certificate.find(Finding::UnclaimedProjection);
        }
    }

    /// The numbers of seats to play with.
    fn seats(&self) -> Vec<u8> {
        let (fewest, most) = (*self.candidate.seats().start(), *self.candidate.seats().end());
        let all = if fewest == most { vec![fewest] } else { vec![fewest, most] };
        self.options.seats.clone().unwrap_or(all)
    }

    fn try_match(&mut self, trial: Trial) {
        self.certificate.trials.push(trial);
        if let Err(finding) = self.play(trial) {
            self.certificate.find(finding);
        }
    }

    /// Proves and measures one match, up to the first proof that fails.
    fn play(&mut self, trial: Trial) -> Result<(), Finding> {
        let proof = |fault| Finding::Proof { trial, fault };
        let descriptor = self.descriptor(trial).map_err(|error| proof(GameFault::Create(error)))?;
        let script = made_up_inputs(self.candidate.manifest().input_schema().clone(), trial.seed);
        let (candidate, ticks) = (self.candidate, self.options.ticks);
        let game = Match { candidate, trial, descriptor: &descriptor, script: &script, ticks };
        let played = self.prove(&game).and_then(|()| self.measure(&game));
        let found = played.map_err(proof);
        if found.as_ref().is_err_and(|finding| finding.code() == FindingCode::StepFaults)
            && self.certificate.log.is_empty()
        {
            self.certificate.log = game.log_of_fault();
        }
        found
    }

    fn measure(&mut self, game: &Match<'_>) -> Result<(), GameFault> {
        let found = game.meter()?;
        found.findings.into_iter().for_each(|finding| self.certificate.find(finding));
        self.certificate.figures.add(&found.figures);
        game.time(self.clock, &mut self.nanos)
    }

    fn descriptor(&self, trial: Trial) -> Result<MatchDescriptor, CreateError> {
        let manifest = self.candidate.manifest();
        let config = match &self.options.config {
            Some(config) => config.clone(),
            None => nearest_to_zero(manifest.config_schema())
                .map_err(|error| CreateError::Config { digest: SessionConfig::empty().digest(), error })?,
        };
        let (least, most) = (usize::from(*self.candidate.seats().start()), usize::from(*self.candidate.seats().end()));
        let seats = SeatCount::new(trial.seats);
        let seats = seats.ok_or(CreateError::Seats { seats: usize::from(trial.seats), least, most })?;
        Ok(MatchDescriptor::new(manifest, config, SessionSeed::from_u64(trial.seed), seats))
    }

    fn prove(&mut self, game: &Match<'_>) -> Result<(), GameFault> {
        let Match { candidate, descriptor, script, ticks, .. } = *game;
        let [one, other] = candidate.factories();
        let figures = &mut self.certificate.figures;
        figures.states_compared += check_convergence([one, other], descriptor, script, ticks)?.states;
        let mut mispredicted_ticks = 0;
        for depth in &self.options.depths {
            let rolled = check_synctest(one, descriptor, script, ticks, *depth)?;
            figures.rollbacks += rolled.rollbacks;
            figures.resimulated_ticks += rolled.resimulated_ticks;
            mispredicted_ticks += rolled.mispredicted_ticks;
        }
        if self.options.depths.is_empty() {
            return Err(Premise::Misprediction { ticks }.into());
        }
        figures.mispredicted_ticks += mispredicted_ticks;
        let hydrated = check_hydration(other, descriptor, script, ticks, HYDRATE_EVERY_TICKS.min(ticks.div_ceil(3)))?;
        figures.hydrations += hydrated.hydrations;
        figures.states_compared += hydrated.states;
        Ok(())
    }

    /// Holds the figures against the budgets.
    fn end(mut self) -> Certificate {
        if self.certificate.trials.is_empty() {
            self.certificate.find(Finding::NothingTried);
        }
        self.certificate.figures.step = StepTimes::of(&mut self.nanos, self.options.percentile);
        let findings = self.options.budgets.check(&self.certificate.figures);
        findings.into_iter().for_each(|finding| self.certificate.find(finding));
        self.certificate
    }
}
