//! `tasks[]`: a dataset, the steps for its samples, and the metrics.

use crate::elements::metric::MetricSpec;
use crate::elements::sample_path::{of_sample, read_path};
use crate::elements::sampling;
use crate::elements::step::Steps;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::{FieldPath, Outcome, SamplingParams};
use std::collections::HashSet;
use strum::{IntoStaticStr, VariantArray};

/// Effect of a failed sample on its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum FailurePolicy {
    /// The first failed sample ends the task.
    FailFast,
    /// The task completes; the run is incomplete if too few samples are scored.
    #[default]
    Graceful,
    /// The task completes, and any number of scored samples is enough.
    BestEffort,
}

impl FailurePolicy {
    /// Reads the key `failure_policy`.
    pub(crate) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<FailurePolicy> {
        table.variant("failure_policy", problems)
    }

    /// Returns the name in a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Scheduling of the samples of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LoopMode {
    /// Samples run in parallel, up to the concurrency limit, without waiting for earlier ones.
    #[default]
    FireAndForget,
    /// Samples run one at a time: each starts after the answer of the previous one is recorded.
    Sequential,
}

/// A task, with all inherited values filled in.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// The name within the configuration.
    pub task_id: String,
    /// The dataset, by id.
    pub dataset_id: String,
    /// The steps for each sample.
    pub steps: Steps,
    /// The metrics that score the answers; empty without `auto_eval`.
    pub metrics: Vec<MetricSpec>,
    /// Maximum number of samples to run.
    pub max_samples: Option<u64>,
    /// Maximum number of samples between loading and scoring; default: twice the concurrency.
    pub max_inflight: Option<usize>,
    /// Maximum number of this task's requests in flight to the model under test; default: the limits of the run,
    /// the role and the backend.
    pub concurrency: Option<usize>,
    /// Scheduling of its samples.
    pub mode: LoopMode,
    /// Number of samples prepared ahead, as a multiple of the concurrency; default 2.
    pub prefetch_factor: usize,
    /// True if the rows are shuffled; default: the dataset's setting.
    pub shuffle: Option<bool>,
    /// Seed of the shuffle; default: that of the dataset.
    pub shuffle_seed: Option<u64>,
    /// Effect of a failed sample.
    pub failure_policy: FailurePolicy,
    /// Sampling parameters, which override those of the role.
    pub sampling_params: SamplingParams,
    /// Minimum share of scored samples, below which the run is incomplete; default 0.95.
    pub min_coverage: f64,
    /// Outcomes that are scored anyway: `truncated`, `empty_output`, `refused`.
    pub score_outcomes: Vec<Outcome>,
    /// Number of times each sample is asked; its scores are averaged first. Default 1.
    pub repeat: u64,
    /// Paths into the Sample whose values group further figures, such as `metadata.subject`.
    pub slices: Vec<FieldPath>,
    /// A path into the Sample; samples with equal values there are not independent of each other.
    pub cluster_by: Option<FieldPath>,
    /// Spans of the task and its dataset's id.
    pub spans: TaskSpans,
}

/// Spans of the parts of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskSpans {
    /// The whole entry.
    pub entry: Span,
    /// The dataset's id.
    pub dataset_id: Span,
}

/// Settings of `custom` or `builtin` for all tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    pub(crate) steps: Option<Steps>,
    pub(crate) settings: TaskSettings,
}

/// Settings that a task or the template may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskSettings {
    max_samples: Option<u64>,
    max_inflight: Option<usize>,
    concurrency: Option<usize>,
    mode: Option<LoopMode>,
    prefetch_factor: Option<usize>,
    shuffle: Option<bool>,
    shuffle_seed: Option<u64>,
    failure_policy: Option<FailurePolicy>,
    sampling_params: SamplingParams,
    min_coverage: Option<f64>,
    score_outcomes: Option<Vec<Outcome>>,
    repeat: Option<u64>,
    slices: Option<Vec<FieldPath>>,
    cluster_by: Option<FieldPath>,
}

