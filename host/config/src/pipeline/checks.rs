//! Consistency checks of a configuration: unique ids, valid references, and roles that steps can ask.

use super::PipelineConfig;
use crate::elements::check_unique;
use crate::elements::pricing::PriceTarget;
use crate::elements::role::{RoleAdapterSpec, RoleType};
use crate::elements::step_order::{StepKind, TOOL_ROLES};
use crate::elements::task::TaskSpec;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::ENTRY_IDS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn check_ids(config: &PipelineConfig, problems: &mut Problems) {
    unique("id", &config.plugins, |one| (one.id.as_str(), one.spans.entry), problems);
    unique("dataset_id", &config.datasets, |one| (one.dataset_id.as_str(), one.spans.entry), problems);
    unique("backend_id", &config.backends, |one| (one.backend_id.as_str(), one.span), problems);
    unique("adapter_id", &config.role_adapters, |one| (one.adapter_id.as_str(), one.spans.entry), problems);
    unique("prompt_id", &config.prompts, |one| (one.prompt_id.as_str(), one.span), problems);
    unique("task_id", &config.tasks, |one| (one.task_id.as_str(), one.spans.entry), problems);
}

fn unique<T>(what: &str, entries: &[T], id_of: impl Fn(&T) -> (&str, Span), problems: &mut Problems) {
    check_unique(what, entries.iter().map(id_of), problems);
}

/// Reports an id that does not exist.
fn report_unknown<'a>(
    (span, key): (Span, &str),
    noun: &str,
    id: &str,
    known: impl IntoIterator<Item = &'a str>,
    problems: &mut Problems,
) {
    problems.error(span, key, format!("there is no {noun} `{id}`")).known(id, known);
}

fn adapter_ids(config: &PipelineConfig) -> impl Iterator<Item = &str> {
    config.role_adapters.iter().map(|role| role.adapter_id.as_str())
}

/// Rejects a name, or a path to a field, that is a secret: both appear unredacted in locks, records and reports.
/// Paths that metrics take as parameters are only known to the metrics, so the planner checks them.
pub(super) fn check_names(root: &Node, public: &Value, problems: &mut Problems) {
    const METRIC_IDS: [&str; 2] = ["metric_id", "implementation"];
    let mut check = |noun: &str, node: Option<&Node>, public: &Value, path: String| {
        let Some(node) = node.filter(|node| node.as_text().is_some_and(|text| public != text)) else {
            return;
        };
        let spelled = public.as_str().filter(|public| public.contains("${"));
        let (what, help) = match spelled {
            Some(spelled) => (
                format!("this {noun} uses `{spelled}`, and a variable with such a name is a secret"),
                "write it out, or take it from a variable without KEY, TOKEN, SECRET or PASSWORD in its name",
            ),
            None => (format!("this {noun} contains a secret"), "write another one"),
        };
        let message = format!("{what}: {noun}s appear in locks, records and reports as they are");
        problems.error(node.span, &path, message).help(help);
    };
    let metadata = root.get("metadata").and_then(|metadata| metadata.get("name"));
    check("name", metadata, &public["metadata"]["name"], "metadata.name".to_owned());
    for (section, id_key) in ENTRY_IDS {
        let entries = root.get(section).and_then(Node::as_list).unwrap_or_default();
        for (number, entry) in entries.iter().enumerate() {
            let path = format!("{section}[{number}].{id_key}");
            check("name", entry.get(id_key), &public[section][number][id_key], path);
        }
    }
    let listed = |node: Option<&'_ Node>| node.and_then(Node::as_list).unwrap_or_default().to_vec();
    for (number, dataset) in listed(root.get("datasets")).iter().enumerate() {
        let field = dataset.get("params").and_then(|params| params.get("label_field"));
        let public = &public["datasets"][number]["params"]["label_field"];
        check("name", field, public, format!("datasets[{number}].params.label_field"));
    }
    // Keys of tasks and their template.
    let tasks = listed(root.get("tasks"));
    let tasks = tasks.iter().enumerate().map(|(number, task)| {
        (Some(task), &public["tasks"][number], format!("tasks[{number}]."), "metric_overrides")
    });
    let templates =
        ["custom", "builtin"].map(|key| (root.get(key), &public[key], format!("{key}."), "metric_overrides"));
    let whole = (Some(root), public, String::new(), "metrics");
    for (node, public, path, metrics_key) in tasks.chain(templates).chain([whole]) {
        let Some(node) = node else { continue };
        check("path", node.get("cluster_by"), &public["cluster_by"], format!("{path}cluster_by"));
        for (number, slice) in listed(node.get("slices")).iter().enumerate() {
            check("path", Some(slice), &public["slices"][number], format!("{path}slices[{number}]"));
        }
        for (number, metric) in listed(node.get(metrics_key)).iter().enumerate() {
            let public = &public[metrics_key][number];
            let path = format!("{path}{metrics_key}[{number}]");
            check("name", Some(metric), public, path.clone());
            for key in METRIC_IDS {
                check("name", metric.get(key), &public[key], format!("{path}.{key}"));
            }
        }
    }
}

