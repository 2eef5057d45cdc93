//! The judges and an answer: they are asked, their replies read, and their scores become one.

use crate::active::ActiveTask;
use crate::eval_config::{self, Change};
use crate::inference::Inferred;
use crate::place::Place;
use crate::plan::{CLOCKS, PlannedJudge, PlannedJudges};
use crate::session::Session;
use crate::support;
use crate::usage::{named, sum_of};
use gage_backend::{Backend, Draw, GenerateRequest, cancellable, in_place, output_to_guest};
use gage_config::{Combine, RoleAdapterSpec};
use gage_core::{Message, ModelOutput, Object, Outcome, Role, SamplingParams};
use gage_plugin::{ItemError, Judge, JudgeCase, JudgeReply, Verdict, message_from_guest};
use gage_record::{ErrorNote, Stage};
use gage_template::{Fence, PromptContext};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// What the text of the model under test is called in a judge's prompt.
const LABEL: &str = "ANSWER";

/// A score from which on a judge is for the answer.
const IN_FAVOUR: f64 = 0.5;

/// The judges of a task with their backends.
pub(crate) struct Judging {
    judges: Vec<OpenJudge>,
    combine: Combine,
    attempts: u32,
}

struct OpenJudge {
    planned: Arc<PlannedJudge>,
    backend: Arc<dyn Backend>,
    /// Bounds the requests of the role.
    permits: Arc<Semaphore>,
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
    pub(crate) fn of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> Arc<Semaphore> {
        let most = self.most_of(role, backend);
        let mut by_role = self.by_role.lock().unwrap_or_else(PoisonError::into_inner);
        let made = by_role.entry(role.adapter_id.clone());
        Arc::clone(made.or_insert_with(|| Arc::new(Semaphore::new(most))))
    }

    /// How many requests of a role may be in flight.
    pub(crate) fn most_of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> usize {
        let most = self.concurrency.min(backend.info().max_concurrency);
        most.min(role.pool_size.unwrap_or(usize::MAX)).max(1)
    }
}

/// Why there is no judgement.
struct Failure {
    outcome: Outcome,
    kind: String,
    message: String,
}

/// Why a judge was not asked to the end.
enum NoJudgement {
    Failure(Failure),
    /// The run is stopped.
    Stopped,
}

impl From<Failure> for NoJudgement {
    fn from(failure: Failure) -> NoJudgement {
        NoJudgement::Failure(failure)
    }
}

/// What one judge said.
enum Judgement {
    /// Its output, as metrics read it.
    Output(Object),
    /// Nothing that could be read: why, how often it was asked, its last replies, and what all of them took.
    Unparseable { reason: String, attempts: u32, replies: Vec<String>, usage: Object },
}

impl Judging {
    pub(crate) fn new(planned: &PlannedJudges, session: &Session, permits: &RolePermits) -> Option<Judging> {
        let open = |planned: &Arc<PlannedJudge>| {
            let backend = Arc::clone(session.backend(&planned.role.backend_id)?);
            let permits = permits.of(&planned.role, backend.as_ref());
            Some(OpenJudge { planned: Arc::clone(planned), backend, permits })
        };
        let judges = planned.judges.iter().map(open).collect::<Option<Vec<_>>>()?;
        Some(Judging { judges, combine: planned.combine, attempts: planned.attempts })
    }

    /// Has an answer judged; nothing where the run is stopped before all have replied.
    pub(crate) async fn judge(&self, task: &ActiveTask, inferred: &Inferred) -> Option<Judged> {
        let case = case_of(inferred);
        let mut said: Vec<(&str, Judgement)> = Vec::with_capacity(self.judges.len());
        for judge in &self.judges {
            let id = judge.planned.judge_id.as_str();
            match judge.ask(task, &case, inferred, self.attempts).await {
                Ok(judgement) => said.push((id, judgement)),
                Err(NoJudgement::Failure(failure)) => {
                    let message = format!("{id}: {}", failure.message);
                    return Some(Judged::failed(failure.outcome, failure.kind, message));
                }
                Err(NoJudgement::Stopped) => return None,
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
                Judged::failed(Outcome::JudgeUnparseable, "judge_unparseable".to_owned(), message)
            }
            false => Judged { failure: None, output: Value::Null },
        };
        Some(Judged { output: output_of(said, self.combine), ..judged })
    }
}

