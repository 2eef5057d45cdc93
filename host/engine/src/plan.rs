//! The plan of a run: everything it needs except the models. Components are loaded, parameters and files checked, and
//! prompts compiled. All problems are found in one pass.

mod backends;
mod check_inputs;
mod dataset;
mod embed;
mod metric;
mod model_capabilities;
pub(crate) mod model_files;
mod plugin_use;
mod prompt_provenance;
mod steps;
mod support;
mod templates;

pub use dataset::PlannedDataset;
pub use embed::PlannedEmbed;
pub(crate) use metric::reads_clock;
pub use steps::{PlannedExtractor, PlannedJudge, PlannedJudges};
pub use support::{PlannedFollowUp, PlannedSupportRole, PlannedTools};

use crate::progress::MeanMetric;
use crate::sample::answer_outcome::awaited_tool;
use backends::{check_backends, check_request};
use check_inputs::{check_budget, check_gate, check_recorded_inputs, check_required_inputs};
use gage_config::{
    BackendKind, BackendSpec, ContinuationText, DatasetSpec, FailurePolicy, PipelineConfig, PluginReference,
    PluginSource, PluginSpec, Problems, RequestKind, RoleAdapterSpec, TaskSpec,
};
use gage_core::{ModelOutput, Object, OptionDisplay, Outcome, Root, SamplingParams};
use gage_plugin::{Aggregator, Input, Metric, Registry, RegistryError};
use gage_record::{ErrorNote, Manifest, Stage};
use gage_template::PromptRenderer;
use metric::{check_attempts, plan_metric};
use plugin_use::report_registry;
use std::collections::HashMap;
use std::sync::Arc;
use templates::{compile_prompt, plan_prompt};

/// A metric of a task, ready to score.
pub struct PlannedMetric {
    /// The name in results.
    pub metric_id: String,
    /// The suite's reference to the component that computes it.
    pub implementation: PluginReference,
    /// The aggregation of its scores: one of the host's, or the name of a component's.
    pub aggregation: String,
    /// The component that aggregates the scores. `None` if the host does.
    pub aggregator: Option<Arc<Aggregator>>,
    /// True if it reads a clock, so that its results vary from run to run.
    pub is_timing: bool,
    /// The scorer.
    pub metric: Metric,
}

/// A task, ready to run.
pub struct PlannedTask {
    /// The settings.
    pub spec: Arc<TaskSpec>,
    /// The dataset, which other tasks may share.
    pub dataset: Arc<PlannedDataset>,
    /// The role under test.
    pub role: Arc<RoleAdapterSpec>,
    /// Default sampling parameters if a Sample sets none: task over role over backend.
    pub sampling_params: SamplingParams,
    /// The backend, which decides which parameters are sent.
    pub(crate) backend: Arc<BackendSpec>,
    /// True if a failed sample that ends the task also ends the run.
    pub ends_run: bool,
    /// Renderer of requests. `None` to send the sample's own messages.
    pub prompt: Option<Arc<PromptRenderer>>,
    /// The roles that supply context for the model, in order.
    pub support: Vec<Arc<PlannedSupportRole>>,
    /// The roles that work on the model's answer, in order.
    pub follow_ups: Vec<PlannedFollowUp>,
    /// The role that answers the model's tool calls.
    pub tools: Option<PlannedTools>,
    /// The role that embeds answers and their references.
    pub embed: Option<Arc<PlannedEmbed>>,
    /// The judges of answers.
    pub judges: Option<PlannedJudges>,
    /// Scoring of the answers.
    pub scoring: Scoring,
}

impl PlannedTask {
    /// Returns the roles that support the model: those of its support steps, and the one that answers its tool calls.
    pub fn support_roles(&self) -> impl Iterator<Item = &Arc<PlannedSupportRole>> {
        let follow_ups = self.follow_ups.iter().map(|follow_up| &follow_up.support_role);
        self.support.iter().chain(self.tools.iter().map(|tools| &tools.support_role)).chain(follow_ups)
    }

