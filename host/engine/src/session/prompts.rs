//! Checks of prompts against the first rows of their dataset, before anything is sent.

use crate::plan::PlannedTask;
use crate::request::{PromptParts, Request, prompt_context, rendered_prompt};
use crate::sample::eval_config::unknown_ids;
use crate::sample::output_keys::TOOL_USAGE;
use crate::session::datasets::Datasets;
use gage_config::{
    BackendKind, DatasetSpec, PipelineConfig, Problems, PromptSpec, RequestKind, RoleAdapterSpec, RoleType,
    Span,
};
use gage_core::{Message, ModelOutput, Object, OptionDisplay, Root, Sample, SampleView, TaskType};
use gage_data::{Preparation, stream};
use gage_template::{KnownFields, KnownNames, NameProblem, PromptError, PromptRenderer, ROW_KEY};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Number of rows that are examined.
const ROWS: u64 = 8;

/// Checks the prompts of each task: that their variables exist, that the model's prompt can be rendered, and that it
/// shows the options that a metric reads. Warns about fields of Samples that the task does not use. Datasets that are
/// missing leave the fields of rows unchecked.
pub(crate) fn check_prompts(
    config: &PipelineConfig,
    tasks: &[Arc<PlannedTask>],
    datasets: &Datasets,
    problems: &mut Problems,
) {
    let mut reported: BTreeSet<String> = BTreeSet::new();
    for task in tasks {
        let prompts = task.prompts();
        let samples = first_samples(task, datasets);
        check_unused_fields(task, &samples, problems);
        check_overrides(task, &samples, problems);
        check_task_types(task, &samples, problems);
        if prompts.is_empty() && option_metric(task).is_none() {
            continue;
        }
        let names = Names::of(&samples);
        let before = problems.counts().0;
        for (role, prompt) in prompts {
            let payload = payload_fields(task, role, names.sample.as_ref());
            for problem in prompt.name_problems(&names.known(&payload)) {
                if reported.insert(format!("{} {}", prompt.prompt_id(), problem.error)) {
                    report_name(config, role, &problem, problems);
                }
            }
        }
        if problems.counts().0 > before {
            continue;
        }
        if let Some(prompt) = &task.prompt {
            if sends_equal_requests(task, prompt, &samples) && reported.insert(prompt.prompt_id().to_owned())
            {
                report_equal_requests(config, task, problems);
            }
            check_rendering(config, task, prompt, &samples, problems);
        }
        check_options(task, &samples, problems);
    }
}

/// Names in the first rows of a dataset.
struct Names {
    row: Option<KnownFields>,
    sample: Option<KnownFields>,
}

impl Names {
    fn of(samples: &[Arc<Sample>]) -> Names {
        let mut names = Names { row: None, sample: None };
        for sample in samples {
            let Value::Object(mut fields) = sample.to_value() else { continue };
            let row = fields.shift_remove(ROW_KEY).unwrap_or_else(|| Value::Object(Object::new()));
            // Templates do not see assets.
            fields.shift_remove("raw_assets");
            names.row = Some(joined(names.row, KnownFields::of(&row)));
            names.sample = Some(joined(names.sample, KnownFields::of(&Value::Object(fields))));
        }
        names
    }

    fn known<'n>(&'n self, payload: &'n KnownFields) -> KnownNames<'n> {
        KnownNames { row: self.row.as_ref(), sample: self.sample.as_ref(), payload }
    }
}

fn joined(known: Option<KnownFields>, further: KnownFields) -> KnownFields {
    match known {
        Some(known) => known.union(further),
        None => further,
    }
}

