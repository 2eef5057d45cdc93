//! The roles that support a model: components loaded, their parameters checked.

use super::plan_prompt;
use super::plugin_use::PluginUse;
use gage_config::{
    BackendKind, BackendSpec, HttpKind, PipelineConfig, PluginReference, Problems, RoleAdapterSpec, TaskSpec,
    ToolLoopSpec,
};
use gage_plugin::{Registry, RoleAdapter, RoleAdapterKind};
use gage_template::PromptRenderer;
use std::sync::Arc;

/// A role that finds something for the model, or answers its calls of tools.
pub struct PlannedSupportRole {
    /// The role.
    pub role: RoleAdapterSpec,
    /// What renders its request, where it has no component.
    pub prompt: Option<Arc<PromptRenderer>>,
    /// The component.
    pub adapter: Option<Arc<RoleAdapter>>,
}

impl PlannedSupportRole {
    /// Returns how the suite names its component.
    pub fn reference(&self) -> Option<&PluginReference> {
        self.role.adapter.as_ref().map(|call| &call.reference)
    }

    fn new(
        config: &PipelineConfig,
        role: &RoleAdapterSpec,
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
        let prompt = plan_prompt(config, role, problems)?;
        Some(Arc::new(PlannedSupportRole { role: role.clone(), prompt, adapter }))
    }
}

/// Who answers the calls of tools of a task.
pub struct PlannedTools {
    /// The role.
    pub support_role: Arc<PlannedSupportRole>,
    /// How long that may go on.
    pub bounds: ToolLoopSpec,
}

/// The roles of the support steps of a task, in order.
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

/// The role that answers the calls of tools of a task, where it has one.
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

/// Returns whether the model's calls of tools are read out of what a backend says.
fn calls_tools(backend: &BackendSpec) -> bool {
    match &backend.kind {
        BackendKind::LlamaCpp(_) => false,
        BackendKind::Http(http) => !matches!(http.kind, HttpKind::Tgi | HttpKind::HfInferenceEndpoint),
        // Its component may.
        BackendKind::CustomScript(_) => true,
    }
}