/// Returns true if a list has an entry of this id. An entry that could not be read is already an error, and
/// references to it are valid.
fn is_written(root: &Node, list: &str, key: &str, id: &str) -> bool {
    let entries = root.get(list).and_then(Node::as_list).unwrap_or_default();
    entries.iter().any(|entry| entry.get(key).and_then(Node::as_text).is_some_and(|known| known == id))
}

/// Checks the references between entries, until there are too many errors to show.
pub(super) fn check_references(config: &PipelineConfig, root: &Node, problems: &mut Problems) {
    for grant in config.plugins.iter().flat_map(|plugin| &plugin.grants.llm) {
        let granted = config.role_adapters.iter().find(|role| role.adapter_id == grant.role);
        if let Some(role) = granted.filter(|role| role.backend_id.is_empty() && role.adapter.is_some()) {
            let message =
                format!("the role adapter `{}` has no backend that could be asked", role.adapter_id);
            problems.error(grant.span, "role", message).help("give it a `backend_id`, or grant another role");
        }
        if granted.is_none() {
            report_unknown((grant.span, "role"), "role adapter", &grant.role, adapter_ids(config), problems);
        }
    }
    for role in &config.role_adapters {
        if problems.is_full() {
            return;
        }
        if !role.backend_id.is_empty()
            && config.backend_of(role).is_none()
            && !is_written(root, "backends", "backend_id", &role.backend_id)
        {
            let (place, known) = (
                (role.spans.backend_id, "backend_id"),
                config.backends.iter().map(|one| one.backend_id.as_str()),
            );
            report_unknown(place, "backend", &role.backend_id, known, problems);
        }
        if let Some(prompt_id) = &role.prompt_id
            && config.prompt_of(role).is_none()
            && !is_written(root, "prompts", "prompt_id", prompt_id)
        {
            let known = config.prompts.iter().map(|prompt| prompt.prompt_id.as_str());
            report_unknown((role.spans.prompt_id, "prompt_id"), "prompt", prompt_id, known, problems);
        }
    }
    check_pricing(config, root, problems);
    check_slices(config, root, problems);
    for task in &config.tasks {
        if problems.is_full() {
            return;
        }
        if config.dataset_of(task).is_none() && !is_written(root, "datasets", "dataset_id", &task.dataset_id)
        {
            let known = config.datasets.iter().map(|dataset| dataset.dataset_id.as_str());
            let place = (task.spans.dataset_id, "dataset_id");
            report_unknown(place, "dataset", &task.dataset_id, known, problems);
        }
        check_binding(config, task, problems);
    }
    let metrics = config.tasks.iter().flat_map(|task| &task.metrics);
    let metric_ids: BTreeSet<&str> = metrics.map(|metric| metric.metric_id.as_str()).collect();
    for gate in &config.gate {
        if problems.is_full() {
            return;
        }
        gate.check(&config.tasks, &metric_ids, problems);
    }
}

/// Maximum number of pairs of a path of `slices` and a metric, over all tasks. Each pair makes a figure for each slice.
const MAX_SLICED_METRICS: usize = 10_000;

