//! Client of a model in another process: sends requests and receives answers.

use super::pinned_files::{FileUse, PinnedFiles};
use crate::api::{BackendError, BackendErrorKind};
use gage_model_protocol::{Counts, FromModel, Job, JobError, JobErrorKind, JobResult, LoadedModel, ToModel};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// Facts about a loaded model, or the reason why it is not loaded.
pub type LoadResult = Result<LoadedModel, String>;

/// Requests that wait for an answer, and the channel for sending more.
#[derive(Default)]
pub struct ModelClient {
    state: Mutex<ClientState>,
    /// Files that the model was loaded from.
    pub files: PinnedFiles,
}

/// State of a client.
#[derive(Default)]
pub struct ClientState {
    /// Channel for messages; `None` before there is a model, and after it ended.
    pub outbox: Option<Sender<ToModel>>,
    /// Facts reported when the model was first loaded. A reload must yield the same.
    loaded: Option<Box<LoadedModel>>,
    /// Waiter for the model to be loaded.
    pub opening: Option<oneshot::Sender<LoadResult>>,
    /// Requests without an answer, oldest first.
    pub pending: BTreeMap<u64, PendingRequest>,
    /// Requests that were being worked on when the model crashed. They are retried one at a time.
    pub suspects: Vec<u64>,
    /// Error that ended the model; no further request can be answered.
    pub ended: Option<BackendError>,
    /// Counters of the model and of the crashed processes before it, as last reported with an answer.
    pub counts: Counts,
    /// Counters of the earlier processes.
    earlier: Counts,
    /// Id of its process.
    pub process_id: Option<u32>,
    /// Number of crashes of the model.
    pub crashes: u32,
    next: u64,
}

/// A request without an answer.
pub struct PendingRequest {
    /// Copy of the job, which a crash would otherwise lose.
    pub job: Job,
    /// True if the model has started to work on it.
    pub has_begun: bool,
    /// Number of crashes while the model worked on it.
    pub crashes: u32,
    reply: oneshot::Sender<Result<JobResult, BackendError>>,
}

impl PendingRequest {
    /// Answers the request.
    pub fn answer(self, done: Result<JobResult, BackendError>) {
        let attempts = self.crashes + 1;
        // The receiver is gone if the request was cancelled.
        let _ = self.reply.send(done.map_err(|error| BackendError { attempts, ..error }));
    }
}

impl ModelClient {
    /// Returns its state.
    pub fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock()
    }

    /// Sends a request and waits for the answer. It is retried after a crash.
    ///
    /// # Errors
    /// Returns the model's error, or that it has ended.
    pub async fn ask(&self, job: Job) -> Result<JobResult, BackendError> {
        let (reply, answer) = oneshot::channel();
        let number = {
            let mut state = self.state();
            if let Some(error) = &state.ended {
                return Err(error.clone());
            }
            let number = state.next;
            state.next += 1;
            let kept = job.clone();
            state.pending.insert(number, PendingRequest { job: kept, has_begun: false, crashes: 0, reply });
            if state.suspects.is_empty()
                && let Some(outbox) = &state.outbox
            {
                // If the model has just ended, its supervisor sends the request again.
                let _ = outbox.send(ToModel::Ask(number, Box::new(job)));
            }
            number
        };
        let mut waiting = ReplyGuard { client: self, number: Some(number) };
        let done = answer.await;
        waiting.number = None;
        done.map_err(|_| internal("the model process has exited; see its log"))?
    }

    /// Handles a message from the model.
    pub fn on_message(&self, message: FromModel) {
        let mut state = self.state();
        match message {
            FromModel::Opened(loaded) => {
                let is_different = state.loaded.as_ref().is_some_and(|first| *first != loaded);
                if let Some(opening) = state.opening.take() {
                    state.loaded = Some(loaded.clone());
                    let _ = opening.send(Ok(*loaded));
                } else if is_different {
                    state.fail_all(model_lost(
                        "the model was loaded after a crash with other settings than before; memory may be short",
                    ));
                }
            }
            FromModel::Refused(reason) => match state.opening.take() {
                Some(opening) => drop(opening.send(Err(reason))),
                None => state.fail_all(internal(format!("the model could not be loaded again: {reason}"))),
            },
            FromModel::Started(number) | FromModel::Queued(number) => {
                if let Some(pending) = state.pending.get_mut(&number) {
                    pending.has_begun = matches!(message, FromModel::Started(_));
                }
            }
            FromModel::Done(number, done, counts) => {
                state.counts = state.earlier.and(counts);
                if let Some(pending) = state.remove_request(number) {
                    pending.answer((*done).map_err(error_of));
                }
            }
        }
    }

    /// Checks that the files of the model have not changed.
    ///
    /// # Errors
    /// If a file changed; the message names it.
    pub fn check_files(&self) -> Result<(), String> {
        // After a reload, it is unknown which version of a file the model has open.
        let used = if self.state().crashes == 0 { FileUse::Open } else { FileUse::Reload };
        self.files.check(used)
    }

    fn cancel(&self, number: u64) {
        let mut state = self.state();
        if let Some(outbox) = &state.outbox {
            let _ = outbox.send(ToModel::Cancel(number));
        }
        state.remove_request(number);
    }
}