    /// Returns the error for a reply that waits for the results of its tool calls, if nothing answers the calls and nothing
    /// reads them.
    pub(crate) fn unanswered_calls(&self, output: &ModelOutput) -> Option<ErrorNote> {
        let name = awaited_tool(output)?;
        let is_scored = self.spec.score_outcomes.contains(&Outcome::EmptyOutput);
        let is_judged = self.judges.as_ref().is_some_and(|judges| judges.reads_calls);
        if is_scored || is_judged || self.scoring.reads_calls() {
            return None;
        }
        let message = format!(
            "the model called the tool `{name}` and gave no answer, and nothing answers its calls: set `tools` of the \
             step `inference` to a role of the type tool_provider, or score the calls with `trajectory_match`"
        );
        Some(ErrorNote {
            stage: Stage::Inference,
            kind: "unanswered_tool_call".to_owned(),
            message,
            pointer: None,
        })
    }

    /// Returns the prompts of the roles, each role once: the model, its support roles and its judges.
    pub(crate) fn prompts(&self) -> Vec<(&RoleAdapterSpec, &PromptRenderer)> {
        let of_support_roles =
            self.support_roles().map(|support_role| (&support_role.role, &support_role.prompt));
        let judges = self.judges.iter().flat_map(|judges| &judges.judges);
        let all = [(&self.role, &self.prompt)].into_iter().chain(of_support_roles);
        let mut found: Vec<(&RoleAdapterSpec, &PromptRenderer)> = Vec::new();
        for (role, prompt) in all.chain(judges.map(|judge| (&judge.role, &judge.prompt))) {
            if let Some(prompt) = prompt
                && !found.iter().any(|(known, _)| known.adapter_id == role.adapter_id)
            {
                found.push((role, prompt));
            }
        }
        found
    }
}

/// Returns whether inputs read the model's tool calls.
pub(crate) fn reads_calls(inputs: &[Input]) -> bool {
    let mut paths = inputs.iter().flat_map(|input| &input.paths);
    paths.any(|path| {
        let keys = [None, Some("tool_calls"), Some("trajectory")];
        path.root() == Root::ModelOutput && keys.contains(&path.first_key())
    })
}

/// Scoring of the answers of a task.
pub struct Scoring {
    /// The task.
    pub task_id: String,
    /// Extractors of the final answer from the model's output. The first that finds one wins.
    pub extractors: Vec<PlannedExtractor>,
    /// Metrics that score the answers.
    pub metrics: Vec<PlannedMetric>,
    /// The version of the prompts and components that the answers depend on. Empty if there are none.
    pub prompt_version: String,
    /// True if scored data may contain secrets of the suite, which are then redacted.
    pub redacts_secrets: bool,
    /// True if a reply that only calls tools is scored as an empty answer: the suite scores those, or the host answered the
    /// calls up to a limit.
    pub scores_calls: bool,
}

impl PlannedTask {
    /// Returns true if the answers come from a file, so that no request is built.
    pub(crate) fn has_given_answers(&self) -> bool {
        matches!(self.backend.kind, BackendKind::Answers(_))
    }

    /// Returns the renderer of requests. `None` if no request is built, or if the sample's own messages are sent.
    pub(crate) fn sent_prompt(&self) -> Option<&Arc<PromptRenderer>> {
        self.prompt.as_ref().filter(|_| !self.has_given_answers())
    }
}

impl Scoring {
    /// Returns whether a metric or an extractor reads the model's tool calls.
    pub(crate) fn reads_calls(&self) -> bool {
        let of_metrics = self.metrics.iter().any(|planned| reads_calls(planned.metric.inputs()));
        of_metrics || self.extractors_read_calls()
    }

    fn extractors_read_calls(&self) -> bool {
        self.extractors.iter().any(|planned| reads_calls(planned.extractor.inputs()))
    }

    /// Returns whether only some of the metrics read the model's tool calls. The others have no answer to read in a reply
    /// that waits for tools.
    pub(crate) fn finds_unanswered_calls(&self) -> bool {
        !self.scores_calls && self.reads_calls() && !self.extractors_read_calls()
    }

    /// Returns true if some metric may give scores of 0 and 1: its primary value has no other bounds, and higher is better.
    pub fn may_give_shares(&self) -> bool {
        self.metrics.iter().any(|planned| {
            let primary = planned.metric.description().values.first();
            primary.is_some_and(|value| {
                value.higher_is_better
                    && value.minimum.is_none_or(|minimum| minimum == 0.0)
                    && value.maximum.is_none_or(|maximum| maximum == 1.0)
            })
        })
    }