/// Checks the number of pairs of a path of `slices` and a metric.
fn check_slices(config: &PipelineConfig, root: &Node, problems: &mut Problems) {
    let pairs = config.tasks.iter().map(|task| task.slices.len().saturating_mul(task.metrics.len()));
    let pairs = pairs.fold(0, usize::saturating_add);
    if pairs > MAX_SLICED_METRICS {
        let message = format!(
            "the tasks have {pairs} pairs of a path of `slices` and a metric; up to {MAX_SLICED_METRICS} are allowed"
        );
        problems.error(root.span, "slices", message).help("name fewer paths in `slices`, or fewer metrics");
    }
}

/// Checks that each price is for a backend or a model of the suite, and is the only one for it.
fn check_pricing(config: &PipelineConfig, root: &Node, problems: &mut Problems) {
    let written = root.get("backends").and_then(Node::as_list).map_or(0, <[Node]>::len);
    // An unreadable backend may have that id, or request that model.
    let are_known = config.backends.len() >= written;
    for (place, price) in config.pricing.iter().enumerate() {
        if problems.is_full() {
            return;
        }
        let (key, name, known): (_, _, Vec<&str>) = match &price.of {
            PriceTarget::Backend(id) => (
                "backend_id",
                id,
                config.backends.iter().map(|backend| backend.backend_id.as_str()).collect(),
            ),
            PriceTarget::Model(name) => {
                ("model", name, config.backends.iter().filter_map(|backend| backend.model()).collect())
            }
        };
        if are_known && !known.contains(&name.as_str()) {
            let what = if key == "model" { "backend asks for the model" } else { "backend is called" };
            problems.error(price.span, "pricing", format!("no {what} `{name}`")).known(name, known);
        }
        if config.pricing.iter().take(place).any(|other| other.of == price.of) {
            problems.error(price.span, "pricing", format!("there are two prices for the {key} `{name}`"));
        }
    }
}

/// Checks that each step that asks a model names its role, or that only one role is suitable.
fn check_binding(config: &PipelineConfig, task: &TaskSpec, problems: &mut Problems) {
    let asked = |step: StepKind| {
        let contract = step.contract();
        contract.role.map(|role_type| RequestedInputs {
            name: contract.name,
            role_type,
            allowed: contract.may_ask,
        })
    };
    for step in &task.steps.support {
        check_role(config, asked(StepKind::Support), step.adapter_id.as_deref(), step.span, problems);
        check_support(config, "support", step.span, config.support_role_of(step), problems);
    }
    let supports = task.steps.support.iter();
    let ids =
        supports.filter_map(|step| Some((config.support_role_of(step)?.adapter_id.as_str(), step.span)));
    check_unique("adapter_id", ids, problems);
    let step = &task.steps.inference;
    check_role(config, asked(StepKind::Inference), step.adapter_id.as_deref(), step.span, problems);
    check_model("inference", step.span, config.inference_role_of(task), problems);
    if let Some(tools) = &step.tools {
        let asked = RequestedInputs { name: "tools", role_type: RoleType::ToolProvider, allowed: TOOL_ROLES };
        check_role(config, Some(asked), tools.adapter_id.as_deref(), tools.span, problems);
        check_support(config, "tools", tools.span, config.tool_role_of(tools), problems);
    }
    if let Some(step) = &task.steps.embed {
        check_role(config, asked(StepKind::Embed), step.adapter_id.as_deref(), step.span, problems);
        let role = config.embed_role_of(step);
        check_model("embed", step.span, role, problems);
        if let Some(role) = role.filter(|role| role.prompt_id.is_some()) {
            let message = format!(
                "`embed` asks `{}` for vectors, and its `prompt_id` would not be used",
                role.adapter_id
            );
            problems.error(step.span, "adapter_id", message).help("name a role with a `backend_id` alone");
        }
    }
    for judge in task.steps.judge.iter().flat_map(|step| &step.judges) {
        check_role(config, asked(StepKind::Judge), judge.adapter_id.as_deref(), judge.span, problems);
        check_model("judge", judge.span, config.judge_role_of(judge), problems);
    }
}

