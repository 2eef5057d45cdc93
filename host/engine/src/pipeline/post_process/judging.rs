//! The judge step: asks judges about an answer, parses their replies, and combines their scores.

mod combined;
mod media;

use crate::limits::permits::RolePermits;
use crate::pipeline::guest_prompt;
use crate::pipeline::prompt_calls::PromptCalls;
use crate::pipeline::role_client::RoleClient;
use crate::pipeline::task_state::TaskState;
use crate::plan::{PlannedJudge, PlannedJudges};
use crate::request::support_context::payload_of;
use crate::sample::eval_config::{self, ParamOverride};
use crate::sample::failure::{SampleFailure, StepError};
use crate::sample::output_keys::SEMANTIC;
use crate::sample::result::SampleResult;
use crate::sample::usage::{named, sum_of};
use crate::session::Session;
pub(crate) use combined::unread_reason;
use combined::{JudgeReplies, Judgement, output_of};
use gage_backend::{DrawIndex, GenerateRequest, output_to_guest};
use gage_config::ScoreCombination;
use gage_core::{Message, ModelOutput, Object, Outcome, Role, SamplingParams, Usage};
use gage_observe::{SampleScope, in_sample_scope};
use gage_plugin::{ItemError, Judge, JudgeCase, JudgeReply, Prompt, Verdict};
use gage_record::Stage;
use gage_template::{InjectionFence, PromptContext, PromptInput, PromptRenderer};
use media::JudgeMedia;
pub(crate) use media::{JudgeMediaSources, add_shown_media};
use serde_json::Value;
use std::sync::Arc;

/// Labels in a judge's prompt for text from the model under test, and from the roles that support it.
const LABELS: [&str; 2] = ["ANSWER", "SUPPORT"];

/// The judges of a task with their backends.
pub(crate) struct JudgeStep {
    judges: Vec<OpenJudge>,
    combine: ScoreCombination,
    attempts: u32,
}

struct OpenJudge {
    planned: Arc<PlannedJudge>,
    client: RoleClient,
    /// The prompt of the suite, if it has one.
    prompt: Option<PromptCalls>,
    /// The media that it sees, if any.
    media: Option<JudgeMedia>,
}

/// Conversation for a judge to continue, and the sampling parameters.
type JudgePrompt = (Vec<Message>, SamplingParams);

impl JudgeStep {
    /// `workers` bounds the concurrent calls of each prompt.
    pub(crate) fn new(
        planned: &PlannedJudges,
        session: &Session,
        permits: &RolePermits,
        media: JudgeMediaSources<'_>,
        workers: usize,
    ) -> Option<JudgeStep> {
        let sends_media = planned.sends_media;
        let open = |planned: &Arc<PlannedJudge>| {
            let client = RoleClient::for_role(&planned.role, session, permits)?;
            let media = sends_media.then(|| JudgeMedia::new(&planned.judge_id, client.backend(), media));
            let prompt = planned.prompt.as_ref().map(|prompt| PromptCalls::new(prompt, workers));
            Some(OpenJudge { planned: Arc::clone(planned), client, prompt, media })
        };
        let judges = planned.judges.iter().map(open).collect::<Option<Vec<_>>>()?;
        Some(JudgeStep { judges, combine: planned.combine, attempts: planned.attempts })
    }

    /// Asks the judges about an answer. `None` if the run is stopped before all have replied.
    pub(crate) async fn judge(&self, task: &TaskState, result: &SampleResult) -> Option<JudgeResult> {
        let case = case_of(result);
        let mut judgements: Vec<(&str, Judgement)> = Vec::with_capacity(self.judges.len());
        for judge in &self.judges {
            let id = judge.planned.judge_id.as_str();
            let kept = result.judge_output.get("judges").and_then(|judges| judges.get(id));
            if let Some(kept) = kept.and_then(Value::as_object) {
                judgements.push((id, Judgement::Output(kept.clone())));
                continue;
            }
            match judge.ask(task, &case, result, self.attempts).await {
                Ok(judgement) => judgements.push((id, judgement)),
                Err(StepError::Failed(failure)) => {
                    return Some(JudgeResult { failure: Some(failure.named(id)), output: Value::Null });
                }
                Err(StepError::Stopped) => return None,
            }
        }
        Some(JudgeResult { failure: None, output: output_of(judgements, self.combine) })
    }
}

/// Result of judging an answer.
pub(crate) struct JudgeResult {
    /// The failure, if a judge could not be asked.
    failure: Option<SampleFailure>,
    output: Value,
}

impl JudgeResult {
    /// Returns true if the record holds the judges' usage, along with their output.
    pub(crate) fn holds_usage(&self) -> bool {
        !self.output.is_null()
    }

