//! The judges and an answer: they are asked, their replies read, and their scores become one.

mod combined;

use crate::limits::permits::{RequestLimits, RequestSlot};
use crate::pipeline::infer::SampleResult;
use crate::pipeline::infer::support_role;
use crate::pipeline::post_process::embedding::SEMANTIC;
use crate::pipeline::task_state::TaskState;
use crate::plan::{PlannedJudge, PlannedJudges};
use crate::sample::eval_config::{self, ParamOverride};
use crate::sample::usage::{named, sum_of};
use crate::session::Session;
use combined::{JudgeReplies, Judgement, output_of};
use gage_backend::{Backend, DrawIndex, GenerateRequest, cancellable, output_to_guest, with_slot};
use gage_config::{Combine, RoleAdapterSpec};
use gage_core::{Message, ModelOutput, Object, Outcome, Role, SamplingParams};
use gage_plugin::{ItemError, Judge, JudgeCase, JudgeReply, Verdict, message_from_guest};
use gage_record::{ErrorNote, Stage};
use gage_template::{InjectionFence, PromptContext};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// What the text of the model under test is called in a judge's prompt, and that of the roles that support it.
const LABELS: [&str; 2] = ["ANSWER", "SUPPORT"];

/// The judges of a task with their backends.
pub(crate) struct JudgeStep {
    judges: Vec<OpenJudge>,
    combine: Combine,
    attempts: u32,
}

struct OpenJudge {
    planned: Arc<PlannedJudge>,
    backend: Arc<dyn Backend>,
    /// Bounds the requests of the role.
    rooms: Arc<RequestLimits>,
}

/// What bounds the requests of each role, in all tasks together and whoever makes them.
pub(crate) struct RolePermits {
    concurrency: usize,
    by_role: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl RolePermits {
    pub(crate) fn new(concurrency: usize) -> RolePermits {
        RolePermits { concurrency, by_role: Mutex::default() }
    }

    /// The permits of a role: as many as the run allows, the backend is worth, and the role may have.
    pub(crate) fn semaphore_of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> Arc<Semaphore> {
        let most = self.concurrency_of(role, backend);
        let mut by_role = self.by_role.lock().unwrap_or_else(PoisonError::into_inner);
        let made = by_role.entry(role.adapter_id.clone());
        Arc::clone(made.or_insert_with(|| Arc::new(Semaphore::new(most))))
    }

    /// How many requests of a role may be in flight.
    pub(crate) fn concurrency_of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> usize {
        let most = self.concurrency.min(backend.info().max_concurrency);
        most.min(role.pool_size.unwrap_or(usize::MAX)).max(1)
    }
}

/// Why there is no judgement.
struct JudgeFailure {
    outcome: Outcome,
    kind: String,
    message: String,
}

/// What a judge is to continue, and how.
type JudgePrompt = (Vec<Message>, SamplingParams);

/// Why a judge was not asked to the end.
enum JudgeError {
    Failure(JudgeFailure),
    /// The run is stopped.
    Stopped,
}

impl From<JudgeFailure> for JudgeError {
    fn from(failure: JudgeFailure) -> JudgeError {
        JudgeError::Failure(failure)
    }
}

impl JudgeStep {
    pub(crate) fn new(
        planned: &PlannedJudges,
        session: &Session,
        permits: &RolePermits,
    ) -> Option<JudgeStep> {
        let open = |planned: &Arc<PlannedJudge>| {
            let backend = Arc::clone(session.backend(&planned.role.backend_id)?);
            let rooms = RequestLimits::for_role(permits.semaphore_of(&planned.role, backend.as_ref()));
            Some(OpenJudge { planned: Arc::clone(planned), backend, rooms })
        };
        let judges = planned.judges.iter().map(open).collect::<Option<Vec<_>>>()?;
        Some(JudgeStep { judges, combine: planned.combine, attempts: planned.attempts })
    }

    /// Has an answer judged; nothing where the run is stopped before all have replied.
    pub(crate) async fn judge(&self, task: &TaskState, inferred: &SampleResult) -> Option<JudgeResult> {
        let case = case_of(inferred);
        let mut said: Vec<(&str, Judgement)> = Vec::with_capacity(self.judges.len());
        for judge in &self.judges {
            let id = judge.planned.judge_id.as_str();
            match judge.ask(task, &case, inferred, self.attempts).await {
                Ok(judgement) => said.push((id, judgement)),
                Err(JudgeError::Failure(failure)) => {
                    let message = format!("{id}: {}", failure.message);
                    return Some(JudgeResult::failed(failure.outcome, failure.kind, message));
                }
                Err(JudgeError::Stopped) => return None,
            }
        }
        let unread: Vec<String> = said
            .iter()
            .filter_map(|(id, judgement)| match judgement {
                Judgement::Unparseable { reason, .. } => Some(format!("{id}: {reason}")),
                Judgement::Output(_) => None,
            })
            .collect();
        let judged = match unread.len() == said.len() {
            true => {
                let message = format!("no reply could be read: {}", unread.join("; "));
                JudgeResult::failed(Outcome::JudgeUnparseable, "judge_unparseable".to_owned(), message)
            }
            false => JudgeResult { failure: None, output: Value::Null },
        };
        Some(JudgeResult { output: output_of(said, self.combine), ..judged })
    }
}

/// What the judges of an answer made of it.
pub(crate) struct JudgeResult {
    /// How the sample ends where there is no judgement, and why.
    failure: Option<(Outcome, ErrorNote)>,
    output: Value,
}

impl JudgeResult {
    /// Whether what the judges took is told in the record, with what they said.
    pub(crate) fn holds_usage(&self) -> bool {
        !self.output.is_null()
    }