/// Returns the fields of the payload that a role's prompt sees. `sample` has the fields of the Samples, if they are
/// known.
fn payload_fields(task: &PlannedTask, role: &RoleAdapterSpec, sample: Option<&KnownFields>) -> KnownFields {
    let outputs = task.support_roles().map(|support| {
        // A role without a component replies with a text.
        let output = match support.adapter {
            Some(_) => KnownFields::Any,
            None => KnownFields::named(["context", "usage"]),
        };
        (support.role.adapter_id.clone(), output)
    });
    let outputs: BTreeMap<String, KnownFields> = outputs.collect();
    let mut fields = outputs.clone();
    fields.insert("support".to_owned(), KnownFields::Object(outputs));
    fields.insert("sample".to_owned(), sample.cloned().unwrap_or_default());
    if role.role_type != RoleType::DutModel {
        fields.insert("model_output".to_owned(), output_fields(task));
        fields.insert("tool_call".to_owned(), KnownFields::Any);
    }
    KnownFields::Object(fields)
}

/// Keys of a model's output that every backend may give.
const OUTPUT_KEYS: [&str; 9] = [
    "answer",
    "finish_reason",
    "reasoning",
    "tool_calls",
    "media",
    "refusal",
    "logprobs",
    "sampling_params",
    "prompt_tokens_left_out",
];

/// Returns the fields of the model's output before anything is extracted from it, as judges and helpers see it.
fn output_fields(task: &PlannedTask) -> KnownFields {
    // A component may give any.
    if matches!(task.backend.kind, BackendKind::CustomScript(_)) {
        return KnownFields::Any;
    }
    let mut keys: Vec<&str> = OUTPUT_KEYS.to_vec();
    match task.spec.steps.inference.request {
        RequestKind::Generate => {}
        RequestKind::Loglikelihood => keys.extend(["answer_normalized", "continuations"]),
        RequestKind::RollingLoglikelihood => keys.push("rolling"),
    }
    if task.tools.is_some() {
        keys.extend(["turns", "trajectory", "stopped_by", TOOL_USAGE]);
    }
    if task.follow_ups.iter().any(|follow_up| follow_up.sets_answer) {
        keys.push("original_answer");
    }
    let usage = KnownFields::named(["prompt_tokens", "completion_tokens"]);
    let usage = KnownFields::Object(BTreeMap::from([("usage".to_owned(), usage)]));
    KnownFields::named(keys).union(usage)
}

/// Returns the Samples of the first valid rows of a task, in the order of the file, with their rows.
fn first_samples(task: &PlannedTask, datasets: &Datasets) -> Vec<Arc<Sample>> {
    let Some(dataset) = datasets.get(&task.spec.dataset_id) else { return Vec::new() };
    // A shuffle would have to read all rows.
    let spec = DatasetSpec { shuffle: false, ..task.dataset.spec.clone() };
    let Ok(rows) = dataset.open_as(&spec, Some(ROWS)) else { return Vec::new() };
    // A check downloads no images.
    let preparation =
        Preparation { keeps_row: true, fetches_media: false, ..dataset.preparation_of(&task.dataset) };
    let mut samples = Vec::new();
    stream(rows, &preparation, 1, &|| false, |prepared| {
        samples.extend(prepared.result);
        ControlFlow::Continue(())
    });
    samples
}

/// Reports a prompt of the model that none of the Samples can fill. One that needs the output of support steps is not
/// checked.
fn check_rendering(
    config: &PipelineConfig,
    task: &PlannedTask,
    prompt: &PromptRenderer,
    samples: &[Arc<Sample>],
    problems: &mut Problems,
) {
    if !task.support.is_empty() || samples.is_empty() {
        return;
    }
    let mut first = None;
    for sample in samples {
        let input = prompt.input(&prompt_context(task, &sample.to_value(), &Object::new()));
        match prompt.render(&input) {
            Ok(_) => return,
            Err(error) => first = first.or(Some(error)),
        }
    }
    if let Some(error) = first {
        report(config, &task.role, &error, problems);
    }
}

/// Returns whether all requests of a task are the same, because its prompt shows nothing of the Samples. A single Sample may
/// have such a prompt.
fn sends_equal_requests(task: &PlannedTask, prompt: &PromptRenderer, samples: &[Arc<Sample>]) -> bool {
    let is_prompt_all =
        task.spec.steps.inference.request == RequestKind::Generate && !task.has_given_answers();
    // The media of a Sample are sent with its prompt.
    let has_media = || samples.iter().any(|sample| sample.messages.iter().any(Message::has_media));
    !prompt.reads_samples() && is_prompt_all && samples.len() != 1 && !has_media()
}