const SCORABLE: [(&str, Outcome); 3] = [
    ("truncated", Outcome::Truncated),
    ("empty_output", Outcome::EmptyOutput),
    ("refused", Outcome::Refused),
];

/// The default of `prefetch_factor`.
const PREFETCH: usize = 2;

impl TaskSettings {
    fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> TaskSettings {
        let mut size = |key, most| table.number(key, 1..=most, problems);
        TaskSettings {
            max_inflight: size("max_inflight", 1_000_000),
            concurrency: size("concurrency", 100_000),
            prefetch_factor: size("prefetch_factor", 1_000),
            max_samples: table.integer("max_samples", 1..=u64::MAX, problems),
            mode: table.variant("mode", problems),
            shuffle: table.boolean("shuffle", problems),
            shuffle_seed: table.integer("shuffle_seed", 0..=u64::MAX, problems),
            failure_policy: FailurePolicy::read(table, problems),
            sampling_params: sampling::read(table, "sampling_params", problems),
            min_coverage: table.float("min_coverage", 0.0..=1.0, problems),
            score_outcomes: read_outcomes(table, problems),
            repeat: table.integer("repeat", 1..=10_000, problems),
            slices: read_paths(table, "slices", problems),
            cluster_by: read_path(table, "cluster_by", problems),
        }
    }
}

/// Reads a list of paths into the Sample.
fn read_paths(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Option<Vec<FieldPath>> {
    let node = table.get(key)?;
    let paths = table.texts(key, problems)?;
    let mut read: Vec<FieldPath> = Vec::with_capacity(paths.len());
    let mut seen: HashSet<FieldPath> = HashSet::new();
    for path in &paths {
        let Some(path) = of_sample(path, node, &table.path_of(key), problems) else { continue };
        if !seen.insert(path.clone()) {
            problems.error(node.span, &table.path_of(key), format!("`{}` occurs twice", path.as_str()));
        }
        read.push(path);
    }
    Some(read)
}

fn read_outcomes(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<Vec<Outcome>> {
    let node = table.get("score_outcomes")?;
    let names = table.texts("score_outcomes", problems)?;
    let mut outcomes = Vec::new();
    for name in names {
        match SCORABLE.iter().find(|(known, _)| *known == name) {
            Some((_, outcome)) => outcomes.push(*outcome),
            None => {
                problems
                    .error(
                        node.span,
                        &table.path_of("score_outcomes"),
                        format!("`{name}` is not an outcome that can be scored"),
                    )
                    .known(&name, SCORABLE.iter().map(|(known, _)| *known));
            }
        }
    }
    Some(outcomes)
}

impl Template {
    pub(crate) fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Template> {
        let mut table = MappingReader::open(node, path, problems)?;
        let steps = Steps::read(&mut table, problems);
        let settings = TaskSettings::read(&mut table, problems);
        // The short form has applied it to the backend of the model.
        table.choice("chat_template", &[("model", ()), ("none", ())], problems);
        table.finish(problems);
        Some(Template { steps, settings })
    }
}

/// Inputs of a task besides its own entry.
pub(crate) struct TaskDefaults<'a> {
    pub(crate) template: &'a Template,
    pub(crate) metrics: &'a [MetricSpec],
    /// True if there are none because their key is misspelt, which has a message of its own.
    pub(crate) are_metrics_misspelt: bool,
    /// The run's failure policy.
    pub(crate) failure_policy: Option<FailurePolicy>,
}

impl TaskSpec {
    pub(crate) fn read(
        node: &Node,
        path: String,
        inherited: &TaskDefaults<'_>,
        problems: &mut Problems,
    ) -> Option<TaskSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let task_id = table.required_id("task_id", problems).unwrap_or_default();
        let dataset_id = table.text("dataset_id", problems);
        if dataset_id.is_none() && table.get("dataset_id").is_none() {
            let message = format!("the task `{task_id}` names no dataset");
            problems
                .error(node.span, &table.path, message)
                .help("give it the `dataset_id` of an entry of `datasets`");
        }
        let dataset_span = table.get("dataset_id").map_or(node.span, |node| node.span);
        let own_steps = Steps::read(&mut table, problems);
        let overrides = MetricSpec::read_list(&mut table, "metric_overrides", problems);
        let settings = TaskSettings::read(&mut table, problems);
        let path = table.path.clone();
        table.finish(problems);
        let spans = TaskSpans { entry: node.span, dataset_id: dataset_span };
        let metrics = if overrides.is_empty() { inherited.metrics.to_vec() } else { overrides };
        let task = TaskParts { task_id, dataset_id: dataset_id?, own_steps, metrics, settings, spans };
        task.build(&path, inherited, problems)
    }

    /// Creates the task of a dataset in a configuration without `tasks`.
    pub(crate) fn of_dataset(
        dataset_id: &str,
        span: Span,
        inherited: &TaskDefaults<'_>,
        problems: &mut Problems,
    ) -> Option<TaskSpec> {
        let parts = TaskParts {
            task_id: dataset_id.to_owned(),
            dataset_id: dataset_id.to_owned(),
            own_steps: None,
            metrics: inherited.metrics.to_vec(),
            settings: TaskSettings::default(),
            spans: TaskSpans { entry: span, dataset_id: span },
        };
        parts.build("", inherited, problems)
    }
}