    /// Adds the judgement to an answer, or the failure if there is none.
    pub(crate) fn apply_to(self, mut result: SampleResult) -> SampleResult {
        if let Some(failure) = self.failure {
            result.fail(Stage::Judge, failure);
        }
        result.judge_output = self.output;
        result
    }
}

/// Returns the view of a sample and its answer for a judge component. The Sample holds the output of support steps, if
/// there is one.
fn case_of(result: &SampleResult) -> JudgeCase {
    let mut sample = result.sample.value();
    if !result.support_output.is_null()
        && let Value::Object(keys) = sample.to_mut()
    {
        keys.insert("support_output".to_owned(), result.support_output.clone());
    }
    JudgeCase {
        sample_id: result.sample_id.clone(),
        sample: sample.to_string(),
        model_output: Value::Object(output_for_judges(result)).to_string(),
    }
}

/// Returns the output of the model itself, without the output of the embedding step.
fn output_for_judges(result: &SampleResult) -> Object {
    let Value::Object(mut output) = result.model_output.document().value().into_owned() else {
        return Object::new();
    };
    output.shift_remove(SEMANTIC);
    output
}

impl OpenJudge {
    /// Asks until a reply can be parsed, up to `attempts` times.
    ///
    /// Parses only the judge's own words, without what it quotes from a fence. Records the whole reply, and shows the whole
    /// reply to a judge that is asked again.
    async fn ask(
        &self,
        task: &TaskState,
        case: &JudgeCase,
        result: &SampleResult,
        attempts: u32,
    ) -> Result<Judgement, StepError> {
        let judge = judge_of(&self.planned, result)?;
        let (mut prompts, fence) = self.prompts(&judge, case, result).await?;
        if let Some(media) = &self.media {
            media.add_to(prompts.iter_mut().map(|(messages, _)| messages), result).await?;
        }
        let mut earlier = Vec::new();
        let mut attempt = 1;
        let mut usage = None;
        loop {
            let mut replies = Vec::with_capacity(prompts.len());
            for (prompt, (messages, params)) in prompts.iter().enumerate() {
                let repeat = result.index % task.planned.spec.repeat;
                let request = Box::new(GenerateRequest {
                    id: format!("judge:{}:{}", self.planned.judge_id, result.sample_id),
                    messages: messages.clone().into(),
                    prompt: None,
                    params: params.clone(),
                    tools: Vec::new(),
                    tool_choice: None,
                    draw: Some(DrawIndex { repeat, prompt, attempt: attempt - 1 }),
                    place: None,
                });
                let reply =
                    self.client.ask(task, None, self.client.backend().generate(request)).await?.output;
                usage = sum_of(usage, reply.usage);
                replies.push(reply);
            }
            let texts: Vec<String> = replies.iter().map(|reply| reply.answer.clone()).collect();
            if let Some(fence) = &fence {
                replies.iter_mut().for_each(|reply| reply.answer = fence.unquoted(&reply.answer));
            }
            let verdict = parse(&judge, case, replies).await?;
            match verdict {
                Verdict::Unparseable(reason) if attempt < attempts => {
                    // At temperature zero, an unchanged prompt would give the same reply.
                    let retry_prompt = format!(
                        "Your reply could not be read: {reason}. Answer again, in exactly the form that was asked for."
                    );
                    for ((messages, _), text) in prompts.iter_mut().zip(&texts) {
                        messages.push(Message::text(Role::Assistant, text.as_str()));
                        messages.push(Message::text(Role::User, retry_prompt.as_str()));
                    }
                    earlier.push(texts);
                    attempt += 1;
                }
                Verdict::Unparseable(reason) => {
                    let replies = JudgeReplies { replies: texts, earlier, usage: self.priced(usage) };
                    return Ok(Judgement::Unparseable { reason, replies });
                }
                Verdict::Output(mut output) => {
                    let usage = self.priced(usage);
                    JudgeReplies { replies: texts, earlier, usage }.add_to(&mut output);
                    return Ok(Judgement::Output(output));
                }
            }
        }
    }

    /// Returns the token counts by name, with their cost if the suite has a price for the judge.
    fn priced(&self, usage: Option<Usage>) -> Object {
        let mut named = named(usage);
        if let Some((usage, price)) = usage.zip(self.planned.price.as_ref()) {
            // Tokens of a sample stay far below 2^53.
            let cost = price.cost(usage.prompt_tokens as f64, usage.completion_tokens as f64);
            named.insert("cost".to_owned(), cost.into());
        }
        named
    }

