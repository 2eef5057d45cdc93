//! `steps[]`: the processing steps of a sample.

use crate::elements::embed_step::EmbedStep;
use crate::elements::judge_step::JudgeStep;
use crate::elements::plugin_call::PluginCall;
use crate::elements::sample_path::read_path;
use crate::elements::step_order::{self, CONTRACTS, StepKind, StepOutput};
use crate::elements::support_step::{SupportStep, ToolLoopSpec};
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::FieldPath;
use strum::{IntoStaticStr, VariantArray};

/// Kind of request to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RequestKind {
    /// Continue the conversation; the default.
    Generate,
    /// Compute the likelihood of each of the sample's options.
    Loglikelihood,
    /// Compute the likelihood of the sample's whole text.
    RollingLoglikelihood,
}

impl RequestKind {
    /// Returns the name in a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Text that is scored for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ContinuationText {
    /// The content; the default.
    Content,
    /// The id, usually a letter.
    Id,
    /// A text of the Sample that is the same for all options. Each option ends the prompt.
    Target,
}

/// The step `inference`.
#[derive(Clone, Debug)]
pub struct InferenceStep {
    /// The role that is asked, by id; default the only suitable one.
    pub adapter_id: Option<String>,
    /// Kind of request.
    pub request: RequestKind,
    /// For log-likelihood: the text that follows the prompt.
    pub continuation: ContinuationText,
    /// For log-likelihood: the path of the text of [`ContinuationText::Target`] in the Sample.
    pub target_field: Option<FieldPath>,
    /// For log-likelihood: text between the prompt and that text; default empty.
    pub continuation_prefix: String,
    /// Settings of tool calls; without them an answer with calls is final.
    pub tools: Option<ToolLoopSpec>,
    /// Span of the step, or of its adapter.
    pub span: Span,
}

/// The steps of a task, in order.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Finds context for the model before the request, or works on its answer, in this order.
    pub support: Vec<SupportStep>,
    /// Asks the model.
    pub inference: InferenceStep,
    /// Compares the answer's meaning with its references.
    pub embed: Option<EmbedStep>,
    /// Asks judges about the answer.
    pub judge: Option<JudgeStep>,
    /// Extracts the final answer from the model's output; the first that finds one wins.
    pub extract: Vec<PluginCall>,
    /// True if metrics score the answer.
    pub auto_eval: bool,
}

impl Steps {
    /// Reads the list `steps` of a table.
    pub(crate) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<Steps> {
        let place = table.get("steps")?.span;
        let key = table.path_of("steps");
        let before = problems.counts().0;
        let mut found = ParsedSteps::default();
        let mut listed: Vec<(StepKind, Span, String)> = Vec::new();
        for (node, path) in table.list("steps", problems) {
            if let Some(kind) = read_step(node, path.clone(), &mut found, problems) {
                listed.push((kind, node.span, path));
            }
        }
        // Unreadable steps may provide what other steps need.
        let is_whole = problems.counts().0 == before;
        check_order(&listed, is_whole, problems);
        let ParsedSteps { support, inference, embed, judge, extract, auto_eval } = found;
        if inference.is_none() && problems.counts().0 == before {
            problems
                .error(place, &key, "the steps have no `inference`")
                .help(format!("expected one of: {}", names()));
        }
        Some(Steps { support, inference: inference?, embed, judge, extract, auto_eval })
    }
}

/// Returns the names of the steps, in order.
fn names() -> String {
    CONTRACTS.map(|contract| contract.name).join(", ")
}

/// Help for steps that need an answer, where no step asks a model.
const ANSWERS_HELP: &str = ", or score existing answers with --answers FILE (`answers: FILE` in the suite)";