    /// Returns the ids of the metrics that aggregate by mean. Only for these is the mean of the scores so far the same figure
    /// as in the result.
    pub fn means(&self) -> Vec<&str> {
        let is_mean = |metric: &&PlannedMetric| metric.aggregation == "mean";
        self.metrics.iter().filter(is_mean).map(|metric| metric.metric_id.as_str()).collect()
    }

    /// Returns the first of [`Scoring::means`], with the bounds of its scores.
    pub(crate) fn first_mean(&self) -> Option<MeanMetric<'_>> {
        let first = self.metrics.iter().find(|metric| metric.aggregation == "mean")?;
        let value = first.metric.description().values.first();
        let minimum = value.and_then(|value| value.minimum).unwrap_or(f64::NEG_INFINITY);
        let maximum = value.and_then(|value| value.maximum).unwrap_or(f64::INFINITY);
        Some(MeanMetric { metric_id: &first.metric_id, bounds: [minimum, maximum] })
    }

    /// Loads the extractors and metrics of a task, and checks their parameters.
    fn new(task: &TaskSpec, registry: &Registry, problems: &mut Problems) -> Option<Scoring> {
        let metrics: Vec<Option<PlannedMetric>> =
            task.metrics.iter().map(|metric| plan_metric(metric, registry, problems)).collect();
        let extractors = steps::plan_extractors(task, registry, problems);
        let metrics = metrics.into_iter().collect::<Option<Vec<_>>>()?;
        let prompt_version = String::new();
        let task_id = task.task_id.clone();
        Some(Scoring {
            task_id,
            extractors: extractors?,
            metrics,
            prompt_version,
            redacts_secrets: false,
            scores_calls: task.score_outcomes.contains(&Outcome::EmptyOutput)
                || task.steps.inference.tools.is_some(),
        })
    }
}

/// Everything that a run needs except the models.
pub struct Plan {
    /// The configuration.
    pub config: PipelineConfig,
    /// The tasks, in order.
    pub tasks: Vec<Arc<PlannedTask>>,
}

impl Plan {
    /// Checks a configuration against its environment and makes a plan of it.
    ///
    /// Opens files and loads components, but loads no model and sends nothing over a network. Returns `None` if `problems`
    /// holds an error afterwards.
    pub fn new(config: PipelineConfig, registry: &mut Registry, problems: &mut Problems) -> Option<Plan> {
        add_plugins(&config, registry, problems);
        let registry = &*registry;
        check_backends(&config, registry, problems);
        if config.tasks.is_empty() {
            // No task could be parsed, which is already an error. Check the metrics anyway.
            for metric in &config.metrics {
                drop(plan_metric(metric, registry, problems));
            }
        }
        let mut datasets = HashMap::new();
        let planned = |task| plan_task(&config, task, registry, &mut datasets, problems).map(Arc::new);
        let tasks: Vec<Arc<PlannedTask>> = config.tasks.iter().filter_map(planned).collect();
        let all = tasks.iter().map(AsRef::as_ref);
        model_capabilities::check_requested_capabilities(&config, all, problems);
        if problems.has_errors() {
            return None;
        }
        check_budget(&config, problems);
        let scorings: Vec<&Scoring> = tasks.iter().map(|task| &task.scoring).collect();
        check_gate(&config, &scorings, problems);
        if problems.has_errors() {
            return None;
        }
        warn_of_conflicts(&config, registry, problems);
        warn_of_unused(&config, problems);
        Some(Plan { config, tasks })
    }

    /// Prepares the datasets of a configuration, or one of them, and checks its prompts. Does nothing else.
    pub fn datasets(
        config: &PipelineConfig,
        dataset_id: Option<&str>,
        registry: &mut Registry,
        problems: &mut Problems,
    ) -> Vec<Arc<PlannedDataset>> {
        add_plugins(config, registry, problems);
        for prompt in &config.prompts {
            drop(compile_prompt(prompt, &Object::new(), registry, problems));
        }
        let chosen = |spec: &&DatasetSpec| dataset_id.is_none_or(|id| spec.dataset_id == id);
        let planned = config.datasets.iter().filter(chosen);
        planned.filter_map(|spec| PlannedDataset::new(spec, registry, problems).map(Arc::new)).collect()
    }