    fn failed(outcome: Outcome, kind: String, message: String) -> JudgeResult {
        let note = ErrorNote { stage: Stage::Judge, kind, message, pointer: None };
        JudgeResult { failure: Some((outcome, note)), output: Value::Null }
    }

    /// The answer with its judgement, or with why there is none.
    pub(crate) fn apply_to(self, mut inferred: SampleResult) -> SampleResult {
        if let Some((outcome, error)) = self.failure {
            inferred.outcome = outcome;
            inferred.error = Some(error);
        }
        inferred.judge_output = self.output;
        inferred
    }
}

/// What a component sees of a sample and its answer.
fn case_of(inferred: &SampleResult) -> JudgeCase {
    JudgeCase {
        sample_id: inferred.sample_id.clone(),
        sample: inferred.sample.value().to_string(),
        model_output: Value::Object(output_for_judges(inferred)).to_string(),
    }
}

/// What the model itself said, without what another model made of it.
fn output_for_judges(inferred: &SampleResult) -> Object {
    let Value::Object(mut output) = inferred.model_output.document().value().into_owned() else {
        return Object::new();
    };
    output.shift_remove(SEMANTIC);
    output
}

impl OpenJudge {
    /// Asks until a reply can be read, at most `attempts` times.
    ///
    /// What is read of a reply is what the judge says itself, without what it quotes from a fence; what is recorded, and shown
    /// to a judge that is asked again, is the whole of it.
    async fn ask(
        &self,
        task: &TaskState,
        case: &JudgeCase,
        inferred: &SampleResult,
        attempts: u32,
    ) -> Result<Judgement, JudgeError> {
        let judge = self.judge_of(inferred)?;
        let (mut prompts, fence) = self.prompts(&judge, case, inferred).await?;
        let mut earlier = Vec::new();
        let mut attempt = 1;
        let mut usage = None;
        loop {
            let mut replies = Vec::with_capacity(prompts.len());
            for (prompt, (messages, params)) in prompts.iter().enumerate() {
                let repeat = inferred.index % task.planned.spec.repeat;
                let draw = DrawIndex { repeat, prompt, attempt: attempt - 1 };
                let reply =
                    self.generate(task, &inferred.sample_id, messages.clone(), params.clone(), draw).await?;
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
                    // Asked the same way, a model without temperature would say the same.
                    let wish = format!(
                        "Your reply could not be read: {reason}. Answer once more, in exactly the form that was asked for."
                    );
                    for ((messages, _), text) in prompts.iter_mut().zip(&texts) {
                        messages.push(Message::text(Role::Assistant, text.as_str()));
                        messages.push(Message::text(Role::User, wish.as_str()));
                    }
                    earlier.push(texts);
                    attempt += 1;
                }
                Verdict::Unparseable(reason) => {
                    let heard = JudgeReplies { replies: texts, earlier, usage: named(usage) };
                    return Ok(Judgement::Unparseable { reason, heard });
                }
                Verdict::Output(mut output) => {
                    JudgeReplies { replies: texts, earlier, usage: named(usage) }.add_to(&mut output);
                    return Ok(Judgement::Output(output));
                }
            }
        }
    }

