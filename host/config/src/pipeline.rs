//! The whole configuration, assembled from its parts and validated.

mod checks;

use crate::document_limits::check_inherited;
use crate::elements::backend::BackendSpec;
use crate::elements::budget::BudgetSpec;
use crate::elements::cache::CacheSpec;
use crate::elements::dataset::{DatasetSpec, keep_hub_texts};
use crate::elements::embed_step::EmbedStep;
use crate::elements::gate::GateSpec;
use crate::elements::judge_step::JudgeSpec;
use crate::elements::metric::MetricSpec;
use crate::elements::plugin::PluginSpec;
use crate::elements::pricing::{PriceSpec, PriceTarget};
use crate::elements::prompt::PromptSpec;
use crate::elements::role::{RoleAdapterSpec, RoleType};
use crate::elements::support_step::{SupportStep, ToolLoopSpec};
use crate::elements::task::{FailurePolicy, TaskDefaults, TaskSpec, Template};
pub use crate::expand::Environment;
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::overrides;
use crate::parse::{expand_node, parse};
use crate::permissions::Permissions;
use crate::problems::Problems;
use crate::redacted::{self, RedactedValue};
use crate::resources::{Purpose, Resources};
use crate::secret_marking;
use crate::short_form::{self, API_VERSION};
use crate::source::Span;
use gage_core::SamplingParams;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A configuration in which every reference resolves and every value is in bounds.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// The name of the configuration.
    pub name: Option<String>,
    /// Third-party components.
    pub plugins: Vec<PluginSpec>,
    /// Sources of rows.
    pub datasets: Vec<DatasetSpec>,
    /// The backends that answer requests.
    pub backends: Vec<Arc<BackendSpec>>,
    /// The roles of the run.
    pub role_adapters: Vec<Arc<RoleAdapterSpec>>,
    /// Request templates.
    pub prompts: Vec<PromptSpec>,
    /// The default metrics of tasks.
    pub metrics: Vec<MetricSpec>,
    /// The tasks; at least one.
    pub tasks: Vec<Arc<TaskSpec>>,
    /// Requirements against a baseline.
    pub gate: Vec<GateSpec>,
    /// Number of tasks that run in parallel; default 1.
    pub task_parallelism: usize,
    /// Default effect of a failed sample on its task; `fail_fast` here ends the whole run.
    pub failure_policy: Option<FailurePolicy>,
    /// Budget of the run.
    pub budget: BudgetSpec,
    /// Cache of model answers; `None` if answers are not cached.
    pub cache: Option<CacheSpec>,
    /// Token prices.
    pub pricing: Vec<PriceSpec>,
    /// The document after expansion and overrides, as JSON that holds no secret.
    pub document: serde_json::Value,
    /// Folder of the suite's file, as `${config_dir}` is written in the document.
    pub config_dir: String,
    /// Redacted values of the document that may change a figure.
    pub redacted: Vec<RedactedValue>,
    /// What the configuration uses outside its text, and may use.
    pub resources: Resources,
}

impl PipelineConfig {
    /// Returns true if a redacted value could reach Samples, model replies, or scores. All values outside the
    /// settings of backends count; those settings only control requests to a model.
    pub fn shows_secrets_to_samples(&self) -> bool {
        self.redacted.iter().any(RedactedValue::may_reach_samples)
    }

    /// Returns the dataset of a task.
    pub fn dataset_of(&self, task: &TaskSpec) -> Option<&DatasetSpec> {
        self.datasets.iter().find(|dataset| dataset.dataset_id == task.dataset_id)
    }

