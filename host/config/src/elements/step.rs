//! `steps[]`: what happens to a sample.

use crate::elements::judge_step::JudgeStep;
use crate::elements::plugin_call::PluginCall;
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
    /// Asks judges about the answer.
    pub judge: Option<JudgeStep>,
    /// Finds the final answer in what the model wrote: the first that finds one, in their order.
    pub extract: Vec<PluginCall>,
    /// Whether metrics score the answer.
    pub auto_eval: bool,
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum StepKind {
    Inference,
    Judge,
    Extract,
    AutoEval,
}

/// In the order in which a task has them.
const KINDS: [(&str, StepKind); 4] = [
    ("inference", StepKind::Inference),
    ("judge", StepKind::Judge),
    ("extract", StepKind::Extract),
    ("auto_eval", StepKind::AutoEval),
];
const REQUESTS: [(&str, RequestKind); 2] =
    [("generate", RequestKind::Generate), ("loglikelihood", RequestKind::Loglikelihood)];
const CONTINUATIONS: [(&str, ContinuationText); 2] =
    [("content", ContinuationText::Content), ("id", ContinuationText::Id)];

impl Steps {
    /// Reads the list `steps` of a table.
    pub(crate) fn read(table: &mut Table<'_>, problems: &mut Problems) -> Option<Steps> {
        let place = table.get("steps")?.span;
        let key = table.path_of("steps");
        let mut found = Found::default();
        let mut last: Option<StepKind> = None;
        for (node, path) in table.list("steps", problems) {
            let Some(kind) = read_step(node, path.clone(), &mut found, problems) else { continue };
            let name =
                |kind: StepKind| KINDS.iter().find(|(_, one)| *one == kind).map_or("", |(name, _)| name);
            match last {
                Some(last) if last == kind => {
                    let message = format!("a task has one `{}` step; this is the second", name(kind));
                    let problem = problems.error(node.span, &path, message);
                    if kind == StepKind::Judge {
                        problem.help("put several judges into one step, under `judges`");
                    }
                }
                Some(last) if last > kind => {
                    let message = format!("`{}` must come before `{}`", name(kind), name(last));
                    let order = KINDS.map(|(name, _)| name).join(", ");
                    problems.error(node.span, &path, message).help(format!("the order is: {order}"));
                }
                _ => {}
            }
            last = Some(kind);
        }
        let Found { inference, judge, extract, auto_eval } = found;
        if inference.is_none() && !problems.has_errors() {
            problems
                .error(place, &key, "the steps have no `inference`")
                .help("known are: inference, judge, extract, auto_eval");
        }
        Some(Steps { inference: inference?, judge, extract, auto_eval })
    }
}

/// The steps that were read so far.
#[derive(Default)]
struct Found {
    inference: Option<InferenceStep>,
    judge: Option<JudgeStep>,
    extract: Vec<PluginCall>,
    auto_eval: bool,
}

fn read_step(node: &Node, path: String, found: &mut Found, problems: &mut Problems) -> Option<StepKind> {
    let mut table = Table::open(node, path, problems)?;
    table.required("step", problems);
    let kind = table.choice("step", &KINDS, problems)?;
    match kind {
        StepKind::Inference => found.inference = Some(read_inference(&mut table, node, problems)),
        StepKind::Judge => found.judge = Some(JudgeStep::read(&mut table, node, problems)),
        StepKind::Extract => {
            table.required("extractors", problems);
            found.extract = table
                .list("extractors", problems)
                .into_iter()
                .filter_map(|(node, path)| PluginCall::read(node, &path, "extractor", problems))
                .collect();
            if let (Some(node), true) =
                (table.get("extractors"), found.extract.is_empty() && !problems.has_errors())
            {
                problems.error(node.span, &table.path_of("extractors"), "the list of extractors is empty");
            }
        }
        StepKind::AutoEval => found.auto_eval = true,
    }
    table.finish(problems);
    Some(kind)
}

fn read_inference(table: &mut Table<'_>, node: &Node, problems: &mut Problems) -> InferenceStep {
    let mut step = InferenceStep {
        adapter_id: None,
        request: RequestKind::Generate,
        continuation: ContinuationText::Content,
        continuation_prefix: String::new(),
        span: node.span,
    };
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
    step
}