    /// Prepares what the requests of each task are made of: its prompts and its judges. Opens no dataset and no model.
    /// `problems` has an error for each prompt that is invalid and for each judge whose component is missing; the task is
    /// then without it.
    pub fn requests(config: PipelineConfig, registry: &mut Registry, problems: &mut Problems) -> Plan {
        add_plugins(&config, registry, problems);
        let task = |task| Some(Arc::new(request_task(&config, task, registry, problems)?));
        let tasks = config.tasks.iter().filter_map(task).collect();
        Plan { config, tasks }
    }

    /// Prepares the scoring of each task, without any dataset or model.
    ///
    /// `answers` is the manifest of the run that holds the answers. If `asked`, the suite of that run, is given, checks that
    /// the run produced all inputs of the metrics. Returns `None` if `problems` holds an error afterwards.
    pub fn scoring(
        config: &PipelineConfig,
        answers: &Manifest,
        asked: Option<&PipelineConfig>,
        registry: &mut Registry,
        problems: &mut Problems,
    ) -> Option<Vec<Scoring>> {
        add_plugins(config, registry, problems);
        let scoring = |task: &Arc<TaskSpec>| {
            let scoring = Scoring::new(task, registry, problems)?;
            let of_task = asked.and_then(|asked| {
                let found = asked.tasks.iter().find(|one| one.task_id == task.task_id);
                found.map(|found| (asked, found))
            });
            if let Some((asked, found)) = of_task {
                check_recorded_inputs(task, asked, found, &scoring, problems);
            }
            let prompt_version = answers.prompt_versions.get(&task.task_id).cloned().unwrap_or_default();
            Some(Scoring { prompt_version, redacts_secrets: config.shows_secrets_to_samples(), ..scoring })
        };
        let all: Vec<Option<Scoring>> = config.tasks.iter().map(scoring).collect();
        check_gate(config, &all.iter().flatten().collect::<Vec<_>>(), problems);
        if problems.has_errors() { None } else { all.into_iter().collect() }
    }

    /// Returns the backends that the tasks need, each once, including those that components may ask.
    pub fn backends(&self) -> Vec<&Arc<BackendSpec>> {
        let mut needed: Vec<&Arc<BackendSpec>> = Vec::new();
        let mut roles: Vec<&Arc<RoleAdapterSpec>> =
            self.tasks.iter().flat_map(|task| self.config.roles_of(&task.spec)).collect();
        while let Some(role) = roles.pop() {
            let Some(backend) = self.config.backend_of(role) else { continue };
            if !needed.iter().any(|one| one.backend_id == backend.backend_id) {
                needed.push(backend);
                roles.extend(granted_roles(&self.config, backend));
            }
        }
        self.config
            .backends
            .iter()
            .filter(|one| needed.iter().any(|need| need.backend_id == one.backend_id))
            .collect()
    }
}

fn plan_task(
    config: &PipelineConfig,
    task: &Arc<TaskSpec>,
    registry: &Registry,
    datasets: &mut HashMap<String, Option<Arc<PlannedDataset>>>,
    problems: &mut Problems,
) -> Option<PlannedTask> {
    // Check each part even if another is missing, so that all errors are reported at once.
    let scoring = Scoring::new(task, registry, problems);
    let judges = steps::plan_judges(config, task, registry, problems);
    let embed = embed::plan_embed(config, task, problems);
    let support_roles = support::plan_support(config, task, registry, problems);
    let tools = support::plan_tools(config, task, registry, problems);
    let role = config.inference_role_of(task);
    let prompt = role.and_then(|role| plan_prompt(config, role, registry, problems));
    let backend = role.and_then(|role| config.backend_of(role));
    if let Some(backend) = backend {
        check_request(task, backend, problems);
    }
    if let Some(scoring) = &scoring {
        check_required_inputs(config, task, scoring, problems);
        check_attempts(config, task, &scoring.metrics, problems);
    }
    let dataset = config.dataset_of(task)?;
    // A dataset that several tasks share is checked once.
    let planned = datasets
        .entry(dataset.dataset_id.clone())
        .or_insert_with(|| PlannedDataset::new(dataset, registry, problems).map(Arc::new));
    let dataset = planned.clone();
    let (support, follow_ups) = partition_support(task, support_roles?);
    let role = role?;
    let backend = config.backend_of(role)?;
    let mut planned = PlannedTask {
        spec: Arc::clone(task),
        dataset: dataset?,
        role: Arc::clone(role),
        sampling_params: config.sampling_params_of(task),
        backend: Arc::clone(backend),
        ends_run: config.failure_policy == Some(FailurePolicy::FailFast),
        prompt: prompt?,
        support,
        follow_ups,
        tools: tools?,
        embed: embed?,
        judges: judges?,
        scoring: scoring?,
    };
    let reads_row = planned.prompts().iter().any(|(_, prompt)| prompt.reads_row());
    planned.dataset = for_task(planned.dataset, task, reads_row);
    planned.scoring.prompt_version = prompt_provenance::version_of(&planned);
    planned.scoring.redacts_secrets = config.shows_secrets_to_samples();
    Some(planned)
}