    /// Returns the role that a task's inference step asks.
    pub fn inference_role_of(&self, task: &TaskSpec) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_of(task.steps.inference.adapter_id.as_deref(), RoleType::DutModel)
    }

    /// Returns the role of a judge.
    pub fn judge_role_of(&self, judge: &JudgeSpec) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_of(judge.adapter_id.as_deref(), RoleType::JudgeModel)
    }

    /// Returns the name of a judge in results: its own, or else that of its role.
    pub fn judge_id_of(&self, judge: &JudgeSpec) -> Option<String> {
        judge.judge_id.clone().or_else(|| Some(self.judge_role_of(judge)?.adapter_id.clone()))
    }

    /// Returns the role of a support step.
    pub fn support_role_of(&self, step: &SupportStep) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_of(step.adapter_id.as_deref(), RoleType::ContextProvider)
    }

    /// Returns the role whose backend computes the embeddings of a step `embed`.
    pub fn embed_role_of(&self, step: &EmbedStep) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_of(step.adapter_id.as_deref(), RoleType::HelperModel)
    }

    /// Returns the role that answers the tool calls of a step.
    pub fn tool_role_of(&self, tools: &ToolLoopSpec) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_of(tools.adapter_id.as_deref(), RoleType::ToolProvider)
    }

    fn role_of(&self, adapter_id: Option<&str>, usual: RoleType) -> Option<&Arc<RoleAdapterSpec>> {
        self.role_adapters.iter().find(|role| match adapter_id {
            Some(adapter_id) => role.adapter_id == adapter_id,
            None => role.role_type == usual,
        })
    }

    /// Returns the roles that the steps of a task ask: the model under test, then the support, embedding and judge
    /// roles.
    pub fn roles_of(&self, task: &TaskSpec) -> Vec<&Arc<RoleAdapterSpec>> {
        let steps = &task.steps;
        let judges = steps.judge.iter().flat_map(|step| &step.judges);
        self.inference_role_of(task)
            .into_iter()
            .chain(steps.support.iter().filter_map(|step| self.support_role_of(step)))
            .chain(steps.inference.tools.iter().filter_map(|tools| self.tool_role_of(tools)))
            .chain(steps.embed.iter().filter_map(|step| self.embed_role_of(step)))
            .chain(judges.filter_map(|judge| self.judge_role_of(judge)))
            .collect()
    }

    /// Returns the backend of a role.
    pub fn backend_of(&self, role: &RoleAdapterSpec) -> Option<&Arc<BackendSpec>> {
        self.backends.iter().find(|backend| backend.backend_id == role.backend_id)
    }

    /// Returns the sampling parameters of a task, before those of a Sample: the task's override those of the role,
    /// which override those of the backend.
    pub fn sampling_params_of(&self, task: &TaskSpec) -> SamplingParams {
        let own = task.sampling_params.clone();
        let Some(role) = self.inference_role_of(task) else { return own };
        let params = own.over(&role.sampling_params);
        match self.backend_of(role) {
            Some(backend) => params.over(backend.default_params()),
            None => params,
        }
    }

    /// Returns the sampling parameters of a task that its backend sends.
    pub fn sent_params_of(&self, task: &TaskSpec) -> SamplingParams {
        let params = self.sampling_params_of(task);
        let backend = self.inference_role_of(task).and_then(|role| self.backend_of(role));
        backend.map_or(params.clone(), |backend| backend.sent(params))
    }

    /// Returns the price of a backend's tokens: by its id, or else by its model.
    pub fn price_of(&self, backend: &BackendSpec) -> Option<&PriceSpec> {
        let of = |wanted: PriceTarget| self.pricing.iter().find(|price| price.of == wanted);
        of(PriceTarget::Backend(backend.backend_id.clone()))
            .or_else(|| of(PriceTarget::Model(backend.model()?.to_owned())))
    }

    /// Returns the prompt of a role.
    pub fn prompt_of(&self, role: &RoleAdapterSpec) -> Option<&PromptSpec> {
        let prompt_id = role.prompt_id.as_deref()?;
        self.prompts.iter().find(|prompt| prompt.prompt_id == prompt_id)
    }
}

/// Reads a configuration from a text.
///
/// `name` identifies the text in messages; `overrides` are `key=value` as on the command line. All errors and
/// warnings are in `problems`. If they contain an error, the result is partial and only good for finding further
/// errors.
pub fn load(
    name: &str,
    text: &str,
    overrides: &[String],
    environment: &Environment<'_>,
) -> (Option<PipelineConfig>, Problems) {
    let mut problems = Problems::default();
    let root = parse_document(name, text, Some(environment), &mut problems);
    let config =
        root.and_then(|root| load_document(root, overrides, environment, Purpose::Run, &mut problems));
    (config, problems)
}

/// Reads a configuration for its datasets alone, like [`load`]; the tasks may be missing.
pub fn load_datasets(
    name: &str,
    text: &str,
    overrides: &[String],
    environment: &Environment<'_>,
) -> (Option<PipelineConfig>, Problems) {
    let mut problems = Problems::default();
    let root = parse_document(name, text, Some(environment), &mut problems);
    let config =
        root.and_then(|root| load_document(root, overrides, environment, Purpose::Datasets, &mut problems));
    (config, problems)
}

