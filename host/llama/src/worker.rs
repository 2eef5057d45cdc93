//! Worker of a model: the loop that answers its requests.

use crate::embedding::Embedder;
use crate::load::{Adapter, OpenContext, load_model};
use crate::load_error::LoadError;
use crate::model::keeps_prefixes;
use crate::scheduler::{Event, Scheduler};
use gage_model_protocol::{FromModel, Job, JobError, ModelOptions, Settings, Task, ToModel};
use llama_cpp_2::model::LlamaModel;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Loads a model, reports it, and answers requests until the stream of messages ends or a message cannot be sent.
pub fn run(
    mut options: ModelOptions,
    messages: &Receiver<ToModel>,
    mut send: impl FnMut(FromModel) -> ControlFlow<()>,
) {
    let mut opened = match load_model(&mut options) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error, send),
    };
    let shares = keeps_prefixes(&opened.model);
    // The model is borrowed by its contexts, so all work on it happens in this scope.
    let OpenContext { model, context, vision, adapter, loaded } = match opened.context(&mut options) {
        Ok(made) => made,
        Err(error) => return refuse(&error, send),
    };
    let settings = loaded.settings;
    if send(FromModel::Opened(Box::new(loaded))).is_break() {
        return;
    }
    let mut worker = Worker {
        scheduler: Scheduler::new(model, context, settings, &options, shares, vision),
        embedder: None,
        model,
        adapter,
        settings,
        options: &options,
        send,
    };
    while worker.step(messages).is_continue() {}
}

fn refuse(error: &LoadError, mut send: impl FnMut(FromModel) -> ControlFlow<()>) {
    // If the host is gone, there is nothing to do.
    let _ = send(FromModel::Refused(error.to_string()));
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
    send: S,
}

impl<S: FnMut(FromModel) -> ControlFlow<()>> Worker<'_, S> {
    /// Handles all pending messages, computes one call of the model and sends the results.
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
            self.scheduler.step();
        }
        for event in self.scheduler.take_events() {
            let message = match event {
                Event::Began(number) => FromModel::Started(number),
                Event::Done(number, done) => FromModel::Done(number, Box::new(done), self.scheduler.counts),
            };
            (self.send)(message)?;
        }
        ControlFlow::Continue(())
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
        (self.send)(FromModel::Started(number))?;
        let message = match job {
            Job { name, task: Task::Embed(texts) } => {
                let done = match self.embedder() {
                    Ok(embedder) => embedder.embed(&name, texts),
                    Err(error) => Err(error),
                };
                FromModel::Done(number, Box::new(done), self.scheduler.counts)
            }
            job => {
                self.scheduler.push(number, job);
                FromModel::Queued(number)
            }
        };
        (self.send)(message)
    }
}

impl<'m, S> Worker<'m, S> {
    fn embedder(&mut self) -> Result<&mut Embedder<'m>, JobError> {
        let made = match self.embedder.take() {
            Some(made) => made,
            None => {
                let adapter = self.adapter.as_mut().map(|(adapter, scale)| (&mut **adapter, *scale));
                Embedder::new(self.model, &self.settings, self.options, adapter)?
            }
        };
        Ok(self.embedder.insert(made))
    }
}
