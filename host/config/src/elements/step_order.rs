//! Inputs and outputs of each step, which determine the order of a task.

use crate::elements::role::RoleType;

/// Data that a step reads or produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutput {
    /// The Sample, available from the beginning.
    Sample,
    /// Context that a support step found for the model.
    Context,
    /// The answer of the model under test: `model_output`.
    Answer,
    /// Semantic similarity of the answer to its references: `model_output.semantic`.
    Similarity,
    /// The judges' verdict: `judge_output`.
    Judgement,
    /// The final answer in the model's output: `model_output.parsed`.
    Extraction,
    /// The metrics' scores.
    Scores,
}

impl StepOutput {
    /// Returns the name in messages.
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

/// The kinds of steps, in task order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StepKind {
    /// Adds context for the model.
    Support,
    /// Asks the model under test.
    Inference,
    /// Compares the answer's meaning with its references.
    Embed,
    /// Asks judges.
    Judge,
    /// Extracts the final answer from the model's output.
    Extract,
    /// Scores the answer with metrics.
    AutoEval,
    /// Writes the results, which every run does.
    Report,
}

/// Inputs, outputs and roles of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepContract {
    /// The step.
    pub(crate) kind: StepKind,
    /// The name in a configuration.
    pub(crate) name: &'static str,
    /// Data that it needs.
    pub(crate) needs: &'static [StepOutput],
    /// Data that it produces.
    pub(crate) yields: &'static [StepOutput],
    /// The role that it asks if the suite names none.
    pub(crate) role: Option<RoleType>,
    /// The roles that it may ask if the suite names one.
    pub(crate) may_ask: &'static [RoleType],
}

/// The models that may answer, judge or help. Each may replace another if the suite says so.
const MODELS: &[RoleType] = &[RoleType::DutModel, RoleType::JudgeModel, RoleType::HelperModel];

/// The roles that may answer a model's tool calls.
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

/// All steps, in task order.
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
    /// Returns the step's contract.
    pub(crate) fn contract(self) -> &'static StepContract {
        // The table has one row for each kind, in order.
        &CONTRACTS[self as usize]
    }

    /// Returns the name in a configuration.
    pub(crate) fn name(self) -> &'static str {
        self.contract().name
    }
}

/// Returns the first input of a step that the steps before it do not produce.
pub(crate) fn missing(before: &[StepKind], step: StepKind) -> Option<StepOutput> {
    let given = |datum: &StepOutput| {
        *datum == StepOutput::Sample || before.iter().any(|one| one.contract().yields.contains(datum))
    };
    step.contract().needs.iter().copied().find(|datum| !given(datum))
}

/// Returns the steps that produce the datum.
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