/// What the judges of an answer made of it.
pub(crate) struct Judged {
    /// How the sample ends where there is no judgement, and why.
    failure: Option<(Outcome, ErrorNote)>,
    output: Value,
}

impl Judged {
    /// Whether what the judges took is told in the record, with what they said.
    pub(crate) fn holds_usage(&self) -> bool {
        !self.output.is_null()
    }

    fn failed(outcome: Outcome, kind: String, message: String) -> Judged {
        let note = ErrorNote { stage: Stage::Judge, kind, message, pointer: None };
        Judged { failure: Some((outcome, note)), output: Value::Null }
    }

    /// The answer with its judgement, or with why there is none.
    pub(crate) fn of(self, mut inferred: Inferred) -> Inferred {
        if let Some((outcome, error)) = self.failure {
            inferred.outcome = outcome;
            inferred.error = Some(error);
        }
        inferred.judge_output = self.output;
        inferred
    }
}

/// The judgements as one object: that of a single judge as it is, several with what they come to.
fn output_of(said: Vec<(&str, Judgement)>, combine: Combine) -> Value {
    let object = |judgement: Judgement| match judgement {
        Judgement::Output(output) => output,
        Judgement::Unparseable { reason, attempts, replies, usage } => {
            let mut output = usage;
            output.insert("unparseable".to_owned(), json!(reason));
            output.insert("attempts".to_owned(), attempts.into());
            output.insert("replies".to_owned(), json!(replies));
            output
        }
    };
    if said.len() == 1 {
        return said
            .into_iter()
            .next()
            .map_or(Value::Null, |(_, judgement)| Value::Object(object(judgement)));
    }
    let outputs: Vec<(String, Object)> =
        said.into_iter().map(|(id, judgement)| (id.to_owned(), object(judgement))).collect();
    let scores: Vec<f64> = outputs.iter().filter_map(|(_, output)| output.get("score")?.as_f64()).collect();
    let mut combined = Object::new();
    combined.insert("score".to_owned(), json!(combined_score(&scores, combine)));
    let answers = outputs.iter().filter_map(|(_, output)| output.get("answer"));
    if let Some(answer) = most_frequent(answers) {
        combined.insert("answer".to_owned(), answer);
    }
    combined.insert("read".to_owned(), json!(scores.len()));
    let judges: Object = outputs.into_iter().map(|(id, output)| (id, Value::Object(output))).collect();
    combined.insert("judges".to_owned(), Value::Object(judges));
    Value::Object(combined)
}

/// The scores of several judges as one; null where no judge gave one.
fn combined_score(scores: &[f64], combine: Combine) -> Option<f64> {
    if scores.is_empty() {
        return None;
    }
    // Judges are few.
    let count = scores.len() as f64;
    Some(match combine {
        Combine::Mean => scores.iter().sum::<f64>() / count,
        Combine::Vote => {
            let votes = scores.iter().filter(|score| **score >= IN_FAVOUR).count() as f64;
            match (votes * 2.0).total_cmp(&count) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            }
        }
    })
}