fn report_equal_requests(config: &PipelineConfig, task: &PlannedTask, problems: &mut Problems) {
    let Some(prompt) = config.prompt_of(&task.role) else { return };
    let span = prompt.messages.last().map_or(prompt.span, |message| message.span);
    let message = format!(
        "the prompt `{}` has no field of the row, so every request of the task `{}` is the same",
        prompt.prompt_id, task.spec.task_id
    );
    problems.warning(span, "template", message).help("name a field of the row, as in {{ question }}");
}

fn report(config: &PipelineConfig, role: &RoleAdapterSpec, error: &PromptError, problems: &mut Problems) {
    let Some(span) = span_of(config, role, error) else { return };
    problems.error(span, "template", format!("the prompt cannot be rendered: {error}"));
}

/// Reports a problem with a variable: a warning if it is only read under a condition.
fn report_name(
    config: &PipelineConfig,
    role: &RoleAdapterSpec,
    problem: &NameProblem,
    problems: &mut Problems,
) {
    if problem.is_error {
        return report(config, role, &problem.error, problems);
    }
    let Some(span) = span_of(config, role, &problem.error) else { return };
    let message =
        format!("a condition of the prompt guards a variable that no first row has: {}", problem.error);
    problems
        .warning(span, "template", message)
        .help("check its name; later rows may have it, and to a condition a missing variable is false");
}

/// Returns the place of the message with an error.
fn span_of(config: &PipelineConfig, role: &RoleAdapterSpec, error: &PromptError) -> Option<Span> {
    let prompt: &PromptSpec = config.prompt_of(role)?;
    Some(prompt.messages.get(error.message).map_or(prompt.span, |message| message.span))
}

/// Returns the first metric of a task that reads the options of a Sample.
fn option_metric(task: &PlannedTask) -> Option<&str> {
    let step = &task.spec.steps.inference;
    let reads_options = |metric: &&crate::plan::PlannedMetric| {
        let mut paths = metric.metric.inputs().iter().flat_map(|input| &input.paths);
        paths.any(|path| path.as_str() == "sample.options")
    };
    match step.request {
        RequestKind::Generate => {
            task.scoring.metrics.iter().find(reads_options).map(|metric| metric.metric_id.as_str())
        }
        RequestKind::Loglikelihood | RequestKind::RollingLoglikelihood => None,
    }
}

/// Warns about overrides in `eval_config` of metrics and judges that the task does not have.
fn check_overrides(task: &PlannedTask, samples: &[Arc<Sample>], problems: &mut Problems) {
    let metrics: Vec<&str> = task.scoring.metrics.iter().map(|planned| planned.metric_id.as_str()).collect();
    let judges = task.judges.iter().flat_map(|judges| &judges.judges);
    let judges: Vec<&str> = judges.map(|judge| judge.judge_id.as_str()).collect();
    let unknown = unknown_ids(samples.iter().map(AsRef::as_ref), &metrics, &judges);
    if !unknown.is_empty() {
        let message = format!(
            "`eval_config` of Samples of the task `{}` has {}, which the task does not have",
            task.spec.task_id,
            unknown.join(", ")
        );
        let known: Vec<&str> = metrics.into_iter().chain(judges).collect();
        let help = format!("it changes nothing; the metrics and judges are: {}", known.join(", "));
        problems.warning(task.spec.spans.dataset_id, "tasks", message).help(help);
    }
}

