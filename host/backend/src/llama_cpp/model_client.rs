//! Client of a model in another process: sends requests and receives answers.

use super::hang_watchdog::{
    CHECK_INTERVAL, Hang, HangWatchdog, ProcessActivity, ProcessHealth, ProcessPhase, WatchdogLimits,
};
use super::process_handle::ProcessHandle;
use crate::api::{BackendError, BackendErrorKind};
use crate::cancellation::waiting;
use gage_core::{ChangedFile, FileUse, PinnedFiles};
use gage_model_protocol::{
    Counts, FromModel, Job, JobError, JobErrorKind, JobResult, LoadedModel, ModelOptions, ToModel,
};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Time that a process may take to exit by itself once no more requests can come.
const MAX_EXIT_TIME: Duration = Duration::from_secs(2);

/// Facts about a loaded model, or the reason why it is not loaded.
pub type LoadResult = Result<LoadedModel, String>;

/// Requests that wait for an answer, and the channel for sending more.
#[derive(Default)]
pub struct ModelClient {
    state: Mutex<ClientState>,
    /// Files that the model was loaded from.
    pub files: PinnedFiles,
    /// True while the process has requests and shows no sign of life.
    silence: watch::Sender<bool>,
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
    /// The running process.
    pub process: Option<ProcessHandle>,
    /// Time when the process began to load the model; `None` when it is loaded.
    loading_since: Option<Instant>,
    /// Duration of the first load.
    load_time: Duration,
    /// Number of messages of all processes, and of starts of processes: the signs of life.
    messages: u64,
    /// Hang for which the process was killed.
    hang: Option<Hang>,
    /// Number of crashes of the model, including hangs.
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
        let mut guard = ReplyGuard { client: self, number: Some(number) };
        let done = self.reply_of(answer).await;
        guard.number = None;
        done.map_err(|_| internal("the model process has exited; see its log"))?
    }

    /// Waits for a reply. While the process is silent, the request counts as one that only waits, so that a stopped run
    /// drops it.
    async fn reply_of<T>(&self, mut reply: oneshot::Receiver<T>) -> Result<T, oneshot::error::RecvError> {
        let mut silence = self.silence.subscribe();
        loop {
            tokio::select! {
                biased;
                done = &mut reply => return done,
                () = becomes(&mut silence, true) => {}
            }
            tokio::select! {
                biased;
                done = waiting(&mut reply) => return done,
                () = becomes(&mut silence, false) => {}
            }
        }
    }

    /// Checks the process for signs of life. Kills it when it hangs, which its supervisor handles like a crash.
    fn check_process(&self, watchdog: &mut HangWatchdog, now: tokio::time::Instant) {
        let mut state = self.state();
        let health = watchdog.check(now, &state.activity());
        match health {
            ProcessHealth::Responsive | ProcessHealth::Silent => {}
            ProcessHealth::Hung(hang) => state.kill(hang),
            ProcessHealth::Unkillable(hang) => {
                state.fail_all(model_lost(format!(
                    "{hang}, and its process does not exit, although it was killed"
                )));
            }
        }
        drop(state);
        let is_silent = health != ProcessHealth::Responsive;
        self.silence.send_if_modified(|was_silent| std::mem::replace(was_silent, is_silent) != is_silent);
    }

    /// Handles a message from the model. Must be called from a thread that may block: after a change of a model file's
    /// metadata, its digest is computed again.
    pub fn on_message(&self, message: FromModel) {
        // The process maps its files. An answer that was computed from other weights must not be recorded.
        if matches!(message, FromModel::Done(..))
            && let Err(changed) = self.files.check(self.file_use())
        {
            return self.state().fail_all(model_lost(described(&changed)));
        }
        let mut state = self.state();
        state.messages += 1;
        match message {
            FromModel::Progress => {}
            FromModel::Opened(loaded) => {
                state.on_loaded();
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
                None => state.fail_all(model_lost(format!("the model could not be loaded again: {reason}"))),
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

    /// Checks that the files of the model have not changed, before the model is loaded again.
    ///
    /// # Errors
    /// If a file changed or is gone; the message names it.
    pub fn check_files_before_reload(&self) -> Result<(), String> {
        self.files.check(FileUse::Reload).map_err(|changed| described(&changed))
    }

    /// Checks that the files of the model have not changed. Reads those again that were written to.
    ///
    /// # Errors
    /// If a file changed; the message names it.
    pub fn check_files_after_use(&self) -> Result<(), String> {
        self.files.check_after_use(self.file_use()).map_err(|changed| described(&changed))
    }

    fn file_use(&self) -> FileUse {
        // After a reload, it is unknown which version of a file the model has open.
        if self.state().crashes == 0 { FileUse::Open } else { FileUse::Reload }
    }

    fn cancel(&self, number: u64) {
        let mut state = self.state();
        if let Some(outbox) = &state.outbox {
            let _ = outbox.send(ToModel::Cancel(number));
        }
        state.remove_request(number);
    }
}

impl Drop for ModelClient {
    /// Ends the process. One that does not exit by itself is killed: it may hang, and would keep its memory.
    fn drop(&mut self) {
        let max_exit_time = if *self.silence.borrow() { Duration::ZERO } else { MAX_EXIT_TIME };
        let state = self.state.get_mut();
        // Closes the stream of requests, at whose end the process exits.
        state.outbox = None;
        if let Some(process) = state.process.take()
            && process.wait_up_to(max_exit_time).is_none()
        {
            process.kill();
        }
    }
}

impl ClientState {
    /// Returns the options of the next load. After the first one, they name what it chose, which depended on the memory
    /// that was free then.
    pub fn options_of_next_load(&self, configured: &ModelOptions) -> ModelOptions {
        match &self.loaded {
            None => configured.clone(),
            Some(loaded) => loaded.settings.fixed_in(configured),
        }
    }

    /// Takes over a process that has just started.
    pub fn on_launch(&mut self, process: ProcessHandle, outbox: Sender<ToModel>) {
        self.process = Some(process);
        self.loading_since = Some(Instant::now());
        self.messages += 1;
        self.outbox = Some(outbox);
        self.send_pending();
    }

    fn on_loaded(&mut self) {
        let Some(since) = self.loading_since.take() else { return };
        if self.loaded.is_none() {
            self.load_time = since.elapsed();
        }
    }

    /// Gives up a process that has closed its streams. Returns the hang that it was killed for.
    pub fn on_process_end(&mut self) -> Option<Hang> {
        self.process = None;
        self.loading_since = None;
        self.hang.take()
    }

    fn activity(&self) -> ProcessActivity {
        let phase = match (&self.loading_since, &self.opening) {
            (None, _) => ProcessPhase::Serving,
            (Some(_), Some(_)) => ProcessPhase::Loading,
            (Some(_), None) => ProcessPhase::LoadingAgain { first_load: self.load_time },
        };
        ProcessActivity {
            is_running: self.process.is_some(),
            has_requests: !self.pending.is_empty() || self.opening.is_some(),
            messages: self.messages,
            phase,
        }
    }

    /// Kills the process because it hangs.
    fn kill(&mut self, hang: Hang) {
        if let Some(process) = &self.process {
            self.hang.get_or_insert(hang);
            process.kill();
        }
    }

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

/// Watches the process of a client until the client is dropped. A process that hangs is killed.
pub async fn watch_process(client: Weak<ModelClient>, limits: WatchdogLimits) {
    let mut watchdog = HangWatchdog::new(limits);
    while let Some(client) = client.upgrade() {
        client.check_process(&mut watchdog, tokio::time::Instant::now());
        drop(client);
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Waits until a value becomes this one.
async fn becomes(value: &mut watch::Receiver<bool>, expected: bool) {
    let is_gone = value.wait_for(|value| *value == expected).await.is_err();
    if is_gone {
        // Without a sender, the value stays.
        std::future::pending::<()>().await;
    }
}

fn described(changed: &ChangedFile) -> String {
    format!("{} changed after the model was loaded: {changed}", changed.path.display())
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
    use std::path::PathBuf;
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
        let done = JobResult { answer, latency: Duration::ZERO, first_token: None };
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
                modules: BTreeMap::new(),
                devices: Vec::new(),
                llama_cpp_2: "0".to_owned(),
                llama_cpp_sys_2: "0".to_owned(),
            };
            let loaded = LoadedModel { facts, settings, kernels, projector: None, grammar: None, build };
            FromModel::Opened(Box::new(loaded))
        };
        let client = ModelClient::default();
        let (opening, opened) = oneshot::channel();
        client.state().opening = Some(opening);
        let configured = ModelOptions { batch_size: 32, ..ModelOptions::new(PathBuf::from("m.gguf")) };
        let next = || {
            let next = client.state().options_of_next_load(&configured);
            (next.gpu_layers, next.slots, next.context_length, next.batch_size)
        };
        assert_eq!(next(), (None, 8, None, 32));
        client.on_message(loaded(8));
        assert!(opened.await.expect("an answer").is_ok());
        assert_eq!(next(), (Some(8), 1, Some(64), 32), "what the first load chose");
        client.on_message(loaded(8));
        assert!(client.state().ended.is_none());
        client.on_message(loaded(4));
        let ended = client.state().ended.clone().expect("it ended");
        assert_eq!(ended.kind, BackendErrorKind::ModelLost);
        assert!(ended.message.contains("other settings than before"), "{}", ended.message);
    }

    /// The model could not be loaded again, which is not a result of the requests that wait for it.
    #[test]
    fn refused_reload_ends_the_model() {
        let client = ModelClient::default();
        client.on_message(FromModel::Refused("the file cannot be read".to_owned()));
        let ended = client.state().ended.clone().expect("it ended");
        assert_eq!(ended.kind, BackendErrorKind::ModelLost);
        assert_eq!(ended.message, "the model could not be loaded again: the file cannot be read");
    }

    #[cfg(unix)]
    fn job(name: &str) -> Job {
        Job { name: name.to_owned(), task: Task::Roll(Prompt::default()) }
    }

    /// Creates a client of a loaded model whose process never sends a message, and starts to watch it.
    #[cfg(unix)]
    fn silent_client(hang_timeout_s: u64) -> (Arc<ModelClient>, ProcessHandle, Receiver<ToModel>) {
        let child = std::process::Command::new("sleep").arg("3600").spawn().expect("a process");
        let (client, process) = (Arc::new(ModelClient::default()), ProcessHandle::new(child));
        let (outbox, inbox) = channel();
        client.state().on_launch(process.clone(), outbox);
        client.state().on_loaded();
        let limits = WatchdogLimits::new(Duration::from_secs(hang_timeout_s), 0);
        tokio::spawn(watch_process(Arc::downgrade(&client), limits));
        (client, process, inbox)
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn a_process_that_hangs_is_killed_after_its_limit() {
        let (client, process, _inbox) = silent_client(120);
        let began = tokio::time::Instant::now();
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(process.wait_up_to(Duration::ZERO).is_none(), "it has nothing to do");
        let asked = Arc::clone(&client);
        let reply = tokio::spawn(async move { asked.ask(job("a")).await.map(|_| ()) });
        tokio::time::sleep(Duration::from_secs(119)).await;
        assert!(client.state().hang.is_none());
        client.on_message(FromModel::Progress);
        tokio::time::sleep(Duration::from_secs(119)).await;
        assert!(client.state().hang.is_none(), "it has shown a sign of life");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(client.state().hang.is_some());
        assert!(process.wait_up_to(Duration::from_secs(60)).is_some(), "it was killed");
        // A killed process that keeps its streams open would never be replaced.
        let error = reply.await.expect("no panic").expect_err("it cannot be killed");
        assert_eq!(error.kind, BackendErrorKind::ModelLost);
        assert!(error.message.ends_with("does not exit, although it was killed"), "{}", error.message);
        assert!(began.elapsed() < Duration::from_secs(600 + 119 + 120 + 12));
    }

    /// As if a file of the model was a pipe, or its grammar took years.
    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn a_first_load_that_hangs_is_killed() {
        let child = std::process::Command::new("sleep").arg("3600").spawn().expect("a process");
        let (client, process) = (Arc::new(ModelClient::default()), ProcessHandle::new(child));
        let (outbox, _inbox) = channel();
        client.state().on_launch(process.clone(), outbox);
        let (opening, _opened) = oneshot::channel();
        client.state().opening = Some(opening);
        let limits = WatchdogLimits::new(Duration::from_secs(120), 3_000_000_000);
        tokio::spawn(watch_process(Arc::downgrade(&client), limits));
        // One more minute, because the file is large.
        tokio::time::sleep(Duration::from_secs(179)).await;
        assert!(client.state().hang.is_none());
        client.on_message(FromModel::Progress);
        tokio::time::sleep(Duration::from_secs(179)).await;
        assert!(client.state().hang.is_none(), "it has shown a sign of life");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(client.state().hang.is_some());
        assert!(process.wait_up_to(Duration::from_secs(60)).is_some(), "it was killed");
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn a_stopped_run_drops_requests_of_a_silent_process() {
        use crate::cancellation::cancellable;
        use std::future::pending;
        for (stop_s, messages, expected_s) in [(1, 0, 3), (30, 0, 30), (1, 8, 11)] {
            let (client, process, _inbox) = silent_client(120);
            let began = tokio::time::Instant::now();
            let beside = Arc::clone(&client);
            let responsive = tokio::spawn(async move {
                for _ in 0..messages {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    beside.on_message(FromModel::Progress);
                }
            });
            let stopping = tokio::time::sleep(Duration::from_secs(stop_s));
            let asked = cancellable(client.ask(job("a")), stopping, pending()).await;
            assert!(asked.is_none(), "it is dropped");
            let took_s = began.elapsed().as_secs();
            assert!((expected_s..=expected_s + 1).contains(&took_s), "{stop_s}, {messages}: {took_s} s");
            assert!(client.state().pending.is_empty());
            responsive.await.expect("no panic");
            assert!(process.wait_up_to(Duration::ZERO).is_none(), "it was not killed");
            drop(client);
            assert!(process.wait_up_to(Duration::from_secs(60)).is_some(), "the client takes it along");
        }
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
