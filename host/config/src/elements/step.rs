//! `steps[]`: what happens to a sample.

use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use crate::table::Table;

/// What the model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// To continue the conversation; the default.
    Generate,
    /// How likely each of the sample's options is.
    Loglikelihood,
}

/// Which text of an option is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinuationText {
    /// Its content; the default.
    Content,
    /// Its id, usually a letter.
    Id,
}

/// The step `inference`.
#[derive(Clone, Debug)]
pub struct InferenceStep {
    /// The role that is asked, by id; where it is missing the only one that can be meant.
    pub adapter_id: Option<String>,
    /// What it is asked for.
    pub request: RequestKind,
    /// For log-likelihood: which text of an option follows the prompt.
    pub continuation: ContinuationText,
    /// For log-likelihood: put between the prompt and that text; default nothing.
    pub continuation_prefix: String,
    /// Where the step and its adapter are written.
    pub span: Span,
}

/// The steps of a task, in their order.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Asks the model.
    pub inference: InferenceStep,
    /// Whether metrics score the answer.
    pub auto_eval: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum StepKind {
    Inference,
    AutoEval,
}

const KINDS: [(&str, StepKind); 2] = [("inference", StepKind::Inference), ("auto_eval", StepKind::AutoEval)];
const REQUESTS: [(&str, RequestKind); 2] =
    [("generate", RequestKind::Generate), ("loglikelihood", RequestKind::Loglikelihood)];
const CONTINUATIONS: [(&str, ContinuationText); 2] =
    [("content", ContinuationText::Content), ("id", ContinuationText::Id)];

impl Steps {
    /// Reads the list `steps` of a table.
    pub(crate) fn read(table: &mut Table<'_>, problems: &mut Problems) -> Option<Steps> {
        let place = table.get("steps")?.span;
        let key = table.path_of("steps");
        let mut inference = None;
        let mut auto_eval = false;
        for (node, path) in table.list("steps", problems) {
            let Some((kind, step)) = read_step(node, path.clone(), problems) else { continue };
            match kind {
                StepKind::Inference if inference.is_some() => {
                    problems.error(node.span, &path, "a task has one `inference` step; this is the second");
                }
                StepKind::Inference if auto_eval => {
                    problems.error(
                        node.span,
                        &path,
                        "`inference` must come before `auto_eval`, which scores its answer",
                    );
                }
                StepKind::Inference => inference = Some(step),
                StepKind::AutoEval => auto_eval = true,
            }
        }
        if inference.is_none() && !problems.has_errors() {
            problems
                .error(place, &key, "the steps have no `inference`")
                .help("known are: inference, auto_eval");
        }
        Some(Steps { inference: inference?, auto_eval })
    }
}

fn read_step(node: &Node, path: String, problems: &mut Problems) -> Option<(StepKind, InferenceStep)> {
    let mut table = Table::open(node, path, problems)?;
    table.required("step", problems);
    let kind = table.choice("step", &KINDS, problems);
    let mut step = InferenceStep {
        adapter_id: None,
        request: RequestKind::Generate,
        continuation: ContinuationText::Content,
        continuation_prefix: String::new(),
        span: node.span,
    };
    if kind == Some(StepKind::Inference) {
        step.adapter_id = table.text("adapter_id", problems);
        if let Some(node) = table.get("adapter_id") {
            step.span = node.span;
        }
        step.request = table.choice("request", &REQUESTS, problems).unwrap_or(step.request);
        let continuation = table.choice("continuation", &CONTINUATIONS, problems);
        let prefix = table.text("continuation_prefix", problems);
        if step.request == RequestKind::Generate && (continuation.is_some() || prefix.is_some()) {
            problems
                .error(
                    node.span,
                    &table.path,
                    "`continuation` and `continuation_prefix` belong to `request: loglikelihood`",
                )
                .help("add `request: loglikelihood`, or remove them");
        }
        step.continuation = continuation.unwrap_or(step.continuation);
        step.continuation_prefix = prefix.unwrap_or_default();
    }
    if kind.is_some() {
        table.finish(problems);
    }
    Some((kind?, step))
}