/// Reads the `gate` of a text that holds it alone, or of a whole suite. Nothing else of the suite is checked:
/// variables elsewhere need not be set.
pub fn load_gate(
    name: &str,
    text: &str,
    environment: &Environment<'_>,
    permissions: &Permissions,
) -> (Option<Vec<GateSpec>>, Problems) {
    let mut problems = Problems::restricted(permissions.clone());
    let number = problems.sources.add(name, text);
    let gate = parse(number, None, &mut problems).and_then(|mut root| {
        if let NodeValue::Map(entries) = &mut root.value {
            for entry in entries.iter_mut().filter(|entry| entry.key == "gate") {
                expand_node(&mut entry.node, environment, &mut problems);
            }
        }
        problems.check_variables(&root);
        let mut table = MappingReader::open(&root, "", &mut problems)?;
        table.required("gate", &mut problems);
        let gate = GateSpec::read_list(&mut table, &mut problems);
        if let (Some(node), true) = (table.get("gate"), gate.is_empty() && !problems.has_errors()) {
            problems.error(node.span, "gate", "the gate is empty").help("name at least one metric");
        }
        if root.get("kind").is_none() {
            table.finish(&mut problems);
        }
        Some(gate)
    });
    if gate.is_none() && !problems.has_errors() {
        problems.error(Span { source: number, start: 0, end: 0 }, "", "the file is empty");
    }
    (gate.filter(|_| !problems.has_errors()), problems)
}

/// Reads a YAML document of any kind. Without an environment its `${…}` stay unchanged, and an unquoted value that
/// contains one has its text in [`Node::plain`].
///
/// Problems are added to `problems`, under the name `name`.
pub fn parse_document(
    name: &str,
    text: &str,
    environment: Option<&Environment<'_>>,
    problems: &mut Problems,
) -> Option<Node> {
    let number = problems.sources.add(name, text);
    let root = parse(number, environment, problems);
    if root.is_none() && !problems.has_errors() {
        problems.error(Span { source: number, start: 0, end: 0 }, "", "the configuration is empty");
    }
    let root = root.filter(|root| secret_marking::note(root, problems));
    if let Some(root) = &root {
        problems.check_variables(root);
    }
    root
}

/// Reads a configuration from a document that was assembled from others, whose texts are in `problems`. Returns `None` if
/// it uses something that it may not use: nothing that it names is then opened.
pub fn load_document(
    mut root: Node,
    overrides: &[String],
    environment: &Environment<'_>,
    purpose: Purpose,
    problems: &mut Problems,
) -> Option<PipelineConfig> {
    let (choices, others): (Vec<&String>, Vec<&String>) =
        overrides.iter().partition(|text| short_form::is_choice(text));
    for text in choices {
        short_form::apply_choice(&mut root, text, environment, problems);
    }
    match purpose {
        Purpose::Run => short_form::keep_one(&mut root, problems),
        // No model is asked, so any of them will do.
        Purpose::Datasets | Purpose::Plugins | Purpose::Requests => short_form::keep_first(&mut root),
    }
    short_form::rewrite(&mut root, Some(environment), problems);
    for text in others {
        overrides::apply(&mut root, text, environment, problems);
    }
    short_form::add_defaults(&mut root, problems);
    keep_hub_texts(&mut root);
    let mut config = read(&root, purpose, problems)?;
    if !problems.check_resources(purpose) {
        return None;
    }
    config.config_dir.clone_from(&environment.config_dir);
    config.resources = problems.resources.clone();
    Some(config)
}