/// Checks that each step occurs once, after the steps that it needs.
fn check_order(listed: &[(StepKind, Span, String)], is_whole: bool, problems: &mut Problems) {
    let kinds: Vec<StepKind> = listed.iter().map(|(kind, ..)| *kind).collect();
    for (place, (kind, span, path)) in listed.iter().enumerate() {
        let (before, behind) = kinds.split_at(place);
        // Each `support` step may read the results of earlier ones.
        if before.contains(kind) && *kind != StepKind::Support {
            let message = format!("a task has one `{}` step; this is the second", kind.name());
            let problem = problems.error(*span, path, message);
            if *kind == StepKind::Judge {
                problem.help("put several judges into one step, under `judges`");
            }
            continue;
        }
        // A support step may also work on the answer.
        let may_follow = |one: StepKind| *kind == StepKind::Support && one == StepKind::Inference;
        if let Some(late) = before.iter().find(|one| **one > *kind && !may_follow(**one)) {
            let message = format!("`{}` must come before `{}`", kind.name(), late.name());
            problems
                .error(*span, path, message)
                .help(format!("the order is: {}; `support` may also follow `inference`", names()));
            continue;
        }
        if is_whole
            && let Some(datum) = step_order::missing(before, *kind)
            && !step_order::givers(datum).any(|giver| behind.contains(&giver))
        {
            let givers: Vec<String> =
                step_order::givers(datum).map(|giver| format!("{{step: {}}}", giver.name())).collect();
            let message = format!("`{}` needs {}, which no step before it gives", kind.name(), datum.name());
            // Given answers replace the step that asks the model.
            let answers = if datum == StepOutput::Answer { ANSWERS_HELP } else { "" };
            problems.error(*span, path, message).help(format!("add {}{answers}", givers.join(" or ")));
        }
    }
}

/// The steps read so far.
#[derive(Default)]
struct ParsedSteps {
    support: Vec<SupportStep>,
    inference: Option<InferenceStep>,
    embed: Option<EmbedStep>,
    judge: Option<JudgeStep>,
    extract: Vec<PluginCall>,
    auto_eval: bool,
}

fn read_step(
    node: &Node,
    path: String,
    found: &mut ParsedSteps,
    problems: &mut Problems,
) -> Option<StepKind> {
    let mut table = MappingReader::open(node, path, problems)?;
    table.required("step", problems);
    let kind = table.choice("step", &CONTRACTS.map(|contract| (contract.name, contract.kind)), problems)?;
    match kind {
        // Every run ends with this step.
        StepKind::Report => {}
        StepKind::Support => {
            let follows_inference = found.inference.is_some();
            found.support.push(SupportStep::read(&mut table, node, follows_inference, problems));
        }
        StepKind::Inference => found.inference = Some(read_inference(&mut table, node, problems)),
        StepKind::Embed => found.embed = Some(EmbedStep::read(&mut table, node, problems)),
        StepKind::Judge => found.judge = Some(JudgeStep::read(&mut table, node, problems)),
        StepKind::Extract => {
            table.required("extractors", problems);
            found.extract = table
                .list("extractors", problems)
                .into_iter()
                .filter_map(|(node, path)| PluginCall::read(node, &path, "extractor", problems))
                .collect();
            if table.get("extractors").is_some() && found.extract.is_empty() && !problems.has_errors() {
                table.error("extractors", "the list of extractors is empty", problems);
            }
        }
        StepKind::AutoEval => found.auto_eval = true,
    }
    table.finish(problems);
    Some(kind)
}

fn read_inference(table: &mut MappingReader<'_>, node: &Node, problems: &mut Problems) -> InferenceStep {
    let adapter_id = table.text("adapter_id", problems);
    let request = table.variant("request", problems).unwrap_or(RequestKind::Generate);
    let continuation: Option<ContinuationText> = table.variant("continuation", problems);
    let target_field = read_path(table, "target_field", problems);
    let prefix = table.text("continuation_prefix", problems);
    let has_target = table.get("target_field").is_some();
    let is_scored = continuation.is_some() || has_target || prefix.is_some();
    if request != RequestKind::Loglikelihood && is_scored {
        let message =
            "`continuation`, `target_field` and `continuation_prefix` belong to `request: loglikelihood`";
        problems.error(node.span, &table.path, message).help("add `request: loglikelihood`, or remove them");
    } else if has_target && continuation != Some(ContinuationText::Target) {
        table
            .error("target_field", "`target_field` belongs to `continuation: target`", problems)
            .help("add `continuation: target`, or remove `target_field`");
    } else if !has_target && continuation == Some(ContinuationText::Target) {
        table
            .error("continuation", "`continuation: target` needs `target_field`", problems)
            .help("name the field with the text to score, as in target_field: metadata.rest");
    }
    let tools = ToolLoopSpec::read(table, problems);
    if let Some(tools) = tools.as_ref().filter(|_| request != RequestKind::Generate) {
        let message = format!("with `request: {}` no tool is ever called", request.name());
        problems
            .error(tools.span, &table.path_of("tools"), message)
            .help("remove `tools`, or ask for `request: generate`");
    }
    InferenceStep {
        adapter_id,
        request,
        continuation: continuation.unwrap_or(ContinuationText::Content),
        target_field,
        continuation_prefix: prefix.unwrap_or_default(),
        tools,
        span: table.span_of("adapter_id"),
    }
}
