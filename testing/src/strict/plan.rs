//! Faults that are injected into a runtime's steps, for what must happen when a game faults (W5).

use retick_core::runtime::{StepBatch, StepFault, StepView};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

/// Makes the step of one tick fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultPlan {
    /// The tick whose step fails.
    pub tick: Tick,
    /// What happens in it.
    pub fault: StepFault,
    /// How many attempts fail; `u32::MAX` for every one.
    pub times: u32,
    /// Only with this packed input of that seat, as a game's own fault would depend on its inputs.
    pub only_with: Option<(Seat, Vec<u8>)>,
}

impl FaultPlan {
    /// Every attempt at `tick` fails.
    #[must_use]
    pub fn always(tick: Tick, fault: StepFault) -> FaultPlan {
        FaultPlan { tick, fault, times: u32::MAX, only_with: None }
    }

    /// The first `times` attempts at `tick` fail.
    #[must_use]
    pub fn first(times: u32, tick: Tick, fault: StepFault) -> FaultPlan {
        FaultPlan { times, ..FaultPlan::always(tick, fault) }
    }

    /// Every attempt at `tick` with this input of `seat` fails.
    #[must_use]
    pub fn on_input(tick: Tick, seat: Seat, packed: Vec<u8>, fault: StepFault) -> FaultPlan {
        FaultPlan { only_with: Some((seat, packed)), ..FaultPlan::always(tick, fault) }
    }

    fn strikes(&self, step: &StepView<'_>) -> bool {
        let given = |(seat, packed): &(Seat, Vec<u8>)| step.seat(*seat).is_some_and(|seat| seat.input == packed);
        self.times > 0 && step.tick() == self.tick && self.only_with.as_ref().is_none_or(given)
    }

    /// The fault that the first step of `batch` to fail has, used up by one.
    pub(super) fn strike(plans: &mut [FaultPlan], batch: &StepBatch) -> Option<(Tick, StepFault)> {
        let struck = |step: &StepView<'_>, plans: &[FaultPlan]| plans.iter().position(|plan| plan.strikes(step));
        let (tick, index) = batch.steps().find_map(|step| Some((step.tick(), struck(&step, plans)?)))?;
        let plan = plans.get_mut(index)?;
        plan.times = if plan.times == u32::MAX { u32::MAX } else { plan.times - 1 };
        Some((tick, plan.fault))
    }
}