impl ClientState {
    /// Removes a request, and sends the next one if it was retried alone.
    fn remove_request(&mut self, number: u64) -> Option<PendingRequest> {
        let was_on_trial = self.suspects.first() == Some(&number);
        self.suspects.retain(|suspect| *suspect != number);
        let pending = self.pending.remove(&number);
        if was_on_trial {
            self.send_pending();
        }
        pending
    }

    /// Sends waiting requests: first those suspected of crashing the model, one at a time, and then all others.
    pub fn send_pending(&mut self) {
        let Some(outbox) = &self.outbox else { return };
        let send = |number: u64, pending: &PendingRequest| {
            // If the model has just ended, its supervisor sends the request again.
            let _ = outbox.send(ToModel::Ask(number, Box::new(pending.job.clone())));
        };
        match self.suspects.first() {
            Some(number) => {
                if let Some(pending) = self.pending.get(number) {
                    send(*number, pending);
                }
            }
            None => self.pending.iter().for_each(|(number, pending)| send(*number, pending)),
        }
    }

    /// Records a crash of the model. The requests in progress are retried once, alone, and then failed.
    pub fn on_crash(&mut self, failed: impl Fn() -> BackendError) {
        self.outbox = None;
        self.crashes += 1;
        self.earlier = self.counts;
        self.suspects.clear();
        let mut guilty = Vec::new();
        for (number, pending) in &mut self.pending {
            if std::mem::take(&mut pending.has_begun) {
                pending.crashes += 1;
            }
            match pending.crashes {
                0 => {}
                1 => self.suspects.push(*number),
                _ => guilty.push(*number),
            }
        }
        for number in guilty {
            if let Some(mut pending) = self.pending.remove(&number) {
                pending.crashes -= 1;
                pending.answer(Err(failed()));
            }
        }
    }

    /// Answers all pending and future requests with an error.
    pub fn fail_all(&mut self, error: BackendError) {
        self.outbox = None;
        self.suspects.clear();
        for (_, pending) in std::mem::take(&mut self.pending) {
            pending.answer(Err(error.clone()));
        }
        if let Some(opening) = self.opening.take() {
            let _ = opening.send(Err(error.message.clone()));
        }
        self.ended = Some(error);
    }
}

/// Creates an error that the request did not cause.
pub fn internal(message: impl Into<String>) -> BackendError {
    BackendError::new(BackendErrorKind::Internal, message)
}

fn error_of(error: JobError) -> BackendError {
    let kind = match error.kind {
        JobErrorKind::Rejected => BackendErrorKind::Rejected,
        JobErrorKind::ContextLength => BackendErrorKind::ContextLength,
        JobErrorKind::Unsupported => BackendErrorKind::Unsupported,
        JobErrorKind::Internal => BackendErrorKind::Internal,
    };
    BackendError::new(kind, error.message)
}

/// Creates the error of every request after a model can no longer be used.
pub fn model_lost(message: impl Into<String>) -> BackendError {
    BackendError::new(BackendErrorKind::ModelLost, message)
}

/// Cancels a request when dropped before its reply.
struct ReplyGuard<'l> {
    client: &'l ModelClient,
    number: Option<u64>,
}