/// Separates the roles of support steps before the request from those that work on the answer.
fn partition_support(
    task: &TaskSpec,
    roles: Vec<Arc<PlannedSupportRole>>,
) -> (Vec<Arc<PlannedSupportRole>>, Vec<PlannedFollowUp>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (step, support_role) in task.steps.support.iter().zip(roles) {
        match step.follows_inference {
            true => after.push(PlannedFollowUp { support_role, sets_answer: step.sets_answer }),
            false => before.push(support_role),
        }
    }
    (before, after)
}

/// Plans a task as far as its requests depend on it.
fn request_task(
    config: &PipelineConfig,
    task: &Arc<TaskSpec>,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<PlannedTask> {
    let role = config.inference_role_of(task)?;
    let without_component = |role: &Arc<RoleAdapterSpec>| {
        Arc::new(PlannedSupportRole { role: Arc::clone(role), prompt: None, adapter: None })
    };
    let (support, follow_ups) =
        partition_support(task, support::plan_shown_support(config, task, registry, problems));
    let tools = task.steps.inference.tools.as_ref().and_then(|bounds| {
        let support_role = without_component(config.tool_role_of(bounds)?);
        Some(PlannedTools { support_role, bounds: bounds.clone() })
    });
    let dataset = Arc::new(PlannedDataset::unread(config.dataset_of(task)?));
    Some(PlannedTask {
        spec: Arc::clone(task),
        dataset: for_task(dataset, task, false),
        role: Arc::clone(role),
        sampling_params: config.sampling_params_of(task),
        backend: Arc::clone(config.backend_of(role)?),
        ends_run: false,
        prompt: plan_prompt(config, role, registry, problems)?,
        support,
        follow_ups,
        tools,
        embed: None,
        judges: steps::plan_judges(config, task, registry, problems).flatten(),
        scoring: Scoring {
            task_id: task.task_id.clone(),
            extractors: Vec::new(),
            metrics: Vec::new(),
            prompt_version: String::new(),
            redacts_secrets: config.shows_secrets_to_samples(),
            scores_calls: false,
        },
    })
}

/// Returns a dataset as a task uses it: with the task's shuffle settings, and with the row in each Sample if a prompt
/// reads it. Requests leave out the options if the likelihood of their texts is measured.
fn for_task(dataset: Arc<PlannedDataset>, task: &TaskSpec, keeps_row: bool) -> Arc<PlannedDataset> {
    let spec = &dataset.spec;
    let (shuffle, seed) = (task.shuffle.unwrap_or(spec.shuffle), task.shuffle_seed.unwrap_or(spec.seed));
    let step = &task.steps.inference;
    let option_display = match (step.request, step.continuation) {
        (RequestKind::Generate, _) | (RequestKind::Loglikelihood, ContinuationText::Id) => {
            dataset.option_display
        }
        (RequestKind::Loglikelihood | RequestKind::RollingLoglikelihood, _) => OptionDisplay::AsWritten,
    };
    let is_same = (shuffle, seed, option_display) == (spec.shuffle, spec.seed, dataset.option_display);
    if is_same && keeps_row == dataset.keeps_row {
        return dataset;
    }
    let spec = DatasetSpec { shuffle, seed, ..spec.clone() };
    Arc::new(PlannedDataset { spec, option_display, keeps_row, ..PlannedDataset::clone(&dataset) })
}

/// Loads the entries of `plugins`. Warns of packages that nothing pins.
fn add_plugins(config: &PipelineConfig, registry: &mut Registry, problems: &mut Problems) {
    for plugin in &config.plugins {
        if let Err(error) = registry.add(plugin) {
            let (span, key) = match &error {
                RegistryError::Digest { .. } => (plugin.spans.sha256, "sha256"),
                RegistryError::IdTaken { .. } => (plugin.spans.entry, "id"),
                RegistryError::Load(_) if !plugin.grants.is_empty() => (plugin.spans.grants, "grants"),
                _ => (plugin.spans.source, "source"),
            };
            report_registry(&error, span, key, &plugin.id, problems);
        }
    }
    for package in registry.package_origins() {
        let named = config.plugins.iter().find(|plugin| plugin.id == package.id);
        if let Some(plugin) = named.filter(|plugin| !plugin.is_pinned()) {
            let message = format!("{} may lead to another component tomorrow", package.source);
            problems
                .warning(plugin.spans.source, "source", message)
                .help(format!("pin this one: add `sha256: {}` to the entry", package.digest.hex()));
        }
    }
}

/// Warns of names that several plugins define. A conflict is an error only if the suite uses the name. The id of a plugin has
/// precedence over the name of a built-in member.
fn warn_of_conflicts(config: &PipelineConfig, registry: &Registry, problems: &mut Problems) {
    for plugin in &config.plugins {
        let Some(bundled) = registry.bundled_holder(&plugin.id) else { continue };
        let (id, world) = (&plugin.id, bundled.world);
        let message = format!("the plugin `{id}` is used in place of the built-in {world} of that name");
        let help = format!("give it another id; the built-in {world} is also `{}#{id}`", bundled.name);
        problems.warning(plugin.spans.entry, "id", message).help(help);
    }
    let Some(last) = config.plugins.last() else { return };
    for conflict in registry.conflicts().unwrap_or_default() {
        problems.warning(last.spans.entry, "plugins", conflict.to_string()).help = conflict.help();
    }
}

/// Returns the roles that the component of a backend may ask.
pub(crate) fn granted_roles<'c>(
    config: &'c PipelineConfig,
    backend: &BackendSpec,
) -> Vec<&'c Arc<RoleAdapterSpec>> {
    let BackendKind::CustomScript(script) = &backend.kind else { return Vec::new() };
    let granted = config
        .plugins
        .iter()
        .filter(|plugin| is_reference_to(plugin, &script.component))
        .flat_map(|plugin| &plugin.grants.llm);
    granted
        .filter_map(|grant| config.role_adapters.iter().find(|role| role.adapter_id == grant.role))
        .collect()
}

