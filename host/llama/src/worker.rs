//! Worker of a model: the loop that answers its requests.

use crate::embedding::Embedder;
use crate::load::{Adapter, OpenContext, load_model};
use crate::load_error::LoadError;
use crate::message_sender::MessageSender;
use crate::model::{LoadProgress, keeps_prefixes};
use crate::scheduler::{Event, Scheduler};
use gage_model_protocol::{FromModel, Job, JobError, JobResult, ModelOptions, Settings, Task, ToModel};
use llama_cpp_2::model::LlamaModel;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

/// Loads a model, reports it, and answers requests until the stream of messages ends or a message cannot be sent.
pub fn run(
    mut options: ModelOptions,
    messages: &Receiver<ToModel>,
    send: impl FnMut(FromModel) -> ControlFlow<()> + 'static,
) {
    let sender = MessageSender::new(send);
    let during_load = sender.clone();
    let on_progress: LoadProgress = Rc::new(move || during_load.report_progress(Instant::now()));
    let mut opened = match load_model(&mut options, &on_progress) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error, &sender),
    };
    let shares = keeps_prefixes(&opened.model);
    // The model is borrowed by its contexts, so all work on it happens in this scope.
    let OpenContext { model, context, vision, adapter, loaded } = match opened.context(&mut options) {
        Ok(made) => made,
        Err(error) => return refuse(&error, &sender),
    };
    let settings = loaded.settings;
    if sender.send(FromModel::Opened(Box::new(loaded))).is_break() {
        return;
    }
    let mut worker = Worker {
        scheduler: Scheduler::new(model, context, settings, &options, shares, vision),
        embedder: None,
        model,
        adapter,
        settings,
        options: &options,
        sender,
    };
    while worker.step(messages).is_continue() {}
}

fn refuse(error: &LoadError, sender: &MessageSender<impl FnMut(FromModel) -> ControlFlow<()>>) {
    // If the host is gone, there is nothing to do.
    let _ = sender.send(FromModel::Refused(error.to_string()));
}

/// A loaded model and its requests.
struct Worker<'m, S> {
    scheduler: Scheduler<'m>,
    /// Created when embeddings are first requested.
    embedder: Option<Embedder<'m>>,
    model: &'m LlamaModel,
    adapter: Option<Adapter<'m>>,
    settings: Settings,
    options: &'m ModelOptions,
    sender: MessageSender<S>,
}

impl<S: FnMut(FromModel) -> ControlFlow<()>> Worker<'_, S> {
    /// Handles all pending messages, computes one call of the model and sends the results, or at least a sign of life.
    fn step(&mut self, messages: &Receiver<ToModel>) -> ControlFlow<()> {
        if self.scheduler.is_idle() {
            match messages.recv() {
                Ok(message) => self.handle(message)?,
                Err(_) => return ControlFlow::Break(()),
            }
        }
        loop {
            match messages.try_recv() {
                Ok(message) => self.handle(message)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return ControlFlow::Break(()),
            }
        }
        if !self.scheduler.is_idle() {
            let sender = &self.sender;
            self.scheduler.step(|| {
                // If the host is gone, the next message shows it.
                let _ = sender.report_progress(Instant::now());
            });
        }
        for event in self.scheduler.take_events() {
            let message = match event {
                Event::Began(number) => FromModel::Started(number),
                Event::Done(number, done) => FromModel::Done(number, Box::new(done), self.scheduler.counts),
            };
            self.sender.send(message)?;
        }
        self.sender.report_progress(Instant::now())
    }

    fn handle(&mut self, message: ToModel) -> ControlFlow<()> {
        let (number, job) = match message {
            ToModel::Ask(number, job) => (number, *job),
            ToModel::Cancel(number) => {
                self.scheduler.cancel(number);
                return ControlFlow::Continue(());
            }
        };
        // Preparing a text, before its turn comes, may also crash.
        self.sender.send(FromModel::Started(number))?;
        let message = match job {
            Job { name, task: Task::Embed(texts) } => {
                let done = self.embed(&name, texts);
                FromModel::Done(number, Box::new(done), self.scheduler.counts)
            }
            job => {
                self.scheduler.push(number, job);
                FromModel::Queued(number)
            }
        };
        self.sender.send(message)
    }

    fn embed(&mut self, name: &str, texts: Vec<String>) -> Result<JobResult, JobError> {
        let mut embedder = match self.embedder.take() {
            Some(embedder) => embedder,
            None => {
                let adapter = self.adapter.as_mut().map(|(adapter, scale)| (&mut **adapter, *scale));
                Embedder::new(self.model, &self.settings, self.options, adapter)?
            }
        };
        let sender = &self.sender;
        let done = embedder.embed(name, texts, || {
            let _ = sender.report_progress(Instant::now());
        });
        self.embedder = Some(embedder);
        done
    }
}