struct TaskParts {
    task_id: String,
    dataset_id: String,
    own_steps: Option<Steps>,
    metrics: Vec<MetricSpec>,
    settings: TaskSettings,
    spans: TaskSpans,
}

impl TaskParts {
    fn build(self, path: &str, from: &TaskDefaults<'_>, problems: &mut Problems) -> Option<TaskSpec> {
        let template = from.template;
        let (own, inherited) = (self.settings, &template.settings);
        let failure_policy = own.failure_policy.or(inherited.failure_policy).or(from.failure_policy);
        let Some(steps) = self.own_steps.or_else(|| template.steps.clone()) else {
            if !problems.has_errors() {
                let message = format!("the task `{}` has no steps", self.task_id);
                problems
                    .error(self.spans.entry, path, message)
                    .help("give it `steps`, or put them into `custom`");
            }
            return None;
        };
        let lacks_metrics = self.metrics.is_empty() && !from.are_metrics_misspelt;
        if steps.auto_eval && lacks_metrics && !problems.has_errors() {
            let message =
                format!("the task `{}` has the step `auto_eval`, but there are no metrics", self.task_id);
            problems.error(self.spans.entry, path, message).help("add `metrics`, or remove the step");
        }
        Some(TaskSpec {
            task_id: self.task_id,
            dataset_id: self.dataset_id,
            metrics: if steps.auto_eval { self.metrics } else { Vec::new() },
            steps,
            max_samples: own.max_samples.or(inherited.max_samples),
            max_inflight: own.max_inflight.or(inherited.max_inflight),
            concurrency: own.concurrency.or(inherited.concurrency),
            mode: own.mode.or(inherited.mode).unwrap_or_default(),
            prefetch_factor: own.prefetch_factor.or(inherited.prefetch_factor).unwrap_or(PREFETCH),
            shuffle: own.shuffle.or(inherited.shuffle),
            shuffle_seed: own.shuffle_seed.or(inherited.shuffle_seed),
            failure_policy: failure_policy.unwrap_or_default(),
            sampling_params: own.sampling_params.over(&inherited.sampling_params),
            min_coverage: own.min_coverage.or(inherited.min_coverage).unwrap_or(0.95),
            score_outcomes: own
                .score_outcomes
                .or_else(|| inherited.score_outcomes.clone())
                .unwrap_or_default(),
            repeat: own.repeat.or(inherited.repeat).unwrap_or(1),
            slices: own.slices.or_else(|| inherited.slices.clone()).unwrap_or_default(),
            cluster_by: own.cluster_by.or_else(|| inherited.cluster_by.clone()),
            spans: self.spans,
        })
    }
}