/// Returns true if a reference resolves to an entry of `plugins`, by its id or its file.
fn is_reference_to(plugin: &PluginSpec, reference: &PluginReference) -> bool {
    match reference {
        PluginReference::Name(id) | PluginReference::Member { plugin: id, .. } => plugin.id == *id,
        PluginReference::File { path, .. } => match &plugin.source {
            PluginSource::File(source) => {
                let settled = path.canonicalize();
                settled.is_ok() && settled.ok() == source.canonicalize().ok()
            }
            PluginSource::Bundled(_) | PluginSource::Registry(_) => false,
        },
    }
}

fn warn_of_unused(config: &PipelineConfig, problems: &mut Problems) {
    for role in &config.role_adapters {
        let is_used = |task: &Arc<TaskSpec>| {
            config.roles_of(task).into_iter().any(|used| used.adapter_id == role.adapter_id)
        };
        let is_granted = config
            .plugins
            .iter()
            .flat_map(|plugin| &plugin.grants.llm)
            .any(|grant| grant.role == role.adapter_id);
        if !is_granted && !config.tasks.iter().any(is_used) {
            let message = format!("the role adapter `{}` is used by no step", role.adapter_id);
            problems.warning(role.spans.entry, "role_adapters", message);
        }
    }
    for dataset in &config.datasets {
        if !config.tasks.iter().any(|task| task.dataset_id == dataset.dataset_id) {
            let message = format!("the dataset `{}` is used by no task", dataset.dataset_id);
            problems.warning(dataset.spans.entry, "datasets", message);
        }
    }
    if let Some(metric) = config.metrics.first()
        && !config.tasks.iter().any(|task| task.steps.auto_eval)
    {
        let message = "the metrics score nothing: no task has the step `auto_eval`";
        problems
            .warning(metric.span, "metrics", message)
            .help("add {step: auto_eval} to the steps, or leave the metrics out");
    }
}