/// Checks that a role that answers or judges asks its backend directly, without an adapter component.
fn check_model(name: &str, span: Span, role: Option<&Arc<RoleAdapterSpec>>, problems: &mut Problems) {
    if let Some(role) = role.filter(|role| role.adapter.is_some()) {
        let message = format!("`{name}` asks `{}`, whose `adapter` it would not use", role.adapter_id);
        problems
            .error(span, "adapter_id", message)
            .help("name a role with a `backend_id` alone; adapters are for `support` and for `tools`");
    }
}

/// Checks that a role that supports a model has an adapter component. For a step of its own, a prompt is enough.
fn check_support(
    config: &PipelineConfig,
    name: &str,
    span: Span,
    role: Option<&Arc<RoleAdapterSpec>>,
    problems: &mut Problems,
) {
    let Some(role) = role.filter(|role| role.adapter.is_none() && role.role_type.takes_adapter()) else {
        return;
    };
    let (lacking, help) = match name {
        "support" if config.prompt_of(role).is_some() => return,
        "support" => {
            ("neither an `adapter` nor a `prompt_id`", "a component with `adapter`, or a `prompt_id`")
        }
        _ => ("no `adapter`", "a component with `adapter`"),
    };
    let message = format!("`{name}` asks `{}`, which has {lacking}", role.adapter_id);
    // An unreadable component is already an error.
    if !problems.has_errors() {
        problems.error(span, "adapter_id", message).help(format!("give it {help}"));
    }
}

/// A user of a role, with the roles that it may ask.
struct RequestedInputs {
    name: &'static str,
    /// The type of the role that is asked by default.
    role_type: RoleType,
    allowed: &'static [RoleType],
}

fn check_role(
    config: &PipelineConfig,
    asked: Option<RequestedInputs>,
    adapter_id: Option<&str>,
    span: Span,
    problems: &mut Problems,
) {
    let Some(RequestedInputs { name: step_name, role_type, allowed }) = asked else { return };
    let candidates = config.role_adapters.iter().filter(|role| role.role_type == role_type);
    let candidates: Vec<&str> = candidates.map(|role| role.adapter_id.as_str()).collect();
    match adapter_id {
        Some(adapter_id) if !adapter_ids(config).any(|known| known == adapter_id) => {
            let known = adapter_ids(config);
            report_unknown((span, "adapter_id"), "role adapter", adapter_id, known, problems);
        }
        Some(adapter_id) => {
            let named = config.role_adapters.iter().find(|role| role.adapter_id == adapter_id);
            if let Some(role) = named.filter(|role| !allowed.contains(&role.role_type)) {
                let allowed: Vec<&str> = allowed.iter().map(|kind| kind.name()).collect();
                let kind = role.role_type.name();
                let message =
                    format!("`{step_name}` cannot ask `{adapter_id}`, which is of the type `{kind}`");
                problems
                    .error(span, "adapter_id", message)
                    .help(format!("it asks a role of the type {}", allowed.join(", ")));
            }
        }
        None if candidates.is_empty() && !problems.has_errors() && role_type == RoleType::DutModel => {
            problems.error(span, "model", "the suite names no model").help(
                "write `model: openai:MODEL`, `model: ./model.gguf` or `model: hub:OWNER/NAME/FILE.gguf`, or \
                 give --model; to score the answers of a file, write `answers: FILE`",
            );
        }
        None if candidates.is_empty() && !problems.has_errors() => {
            let kind = role_type.name();
            let message = format!("`{step_name}` needs a role adapter of the type `{kind}`; there is none");
            problems.error(span, "steps", message).help("add one to `role_adapters`");
        }
        None if candidates.len() > 1 => {
            let message = format!("`{step_name}` is ambiguous: {} role adapters match", candidates.len());
            let help = format!("name one with `adapter_id`: {}", candidates.join(", "));
            problems.error(span, "steps", message).help(help);
        }
        None => {}
    }
}
