//! Planning of the steps after inference: judges, and extractors of the final answer.

use super::plan_prompt;
use super::plugin_use::PluginUse;
use gage_config::{
    JudgeStep, PipelineConfig, PluginReference, PriceSpec, Problems, RoleAdapterSpec, ScoreCombination, Span,
    TaskSpec,
};
use gage_plugin::{Extractor, ExtractorKind, Judge, JudgeKind, Registry};
use gage_template::PromptRenderer;
use std::sync::Arc;

/// An extractor of a task, ready to be called.
pub struct PlannedExtractor {
    /// The suite's reference to the extractor.
    pub reference: PluginReference,
    /// The extractor.
    pub extractor: Extractor,
}

/// The judges of a task.
pub struct PlannedJudges {
    /// The judges.
    pub judges: Vec<Arc<PlannedJudge>>,
    /// The combination of their scores.
    pub combine: ScoreCombination,
    /// Maximum number of attempts per judge.
    pub attempts: u32,
    /// True if the judges see the media of the Sample.
    pub sends_media: bool,
    /// True if the prompt of a judge shows the model's tool calls.
    pub reads_calls: bool,
}

/// One judge of a task, ready to be called.
pub struct PlannedJudge {
    /// The name in results.
    pub judge_id: String,
    /// The role of the judge.
    pub role: Arc<RoleAdapterSpec>,
    /// Renderer of the prompt. `None` if the component renders it.
    pub prompt: Option<Arc<PromptRenderer>>,
    /// The suite's reference to the component.
    pub reference: PluginReference,
    /// The component that parses replies.
    pub judge: Arc<Judge>,
    /// Price of its tokens, if the suite has one.
    pub price: Option<PriceSpec>,
}

pub(super) fn plan_extractors(
    task: &TaskSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Vec<PlannedExtractor>> {
    let planned: Vec<Option<PlannedExtractor>> = task
        .steps
        .extract
        .iter()
        .map(|call| {
            let used = PluginUse::of_call(call, "extractors");
            let extractor = used.configure::<ExtractorKind>(registry, problems)?;
            used.check_paths(&extractor.description().inputs, problems)?;
            if super::reads_clock(extractor.inputs()) {
                let message = "an extractor cannot read a value that varies from run to run".to_owned();
                problems.error(call.span, "extractors", message).help(format!(
                    "name a path other than model_output.{}",
                    gage_core::TIMING_KEYS.join(", model_output.")
                ));
                return None;
            }
            Some(PlannedExtractor { reference: call.reference.clone(), extractor })
        })
        .collect();
    planned.into_iter().collect()
}

pub(super) fn plan_judges(
    config: &PipelineConfig,
    task: &TaskSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Option<PlannedJudges>> {
    let Some(step) = &task.steps.judge else { return Some(None) };
    let JudgeStep { judges, combine, attempts, sends_media, .. } = step;
    let planned: Vec<Option<Arc<PlannedJudge>>> = judges
        .iter()
        .map(|spec| {
            let judge = PluginUse::of_call(&spec.judge, "judge").configure::<JudgeKind>(registry, problems);
            let role = config.judge_role_of(spec)?;
            let prompt = plan_prompt(config, role, registry, problems);
            let judge = judge.filter(|judge| reads_prompt(judge, spec.judge.span, role, problems));
            Some(Arc::new(PlannedJudge {
                judge_id: spec.judge_id.clone().unwrap_or_else(|| role.adapter_id.clone()),
                role: Arc::clone(role),
                prompt: prompt?,
                reference: spec.judge.reference.clone(),
                judge: Arc::new(judge?),
                price: config.backend_of(role).and_then(|backend| config.price_of(backend)).cloned(),
            }))
        })
        .collect();
    let judges = planned.into_iter().collect::<Option<Vec<_>>>()?;
    let (combine, attempts, sends_media) = (*combine, *attempts, *sends_media);
    let reads_calls = judges.iter().any(|judge| shows_calls(config, &judge.role));
    Some(Some(PlannedJudges { judges, combine, attempts, sends_media, reads_calls }))
}

/// Returns whether the suite's prompt of a judge shows the model's tool calls.
fn shows_calls(config: &PipelineConfig, role: &RoleAdapterSpec) -> bool {
    let prompts = config.prompts.iter().filter(|prompt| role.prompt_id.as_ref() == Some(&prompt.prompt_id));
    let mut templates = prompts.flat_map(|prompt| &prompt.messages).map(|message| &message.template);
    templates.any(|template| template.contains("tool_calls") || template.contains("trajectory"))
}

/// Returns true if a judge can parse replies to its role's prompt, or if the role has none.
fn reads_prompt(judge: &Judge, span: Span, role: &RoleAdapterSpec, problems: &mut Problems) -> bool {
    let Some(prompt_id) = role.prompt_id.as_deref().filter(|_| judge.needs_own_prompts()) else {
        return true;
    };
    let name = judge.name();
    let message = format!(
        "the judge `{name}` uses several prompts of its own, but the role `{}` would send the prompt \
         `{prompt_id}` instead",
        role.adapter_id
    );
    problems.error(span, "judge", message).help(format!(
        "remove `prompt_id` from the role, and put the instructions into `judge: {{{name}: {{instructions: \
         …}}}}`; or use a judge that reads one reply, such as `verdict`"
    ));
    false
}
