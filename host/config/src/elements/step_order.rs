//! Inputs and results of each step, from which the order of a task follows.

use crate::elements::role::RoleType;

/// Something that a step works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutput {
    /// The Sample; there from the beginning.
    Sample,
    /// What a support step found for the model to read.
    Context,
    /// What the model under test said: `model_output`.
    Answer,
    /// How near the answer is in meaning to its references: `model_output.semantic`.
    Similarity,
    /// What judges said: `judge_output`.
    Judgement,
    /// The final answer in what the model wrote: `model_output.parsed`.
    Extraction,
    /// What the metrics said.
    Scores,
}

impl StepOutput {
    /// What it is called in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StepOutput::Sample => "a Sample",
            StepOutput::Context => "a context",
            StepOutput::Answer => "an answer",
            StepOutput::Similarity => "a similarity of meaning",
            StepOutput::Judgement => "a judgement",
            StepOutput::Extraction => "an extracted answer",
            StepOutput::Scores => "scores",
        }
    }
}

/// The kinds of steps, in the order in which a task has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StepKind {
    /// Puts something before the model to read.
    Support,
    /// Asks the model under test.
    Inference,
    /// Compares the answer's meaning with that of its references.
    Embed,
    /// Asks judges.
    Judge,
    /// Finds the final answer in what the model wrote.
    Extract,
    /// Has metrics score.
    AutoEval,
    /// Writes the figures, which every run does.
    Report,
}

/// What a step promises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepContract {
    /// The step.
    pub(crate) kind: StepKind,
    /// The name in a configuration.
    pub(crate) name: &'static str,
    /// What must be there before it.
    pub(crate) needs: &'static [StepOutput],
    /// What is there after it.
    pub(crate) yields: &'static [StepOutput],
    /// The role that it asks where the suite names none.
    pub(crate) role: Option<RoleType>,
    /// The roles that it may ask where the suite names one.
    pub(crate) may_ask: &'static [RoleType],
}

/// The models that may answer, judge or help: each in place of another, where the suite says so.
const MODELS: &[RoleType] = &[RoleType::DutModel, RoleType::JudgeModel, RoleType::HelperModel];

/// The roles that may answer the calls of tools that a model makes.
pub(crate) const TOOL_ROLES: &[RoleType] = &[RoleType::ToolProvider, RoleType::HelperModel];

const fn contract(
    kind: StepKind,
    name: &'static str,
    needs: &'static [StepOutput],
    yields: &'static [StepOutput],
    role: Option<RoleType>,
    may_ask: &'static [RoleType],
) -> StepContract {
    StepContract { kind, name, needs, yields, role, may_ask }
}

const SAMPLE: &[StepOutput] = &[StepOutput::Sample];
const ANSWER: &[StepOutput] = &[StepOutput::Answer];
const BOTH: &[StepOutput] = &[StepOutput::Sample, StepOutput::Answer];
const CONTEXT_ROLES: &[RoleType] = &[RoleType::ContextProvider, RoleType::HelperModel];
const HELPER: &[RoleType] = &[RoleType::HelperModel];

/// All steps, in the order in which a task has them.
pub(crate) const CONTRACTS: [StepContract; 7] = {
    use RoleType::{ContextProvider, DutModel, HelperModel, JudgeModel};
    use StepKind::{AutoEval, Embed, Extract, Inference, Judge, Report, Support};
    use StepOutput::{Context, Extraction, Judgement, Scores, Similarity};
    [
        contract(Support, "support", SAMPLE, &[Context], Some(ContextProvider), CONTEXT_ROLES),
        contract(Inference, "inference", SAMPLE, ANSWER, Some(DutModel), MODELS),
        contract(Embed, "embed", BOTH, &[Similarity], Some(HelperModel), HELPER),
        contract(Judge, "judge", BOTH, &[Judgement], Some(JudgeModel), MODELS),
        contract(Extract, "extract", ANSWER, &[Extraction], None, &[]),
        contract(AutoEval, "auto_eval", BOTH, &[Scores], None, &[]),
        contract(Report, "report", &[], &[], None, &[]),
    ]
};

impl StepKind {
    /// What the step promises.
    pub(crate) fn contract(self) -> &'static StepContract {
        // The table has one row for each kind, in their order.
        &CONTRACTS[self as usize]
    }

    /// Returns its name in a configuration.
    pub(crate) fn name(self) -> &'static str {
        self.contract().name
    }
}

/// What the steps before one do not give it.
pub(crate) fn missing(before: &[StepKind], step: StepKind) -> Option<StepOutput> {
    let given = |datum: &StepOutput| {
        *datum == StepOutput::Sample || before.iter().any(|one| one.contract().yields.contains(datum))
    };
    step.contract().needs.iter().copied().find(|datum| !given(datum))
}

/// The steps that give something, by name.
pub(crate) fn givers(datum: StepOutput) -> impl Iterator<Item = StepKind> {
    CONTRACTS.iter().filter(move |contract| contract.yields.contains(&datum)).map(|contract| contract.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_contracts_cover_each_kind_in_an_order_that_works() {
        let kinds: Vec<StepKind> = CONTRACTS.iter().map(|contract| contract.kind).collect();
        for (place, kind) in kinds.iter().enumerate() {
            assert_eq!(kind.contract().kind, *kind);
            assert_eq!(missing(&kinds[..place], *kind), None, "{}", kind.name());
        }
        assert_eq!(missing(&[], StepKind::Judge), Some(StepOutput::Answer));
        assert_eq!(givers(StepOutput::Answer).collect::<Vec<_>>(), [StepKind::Inference]);
    }
}