/// Warns about fields of the Samples that change nothing in the task.
fn check_unused_fields(task: &PlannedTask, samples: &[Arc<Sample>], problems: &mut Problems) {
    let is_likelihood = task.spec.steps.inference.request == RequestKind::Loglikelihood;
    let has_unconditioned = samples.iter().any(|sample| sample.unconditioned_input.is_some());
    let mut warn = |field: &str, help: &str| {
        let message = format!("the task `{}` does not use the `{field}` of its Samples", task.spec.task_id);
        problems.warning(task.spec.spans.dataset_id, "tasks", message).help(help.to_owned());
    };
    // A prompt may read the field.
    if has_unconditioned && !is_likelihood && task.prompt.is_none() {
        warn(
            "unconditioned_input",
            "it belongs to `request: loglikelihood` with the metric `loglikelihood_accuracy`, which then also reports \
             `acc_mutual_info`",
        );
    }
    // A component that supports the model or answers its tool calls may read it.
    let has_sandbox = samples.iter().any(|sample| sample.sandbox.is_some());
    if has_sandbox && task.support_roles().next().is_none() {
        warn("sandbox", "no step runs code: answers are compared as text, and the field is only recorded");
    }
}

/// Warns about task types whose answers no step of the task evaluates.
fn check_task_types(task: &PlannedTask, samples: &[Arc<Sample>], problems: &mut Problems) {
    use TaskType::{Agent, CodeGeneration, ImageToImage, TextToAudio, TextToImage, TextToVideo};
    let judges_media = task.judges.as_ref().is_some_and(|judges| judges.sends_media);
    let reads_media = task.scoring.metrics.iter().any(|metric| {
        let mut paths = metric.metric.inputs().iter().flat_map(|input| &input.paths);
        paths.any(|path| path.root() == Root::ModelOutput && path.first_key() == Some(ModelOutput::MEDIA_KEY))
    });
    let mut types: Vec<&TaskType> = Vec::new();
    for kind in samples.iter().filter_map(|sample| sample.task_type.as_ref()) {
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    for kind in types {
        let (lack, help) = match kind {
            TextToImage | ImageToImage | TextToAudio | TextToVideo if !judges_media && !reads_media => (
                "no judge and no metric of the task sees the media of the answers",
                "add the step `judge` with a model that takes such media, or a metric that reads `model_output.media`",
            ),
            Agent if task.tools.is_none() => (
                "no step answers the model's tool calls",
                "add the step `tools`, or give the Samples another type",
            ),
            CodeGeneration => (
                "no step runs code, so answers are compared as text",
                "use a metric that compares texts as intended",
            ),
            _ => continue,
        };
        let message = format!(
            "Samples of the task `{}` have the type `{}`, but {lack}",
            task.spec.task_id,
            kind.name()
        );
        problems.warning(task.spec.spans.dataset_id, "tasks", message).help(help);
    }
}

/// Warns if a metric reads options that a request does not show.
fn check_options(task: &PlannedTask, samples: &[Arc<Sample>], problems: &mut Problems) {
    let Some(metric) = option_metric(task) else { return };
    let mut with_options = samples.iter().filter(|sample| !sample.options.is_empty());
    if with_options.all(|sample| shows_options(task, sample)) {
        return;
    }
    let help = match &task.prompt {
        Some(prompt) => format!(
            "show them in the prompt `{}`, as in {{% for option in sample.options %}}{{{{ option.id }}}}. {{{{ \
             option.content }}}}{{% endfor %}}, or remove `prompt_id` from the role",
            prompt.prompt_id()
        ),
        None => {
            "remove `style: question_only` from the preprocessor, or use `request: loglikelihood`".to_owned()
        }
    };
    let message = format!(
        "the metric `{metric}` compares the answer with the options of the Sample, but the requests of the task `{}` \
         do not show the options",
        task.spec.task_id
    );
    problems.warning(task.spec.spans.dataset_id, "tasks", message).help(help);
}

/// Returns whether the request for a Sample shows its options. A request that cannot be built counts as one that does.
fn shows_options(task: &PlannedTask, sample: &Arc<Sample>) -> bool {
    let parts = PromptParts::of(task, sample);
    let view = SampleView::Read(Arc::clone(sample));
    let rendered = rendered_prompt(task, &view, &Value::Null);
    match parts.request(task, &sample.id, rendered, &Value::Null, 0) {
        Ok(Request::Generate(request)) => match &request.prompt {
            // The chat template rendered the conversation.
            Some(_) => task.dataset.option_display == OptionDisplay::AfterQuestion,
            None => sample.shows_options(&request.messages),
        },
        Ok(_) | Err(_) => true,
    }
}