impl Drop for ReplyGuard<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.client.cancel(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_model_protocol::{Answer, BuildInfo, KernelBuild, ModelFacts, Prompt, Settings, Task};
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};

    fn asked(inbox: &Receiver<ToModel>) -> Vec<u64> {
        let number = |message| match message {
            ToModel::Ask(number, _) => Some(number),
            _ => None,
        };
        inbox.try_iter().filter_map(number).collect()
    }

    fn done(number: u64) -> FromModel {
        let answer = Answer::Rolled { logprob: -1.0, token_count: 1 };
        let done = JobResult { answer, latency: std::time::Duration::ZERO, first_token: None };
        FromModel::Done(number, Box::new(Ok(done)), COUNTED)
    }

    /// Counters that each model in these tests reports with every answer.
    const COUNTED: Counts = Counts {
        evaluated_tokens: 7,
        reused_tokens: 5,
        generated_tokens: 3,
        images: 1,
        calls: 2,
        most_requests: 2,
    };

    /// A restarted model counts from zero. The counts of the one before it are kept.
    #[test]
    fn counts_of_a_model_that_crashed_are_kept() {
        let client = ModelClient::default();
        let counted = |models: u64| Counts {
            evaluated_tokens: 7 * models,
            reused_tokens: 5 * models,
            generated_tokens: 3 * models,
            images: models,
            calls: 2 * models,
            most_requests: 2,
        };
        for models in 1..4 {
            client.on_message(done(0));
            client.on_message(done(1));
            assert_eq!(client.state().counts, counted(models));
            client.state().on_crash(|| BackendError::new(BackendErrorKind::ModelCrashed, "crashed"));
            assert_eq!(client.state().counts, counted(models), "before the next one answers");
        }
    }

    /// Two of three requests are in progress when the model crashes, and one of them crashes it again.
    ///
    /// That one fails, and the others are answered.
    #[tokio::test]
    async fn only_what_crashes_twice_by_itself_fails() {
        let client = Arc::new(ModelClient::default());
        let (outbox, inbox) = channel();
        client.state().outbox = Some(outbox);
        let ask = |name: &str| {
            let (client, job) =
                (Arc::clone(&client), Job { name: name.to_owned(), task: Task::Roll(Prompt::default()) });
            tokio::spawn(async move { client.ask(job).await })
        };
        let mut replies = Vec::new();
        for name in ["guilty", "beside", "behind"] {
            replies.push(ask(name));
            tokio::task::yield_now().await;
        }
        assert_eq!(asked(&inbox), [0, 1, 2]);
        // Requests that are only waiting when the model crashes are not suspected.
        client.on_message(FromModel::Started(2));
        client.on_message(FromModel::Queued(2));
        client.on_message(FromModel::Started(0));
        client.on_message(FromModel::Started(1));
        let failed = || BackendError::new(BackendErrorKind::ModelCrashed, "crashed");
        let crash = || {
            let (outbox, inbox) = channel();
            let mut state = client.state();
            state.on_crash(failed);
            state.outbox = Some(outbox);
            state.send_pending();
            inbox
        };
        let inbox = crash();
        assert_eq!(asked(&inbox), [0], "the suspects come one at a time");
        client.on_message(FromModel::Started(0));
        let inbox = crash();
        assert_eq!(asked(&inbox), [1]);
        client.on_message(FromModel::Started(1));
        client.on_message(done(1));
        assert_eq!(asked(&inbox), [2], "then what had not begun");
        client.on_message(done(2));
        let mut ends = Vec::new();
        for reply in replies {
            ends.push(reply.await.expect("no panic").map_err(|error| (error.kind, error.attempts)).err());
        }
        assert_eq!(ends, [Some((BackendErrorKind::ModelCrashed, 2)), None, None]);
        client.state().fail_all(failed());
        assert!(
            client.ask(Job { name: "late".to_owned(), task: Task::Roll(Prompt::default()) }).await.is_err()
        );
    }

    /// A reload with, say, fewer layers on the GPU would give different results than the rest of the run.
    #[tokio::test]
    async fn reload_with_other_settings_ends_the_model() {
        let loaded = |gpu_layers| {
            let settings = Settings {
                context_length: 64,
                slots: 1,
                threads: 1,
                call_tokens: 64,
                call_rows: 64,
                deterministic: false,
                gpu_layers,
                image_tokens: 0,
            };
            let (facts, kernels) = (ModelFacts::default(), "CPU".to_owned());
            let build = BuildInfo {
                version: "0".to_owned(),
                protocol: 0,
                variant: KernelBuild::Baseline.into(),
                llama_cpp_2: "0".to_owned(),
                llama_cpp_sys_2: "0".to_owned(),
            };
            let loaded = LoadedModel { facts, settings, kernels, projector: None, grammar: None, build };
            FromModel::Opened(Box::new(loaded))
        };
        let client = ModelClient::default();
        let (opening, opened) = oneshot::channel();
        client.state().opening = Some(opening);
        client.on_message(loaded(8));
        assert!(opened.await.expect("an answer").is_ok());
        client.on_message(loaded(8));
        assert!(client.state().ended.is_none());
        client.on_message(loaded(4));
        let ended = client.state().ended.clone().expect("it ended");
        assert_eq!(ended.kind, BackendErrorKind::ModelLost);
        assert!(ended.message.contains("other settings than before"), "{}", ended.message);
    }

    #[tokio::test]
    async fn what_is_given_up_is_told_to_the_model() {
        let client = Arc::new(ModelClient::default());
        let (outbox, inbox) = channel();
        client.state().outbox = Some(outbox);
        let job = Job { name: "dropped".to_owned(), task: Task::Roll(Prompt::default()) };
        {
            let waiting = client.ask(job);
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        assert!(matches!(inbox.try_recv(), Ok(ToModel::Ask(0, _))));
        assert!(matches!(inbox.try_recv(), Ok(ToModel::Cancel(0))));
        assert!(client.state().pending.is_empty());
    }
}