    /// Returns the conversations for the judge to continue, and their fence if the suite supplies the prompt.
    async fn prompts(
        &self,
        judge: &Arc<Judge>,
        case: &JudgeCase,
        result: &SampleResult,
    ) -> Result<(Vec<JudgePrompt>, Option<InjectionFence>), SampleFailure> {
        if let Some(prompt) = &self.prompt {
            let (input, fence) = suite_input(&self.planned, prompt.renderer(), result);
            let messages = prompt.render(input).await.map_err(prompt_failure)?;
            return Ok((vec![(messages, self.planned.role.sampling_params.clone())], Some(fence)));
        }
        let (judge, cases) = (Arc::clone(judge), vec![case.clone()]);
        let rendered = call_blocking(move || judge.render(&cases).into_iter().next()).await?;
        Ok((prompts_of_component(&self.planned, rendered)?, None))
    }
}

/// Returns the first conversations that a judge gets about a recorded answer. Blocks.
pub(crate) fn judge_messages(
    planned: &PlannedJudge,
    result: &SampleResult,
) -> Result<Vec<Vec<Message>>, SampleFailure> {
    if let Some(prompt) = &planned.prompt {
        let (input, _) = suite_input(planned, prompt, result);
        let messages = prompt.render(&input).map_err(|error| prompt_failure(error.to_string()))?;
        return Ok(vec![messages]);
    }
    let rendered = judge_of(planned, result)?.render(&[case_of(result)]).into_iter().next();
    let missing = || SampleFailure::of_plugin("internal", "the judge gave no result");
    let prompts = prompts_of_component(planned, rendered.ok_or_else(missing)??)?;
    Ok(prompts.into_iter().map(|(messages, _)| messages).collect())
}

/// Returns the input of the prompt that the suite has for a judge, and the fence around text of models.
fn suite_input(
    planned: &PlannedJudge,
    prompt: &PromptRenderer,
    result: &SampleResult,
) -> (PromptInput, InjectionFence) {
    let role = &planned.role;
    let context = PromptContext {
        sample: &result.sample.value(),
        payload: &payload_of(&result.support_output),
        history: &[],
        adapter_id: &role.adapter_id,
        role_type: role.role_type.name(),
    };
    prompt.fenced_input(&context, &output_for_judges(result), LABELS)
}

fn prompt_failure(message: String) -> SampleFailure {
    SampleFailure::new(Outcome::InvalidSample, "prompt", message)
}

/// Reads the prompts that a component made.
fn prompts_of_component(
    planned: &PlannedJudge,
    rendered: Vec<Prompt>,
) -> Result<Vec<JudgePrompt>, SampleFailure> {
    let params = &planned.role.sampling_params;
    rendered.into_iter().map(|prompt| guest_prompt::messages_and_params(prompt, params)).collect()
}

/// Returns the component of a judge, with the Sample's parameter overrides.
fn judge_of(planned: &PlannedJudge, result: &SampleResult) -> Result<Arc<Judge>, SampleFailure> {
    let id = &planned.judge_id;
    let refuse = |message: String| SampleFailure::new(Outcome::InvalidSample, "eval_config", message);
    let changed = match eval_config::of_judge(&result.sample, id) {
        ParamOverride::None => return Ok(Arc::clone(&planned.judge)),
        ParamOverride::Params(changed) => changed,
        ParamOverride::Skip | ParamOverride::Invalid => {
            return Err(refuse(format!("eval_config.judge.{id} must be an object of parameters")));
        }
    };
    let judge = planned.judge.with_params(changed);
    judge.map(Arc::new).map_err(|problems| refuse(eval_config::describe_problems("judge", id, &problems)))
}

async fn parse(
    judge: &Arc<Judge>,
    case: &JudgeCase,
    replies: Vec<ModelOutput>,
) -> Result<Verdict, SampleFailure> {
    let replies = replies.into_iter().map(output_to_guest).collect();
    let (judge, replied) = (Arc::clone(judge), vec![JudgeReply { case: case.clone(), replies }]);
    call_blocking(move || judge.parse(&replied).into_iter().next()).await
}

/// Calls a component off the async runtime, because the call may be slow.
async fn call_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Option<Result<T, ItemError>> + Send + 'static,
) -> Result<T, SampleFailure> {
    let scope = SampleScope::current();
    match tokio::task::spawn_blocking(move || in_sample_scope(scope, call)).await {
        Ok(Some(called)) => Ok(called?),
        Ok(None) => Err(SampleFailure::of_plugin("internal", "the judge gave no result")),
        Err(_) => Err(SampleFailure::of_plugin("internal", "the call of the judge failed")),
    }
}