    /// The conversations that the judge is to continue, and the fence in them where the suite wrote the prompt.
    async fn prompts(
        &self,
        judge: &Arc<Judge>,
        case: &JudgeCase,
        inferred: &SampleResult,
    ) -> Result<(Vec<JudgePrompt>, Option<InjectionFence>), JudgeFailure> {
        let role = &self.planned.role;
        if let Some(prompt) = &self.planned.prompt {
            let context = PromptContext {
                sample: &inferred.sample.value(),
                payload: &support_role::payload_of(&inferred.support_output),
                history: &[],
                adapter_id: &role.adapter_id,
                role_type: role.role_type.name(),
            };
            let rendered = prompt.render_fenced(&context, &output_for_judges(inferred), LABELS);
            let (messages, fence) = rendered.map_err(|error| JudgeFailure {
                outcome: Outcome::InvalidSample,
                kind: "prompt".to_owned(),
                message: error.to_string(),
            })?;
            return Ok((vec![(messages, role.sampling_params.clone())], Some(fence)));
        }
        let (judge, cases) = (Arc::clone(judge), vec![case.clone()]);
        let rendered = call_blocking(move || judge.render(&cases).into_iter().next()).await?;
        let rendered = rendered.into_iter();
        let conversations = rendered
            .map(|prompt| {
                let messages = prompt.messages.into_iter().map(message_from_guest).collect::<Result<_, _>>();
                let params = SamplingParams::from_object(prompt.params).map_err(|problems| {
                    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
                });
                let read = messages.and_then(|messages| Ok((messages, params?.over(&role.sampling_params))));
                read.map_err(|message| JudgeFailure {
                    outcome: Outcome::PluginError,
                    kind: "invalid_result".to_owned(),
                    message,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok((conversations, None))
    }

    async fn generate(
        &self,
        task: &TaskState,
        sample_id: &str,
        messages: Vec<Message>,
        params: SamplingParams,
        draw: DrawIndex,
    ) -> Result<ModelOutput, JudgeError> {
        let request = Box::new(GenerateRequest {
            id: format!("judge:{}:{sample_id}", self.planned.judge_id),
            messages: messages.into(),
            prompt: None,
            params,
            tools: Vec::new(),
            tool_choice: None,
            draw: Some(draw),
        });
        let backend_id = &self.planned.role.backend_id;
        let asked = async {
            // Whoever waits here has an answer that was paid for, so a signal does not end it.
            let place = RequestSlot::acquire_new(&self.rooms, None);
            let place = task.unless_budget_exhausted(place).await?;
            let reply = with_slot(Arc::clone(&place) as _, self.backend.generate(request)).await;
            Some((reply, place))
        };
        let asked = cancellable(asked, task.stop.cancelled(), task.stop.aborted()).await.flatten();
        // Its place is free when it is known what it took, so that nobody begins behind a budget.
        let (reply, _place) = asked.unzip();
        match reply {
            None => Err(JudgeError::Stopped),
            Some(Ok(reply)) => {
                if reply.timing.attempts > 0 {
                    task.spending.add_usage(backend_id, reply.output.usage, &task.run_stop);
                }
                Ok(reply.output)
            }
            Some(Err(error)) if task.stops_on(backend_id, &error) => Err(JudgeError::Stopped),
            Some(Err(error)) => Err(JudgeError::Failure(JudgeFailure {
                outcome: Outcome::BackendError,
                kind: error.kind.name().to_owned(),
                message: error.message,
            })),
        }
    }

    /// The component, with what the Sample changes about it.
    fn judge_of(&self, inferred: &SampleResult) -> Result<Arc<Judge>, JudgeFailure> {
        let id = &self.planned.judge_id;
        let refuse = |message: String| JudgeFailure {
            outcome: Outcome::InvalidSample,
            kind: "eval_config".to_owned(),
            message,
        };
        let changed = match eval_config::of_judge(&inferred.sample, id) {
            ParamOverride::None => return Ok(Arc::clone(&self.planned.judge)),
            ParamOverride::Params(changed) => changed,
            ParamOverride::Skip | ParamOverride::Invalid => {
                return Err(refuse(format!("eval_config.judge.{id} must be an object of parameters")));
            }
        };
        let judge = self.planned.judge.with_params(changed);
        judge.map(Arc::new).map_err(|problems| refuse(eval_config::wrong("judge", id, &problems)))
    }
}

async fn parse(
    judge: &Arc<Judge>,
    case: &JudgeCase,
    replies: Vec<ModelOutput>,
) -> Result<Verdict, JudgeFailure> {
    let replies = replies.into_iter().map(output_to_guest).collect();
    let (judge, replied) = (Arc::clone(judge), vec![JudgeReply { case: case.clone(), replies }]);
    call_blocking(move || judge.parse(&replied).into_iter().next()).await
}

/// Calls a component, which may take a while.
async fn call_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Option<Result<T, ItemError>> + Send + 'static,
) -> Result<T, JudgeFailure> {
    let internal = |message: &str| JudgeFailure {
        outcome: Outcome::PluginError,
        kind: "internal".to_owned(),
        message: message.to_owned(),
    };
    match tokio::task::spawn_blocking(call).await {
        Ok(Some(Ok(result))) => Ok(result),
        Ok(Some(Err(error))) => {
            Err(JudgeFailure { outcome: error.outcome, kind: error.kind.to_owned(), message: error.message })
        }
        Ok(None) => Err(internal("the judge gave no result")),
        Err(_) => Err(internal("the call of the judge failed")),
    }
}