/// The value that comes most often, of several the first; null where two come equally often.
fn most_frequent<'v>(values: impl Iterator<Item = &'v Value>) -> Option<Value> {
    let mut counts: Vec<(&Value, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let mut first = counts.iter().filter(|(_, count)| *count == most);
    let (value, _) = first.next()?;
    Some(if first.next().is_some() { Value::Null } else { (*value).clone() })
}

/// What a component sees of a sample and its answer.
fn case_of(inferred: &Inferred) -> JudgeCase {
    JudgeCase {
        sample_id: inferred.sample_id.clone(),
        sample: inferred.sample.to_string(),
        model_output: Value::Object(without_clocks(inferred)).to_string(),
    }
}

fn without_clocks(inferred: &Inferred) -> Object {
    let output = inferred.model_output.as_object().into_iter().flatten();
    output
        .filter(|(key, _)| !CLOCKS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

impl OpenJudge {
    /// Asks until a reply can be read, at most `attempts` times.
    async fn ask(
        &self,
        task: &ActiveTask,
        case: &JudgeCase,
        inferred: &Inferred,
        attempts: u32,
    ) -> Result<Judgement, NoJudgement> {
        let judge = self.judge_of(inferred)?;
        let answer = inferred.model_output.get("answer").and_then(Value::as_str).unwrap_or_default();
        let fence = self.planned.prompt.as_ref().map(|_| Fence::around(LABEL, answer));
        let mut prompts =
            self.prompts(&judge, case, inferred, fence.as_ref().map(|fence| (fence, answer))).await?;
        let mut attempt = 1;
        let mut usage = None;
        loop {
            let mut replies = Vec::with_capacity(prompts.len());
            for (prompt, (messages, params)) in prompts.iter().enumerate() {
                let repeat = inferred.index % task.planned.spec.repeat;
                let draw = Draw { repeat, prompt, attempt: attempt - 1 };
                let mut reply =
                    self.generate(task, &inferred.sample_id, messages.clone(), params.clone(), draw).await?;
                usage = sum_of(usage, reply.usage);
                if let Some(fence) = &fence {
                    reply.answer = fence.unquoted(&reply.answer);
                }
                replies.push(reply);
            }
            let texts: Vec<String> = replies.iter().map(|reply| reply.answer.clone()).collect();
            match parse(&judge, case, replies).await? {
                Verdict::Output(mut output) => {
                    output.insert("attempts".to_owned(), attempt.into());
                    output.insert("replies".to_owned(), json!(texts));
                    output.extend(named(usage));
                    return Ok(Judgement::Output(output));
                }
                Verdict::Unparseable(reason) if attempt >= attempts => {
                    let usage = named(usage);
                    return Ok(Judgement::Unparseable { reason, attempts: attempt, replies: texts, usage });
                }
                Verdict::Unparseable(reason) => {
                    // Asked the same way, a model without temperature would say the same.
                    let wish = format!(
                        "Your reply could not be read: {reason}. Answer once more, in exactly the form that was asked for."
                    );
                    for ((messages, _), text) in prompts.iter_mut().zip(texts) {
                        messages.push(Message::text(Role::Assistant, text));
                        messages.push(Message::text(Role::User, wish.as_str()));
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// The conversations that the judge is to continue.
    async fn prompts(
        &self,
        judge: &Arc<Judge>,
        case: &JudgeCase,
        inferred: &Inferred,
        fenced: Option<(&Fence, &str)>,
    ) -> Result<Vec<(Vec<Message>, SamplingParams)>, Failure> {
        let role = &self.planned.role;
        if let (Some(prompt), Some((fence, answer))) = (&self.planned.prompt, fenced) {
            let mut output = without_clocks(inferred);
            output.insert("answer".to_owned(), fence.enclose(answer).into());
            let mut payload = support::payload_of(&inferred.support_output);
            payload.insert("model_output".to_owned(), Value::Object(output));
            let context = PromptContext {
                sample: &inferred.sample,
                payload: &payload,
                history: &[],
                adapter_id: &role.adapter_id,
                role_type: role.role_type.name(),
            };
            let messages = prompt.render(&context).map_err(|error| Failure {
                outcome: Outcome::InvalidSample,
                kind: "prompt".to_owned(),
                message: error.to_string(),
            })?;
            return Ok(vec![(messages, role.sampling_params.clone())]);
        }
        let (judge, cases) = (Arc::clone(judge), vec![case.clone()]);
        let rendered = off_the_runtime(move || judge.render(&cases).into_iter().next()).await?;
        rendered
            .into_iter()
            .map(|prompt| {
                let messages = prompt.messages.into_iter().map(message_from_guest).collect::<Result<_, _>>();
                let params = SamplingParams::from_object(prompt.params).map_err(|problems| {
                    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
                });
                let read = messages.and_then(|messages| Ok((messages, params?.over(&role.sampling_params))));
                read.map_err(|message| Failure {
                    outcome: Outcome::PluginError,
                    kind: "invalid_result".to_owned(),
                    message,
                })
            })
            .collect()
    }

    async fn generate(
        &self,
        task: &ActiveTask,
        sample_id: &str,
        messages: Vec<Message>,
        params: SamplingParams,
        draw: Draw,
    ) -> Result<ModelOutput, NoJudgement> {
        let request = GenerateRequest {
            id: format!("judge:{}:{sample_id}", self.planned.judge_id),
            messages,
            prompt: None,
            params,
            tools: Vec::new(),
            tool_choice: None,
            draw: Some(draw),
        };
        let backend_id = &self.planned.role.backend_id;
        let asked = async {
            // Whoever waits here has an answer that was paid for, so a signal does not end it.
            let place = Place::taken(vec![Arc::clone(&self.permits)], None, None);
            let place = task.unless_spent(place).await?;
            let reply = in_place(Arc::clone(&place) as _, self.backend.generate(request)).await;
            Some((reply, place))
        };
        let asked = cancellable(asked, task.stop.wait(), task.stop.wait_hard()).await.flatten();
        // Its place is free when it is known what it took, so that nobody begins behind a budget.
        let (reply, _place) = asked.unzip();
        match reply {
            None => Err(NoJudgement::Stopped),
            Some(Ok(reply)) => {
                if reply.timing.attempts > 0 {
                    task.spending.spend(backend_id, reply.output.usage, &task.run_stop);
                }
                Ok(reply.output)
            }
            Some(Err(error)) if task.is_refused(backend_id, &error) => Err(NoJudgement::Stopped),
            Some(Err(error)) => Err(NoJudgement::Failure(Failure {
                outcome: Outcome::BackendError,
                kind: error.kind.name().to_owned(),
                message: error.message,
            })),
        }
    }

    /// The component, with what the Sample changes about it.
    fn judge_of(&self, inferred: &Inferred) -> Result<Arc<Judge>, Failure> {
        let id = &self.planned.judge_id;
        let refuse = |message: String| Failure {
            outcome: Outcome::InvalidSample,
            kind: "eval_config".to_owned(),
            message,
        };
        let changed = match eval_config::of_judge(&inferred.sample, id) {
            Change::None => return Ok(Arc::clone(&self.planned.judge)),
            Change::Params(changed) => changed,
            Change::Skip | Change::Invalid => {
                return Err(refuse(format!("eval_config.judge.{id} must be an object of parameters")));
            }
        };
        let judge = self.planned.judge.with_params(changed);
        judge.map(Arc::new).map_err(|problems| refuse(eval_config::wrong("judge", id, &problems)))
    }
}

async fn parse(judge: &Arc<Judge>, case: &JudgeCase, replies: Vec<ModelOutput>) -> Result<Verdict, Failure> {
    let replies = replies.into_iter().map(output_to_guest).collect();
    let (judge, replied) = (Arc::clone(judge), vec![JudgeReply { case: case.clone(), replies }]);
    off_the_runtime(move || judge.parse(&replied).into_iter().next()).await
}

/// Calls a component, which may take a while.
async fn off_the_runtime<T: Send + 'static>(
    call: impl FnOnce() -> Option<Result<T, ItemError>> + Send + 'static,
) -> Result<T, Failure> {
    let internal = |message: &str| Failure {
        outcome: Outcome::PluginError,
        kind: "internal".to_owned(),
        message: message.to_owned(),
    };
    match tokio::task::spawn_blocking(call).await {
        Ok(Some(Ok(result))) => Ok(result),
        Ok(Some(Err(error))) => {
            Err(Failure { outcome: error.outcome, kind: error.kind.to_owned(), message: error.message })
        }
        Ok(None) => Err(internal("the judge gave no result")),
        Err(_) => Err(internal("the call of the judge failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_judges_become_one() {
        let output = |score: f64, answer: &str| {
            Judgement::Output(Object::from_iter([
                ("score".to_owned(), json!(score)),
                ("answer".to_owned(), json!(answer)),
            ]))
        };
        let unread = || Judgement::Unparseable {
            reason: "no line".to_owned(),
            attempts: 3,
            replies: vec!["x".to_owned()],
            usage: Object::new(),
        };
        for (said, combine, score, answer) in [
            (
                vec![output(1.0, "A"), output(0.5, "A"), output(0.0, "B")],
                Combine::Mean,
                json!(0.5),
                json!("A"),
            ),
            (
                vec![output(1.0, "A"), output(0.5, "A"), output(0.0, "B")],
                Combine::Vote,
                json!(1.0),
                json!("A"),
            ),
            (vec![output(1.0, "A"), output(0.0, "B")], Combine::Vote, json!(0.5), json!(null)),
            (vec![output(1.0, "A"), unread()], Combine::Mean, json!(1.0), json!("A")),
            (vec![unread(), unread()], Combine::Mean, json!(null), json!(null)),
        ] {
            let said: Vec<(&str, Judgement)> = ["a", "b", "c"].into_iter().zip(said).collect();
            let count = said.len();
            let combined = output_of(said, combine);
            assert_eq!((&combined["score"], &combined["answer"]), (&score, &answer));
            assert_eq!(combined["judges"].as_object().map(Object::len), Some(count));
        }
        let single = output_of(vec![("a", output(0.25, "A"))], Combine::Vote);
        assert_eq!(single, json!({"score": 0.25, "answer": "A"}));
    }
}