fn read(root: &Node, purpose: Purpose, problems: &mut Problems) -> Option<PipelineConfig> {
    // Marks secrets again, for those in overrides and parameters.
    if !secret_marking::note(root, problems) {
        return None;
    }
    let mut table = MappingReader::open(root, "", problems)?;
    read_head(&mut table, problems);
    let name =
        table.get("metadata").and_then(|node| node.get("name")).and_then(Node::as_text).map(str::to_owned);
    let plugins = table.read_all("plugins", problems, PluginSpec::read);
    let datasets = table.read_all("datasets", problems, DatasetSpec::read);
    let mut backends = table.read_all("backends", problems, BackendSpec::read);
    let roles = table.read_all("role_adapters", problems, RoleAdapterSpec::read);
    let (role_adapters, inline): (Vec<RoleAdapterSpec>, Vec<Option<BackendSpec>>) = roles.into_iter().unzip();
    let role_adapters = role_adapters.into_iter().map(Arc::new).collect();
    backends.extend(inline.into_iter().flatten());
    let backends = backends.into_iter().map(Arc::new).collect();
    let prompts = table.read_all("prompts", problems, PromptSpec::read);
    let metrics = MetricSpec::read_list(&mut table, "metrics", problems);
    let template = read_template(&mut table, problems);
    let failure_policy = FailurePolicy::read(&mut table, problems);
    let are_metrics_misspelt = table.is_misspelt("metrics");
    let inherited =
        TaskDefaults { template: &template, metrics: &metrics, are_metrics_misspelt, failure_policy };
    let listed = table.list("tasks", problems);
    let defaults = ["metrics", "custom", "builtin"].into_iter().filter_map(|key| root.get(key));
    let task_count = if listed.is_empty() { datasets.len() } else { listed.len() };
    if let Err(message) = check_inherited(task_count, defaults) {
        problems.error(root.span, "tasks", message).help("write fewer tasks, or other metrics into each");
        return None;
    }
    let mut tasks: Vec<_> = listed
        .iter()
        .filter_map(|(node, path)| TaskSpec::read(node, path.clone(), &inherited, problems).map(Arc::new))
        .collect();
    if listed.is_empty() && purpose != Purpose::Datasets {
        tasks = implied_tasks(&datasets, root.span, &inherited, problems);
    }
    let gate = GateSpec::read_list(&mut table, problems);
    let task_parallelism = table.integer("task_parallelism", 1..=1_000, problems);
    let budget = BudgetSpec::read(&mut table, problems);
    let cache = CacheSpec::read(&mut table, problems);
    let pricing = table.read_all("pricing", problems, PriceSpec::read);
    table.finish(problems);

    let mut document = root.to_public_json();
    gage_secrets::redact_value(&mut document);
    checks::check_names(root, &document, problems);
    let redacted = redacted::redacted_values(&root.to_json(), &document);
    let config = PipelineConfig {
        name,
        plugins,
        datasets,
        backends,
        role_adapters,
        prompts,
        metrics,
        tasks,
        gate,
        task_parallelism: task_parallelism.and_then(|number| usize::try_from(number).ok()).unwrap_or(1),
        failure_policy,
        budget,
        cache,
        pricing,
        document,
        config_dir: String::new(),
        redacted,
        resources: Resources::default(),
    };
    checks::check_ids(&config, problems);
    checks::check_references(&config, root, problems);
    Some(config)
}

fn read_head(table: &mut MappingReader<'_>, problems: &mut Problems) {
    // They were rewritten; they are known keys all the same.
    for key in ["model", "answers", "prompt"] {
        table.get(key);
    }
    table.required("api_version", problems);
    table.choice("api_version", &[(API_VERSION, ())], problems);
    table.required("kind", problems);
    table.choice("kind", &[("PipelineConfig", ())], problems);
    table.free_map("metadata", problems);
}

fn read_template(table: &mut MappingReader<'_>, problems: &mut Problems) -> Template {
    let custom = table.get("custom");
    let builtin = table.get("builtin");
    if let (Some(_), Some(node)) = (custom, builtin) {
        problems.error(node.span, "builtin", "a configuration has either `custom` or `builtin`, not both");
    }
    match (custom, builtin) {
        (Some(node), _) => Template::read(node, "custom", problems).unwrap_or_default(),
        (None, Some(node)) => Template::read(node, "builtin", problems).unwrap_or_default(),
        (None, None) => Template::default(),
    }
}

/// Returns the tasks of a configuration without `tasks`: one for each dataset, with its name.
fn implied_tasks(
    datasets: &[DatasetSpec],
    span: Span,
    inherited: &TaskDefaults<'_>,
    problems: &mut Problems,
) -> Vec<Arc<TaskSpec>> {
    if datasets.is_empty() && !problems.has_errors() {
        problems.error(span, "datasets", "there is no dataset").help("add an entry to `datasets`");
    }
    let mut tasks = Vec::with_capacity(datasets.len());
    let mut ids = BTreeSet::new();
    // Another check reports an id that occurs twice.
    for dataset in datasets.iter().filter(|dataset| ids.insert(dataset.dataset_id.as_str())) {
        // An error in one of them is in all of them.
        let Some(task) = TaskSpec::of_dataset(&dataset.dataset_id, dataset.spans.entry, inherited, problems)
        else {
            break;
        };
        tasks.push(Arc::new(task));
    }
    tasks
}
