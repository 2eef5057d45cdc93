//! Planning of the roles that support a model: loads components and checks their parameters.

use super::plan_prompt;
use super::plugin_use::PluginUse;
use gage_config::{
    BackendKind, BackendSpec, HttpKind, PipelineConfig, PluginReference, Problems, RoleAdapterSpec, TaskSpec,
    ToolLoopSpec,
};
use gage_plugin::{Registry, RoleAdapter, RoleAdapterKind};
use gage_template::PromptRenderer;
use std::sync::Arc;

/// A role that supplies context for the model, or answers its tool calls.
pub struct PlannedSupportRole {
    /// The role.
    pub role: Arc<RoleAdapterSpec>,
    /// Renderer of its request, if it has no component.
    pub prompt: Option<Arc<PromptRenderer>>,
    /// The component.
    pub adapter: Option<Arc<RoleAdapter>>,
}

impl PlannedSupportRole {
    /// Returns the suite's reference to its component.
    pub fn reference(&self) -> Option<&PluginReference> {
        self.role.adapter.as_ref().map(|call| &call.reference)
    }

    fn new(
        config: &PipelineConfig,
        role: &Arc<RoleAdapterSpec>,
        registry: &Registry,
        problems: &mut Problems,
    ) -> Option<Arc<PlannedSupportRole>> {
        let adapter = match &role.adapter {
            Some(call) => {
                let adapter =
                    PluginUse::of_call(call, "adapter").configure::<RoleAdapterKind>(registry, problems)?;
                Some(Arc::new(adapter))
            }
            None => None,
        };
        let prompt = plan_prompt(config, role, registry, problems)?;
        Some(Arc::new(PlannedSupportRole { role: Arc::clone(role), prompt, adapter }))
    }
}

/// The role that answers a task's tool calls.
pub struct PlannedTools {
    /// The role.
    pub support_role: Arc<PlannedSupportRole>,
    /// Limits of the tool loop.
    pub bounds: ToolLoopSpec,
}

/// A role that works on the model's answer.
pub struct PlannedFollowUp {
    /// The role.
    pub support_role: Arc<PlannedSupportRole>,
    /// True if its reply replaces the answer.
    pub sets_answer: bool,
}

/// Plans the roles of a task's support steps, in order.
pub(super) fn plan_support(
    config: &PipelineConfig,
    task: &TaskSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Vec<Arc<PlannedSupportRole>>> {
    let planned: Vec<Option<Arc<PlannedSupportRole>>> = task
        .steps
        .support
        .iter()
        .map(|step| PlannedSupportRole::new(config, config.support_role_of(step)?, registry, problems))
        .collect();
    planned.into_iter().collect()
}

/// Plans the roles of a task's support steps for showing their requests. A role that cannot be planned has none.
pub(super) fn plan_shown_support(
    config: &PipelineConfig,
    task: &TaskSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Vec<Arc<PlannedSupportRole>> {
    let roles = task.steps.support.iter().filter_map(|step| config.support_role_of(step));
    let planned = roles.map(|role| {
        PlannedSupportRole::new(config, role, registry, problems).unwrap_or_else(|| {
            Arc::new(PlannedSupportRole { role: Arc::clone(role), prompt: None, adapter: None })
        })
    });
    planned.collect()
}

/// Plans the role that answers a task's tool calls, if it has one.
pub(super) fn plan_tools(
    config: &PipelineConfig,
    task: &TaskSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Option<PlannedTools>> {
    let Some(bounds) = &task.steps.inference.tools else { return Some(None) };
    let backend = config.inference_role_of(task).and_then(|role| config.backend_of(role));
    if let Some(backend) = backend.filter(|backend| !calls_tools(backend)) {
        let message = format!("the backend `{}` does not support tool calls", backend.backend_id);
        problems
            .error(bounds.span, "tools", message)
            .help("use a chat API over HTTP (openai_http, anthropic_http, gemini_http), or remove `tools`");
    }
    let support_role = PlannedSupportRole::new(config, config.tool_role_of(bounds)?, registry, problems)?;
    Some(Some(PlannedTools { support_role, bounds: bounds.clone() }))
}

/// Returns true if a backend reports the model's tool calls.
fn calls_tools(backend: &BackendSpec) -> bool {
    match &backend.kind {
        BackendKind::LlamaCpp(_) | BackendKind::Answers(_) => false,
        BackendKind::Http(http) => !matches!(http.kind, HttpKind::Tgi | HttpKind::HfInferenceEndpoint),
        // The component may report them.
        BackendKind::CustomScript(_) => true,
    }
}
