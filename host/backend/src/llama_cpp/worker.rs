//! The loop that works on the requests of a model, whichever thread or process it runs in.

use super::embedding::Embedder;
use super::load::{OpenContext, load_model};
use super::load_options::{LlamaCppOpenError, ModelOptions};
use super::model::keeps_prefixes;
use super::protocol::{FromModel, Job, JobError, Task, ToModel};
use super::scheduler::{Event, Scheduler};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Loads a model, says so, and answers requests until nobody can send any more, or to say something fails.
pub fn run(
    mut options: ModelOptions,
    messages: &Receiver<ToModel>,
    mut say: impl FnMut(FromModel) -> ControlFlow<()>,
) {
    let mut opened = match load_model(&mut options) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error, say),
    };
    let shares = keeps_prefixes(&opened.model);
    // The model is borrowed by its contexts, so all that is asked of it is done in here.
    let OpenContext { model, context, vision, mut adapter, loaded } = match opened.context(&mut options) {
        Ok(made) => made,
        Err(error) => return refuse(&error, say),
    };
    let settings = loaded.settings;
    if say(FromModel::Opened(Box::new(loaded))).is_break() {
        return;
    }
    let mut scheduler = Scheduler::new(model, context, settings, &options, shares, vision);
    let mut embedder: Option<Embedder<'_>> = None;
    loop {
        let mut first = if scheduler.is_idle() {
            match messages.recv() {
                Ok(message) => Some(message),
                Err(_) => return,
            }
        } else {
            None
        };
        loop {
            let message = match first.take() {
                Some(message) => message,
                None => match messages.try_recv() {
                    Ok(message) => message,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                },
            };
            match message {
                ToModel::Ask(number, job) => {
                    // What is done with a text before its turn comes may crash, too.
                    if say(FromModel::Started(number)).is_break() {
                        return;
                    }
                    let said = match *job {
                        Job { name, task: Task::Embed(texts) } => {
                            let made = match embedder.take() {
                                Some(made) => Ok(made),
                                None => {
                                    let adapter =
                                        adapter.as_mut().map(|(adapter, scale)| (&mut **adapter, *scale));
                                    Embedder::new(model, &settings, &options, adapter)
                                }
                            };
                            let done = made.and_then(|made| embedder.insert(made).embed(&name, texts));
                            let done = Box::new(done.map_err(JobError::from));
                            say(FromModel::Done(number, done, scheduler.counts()))
                        }
                        job => {
                            scheduler.push(number, job);
                            say(FromModel::Queued(number))
                        }
                    };
                    if said.is_break() {
                        return;
                    }
                }
                ToModel::Cancel(number) => scheduler.give_up(number),
                ToModel::Open { .. } => tracing::warn!("a model is loaded already"),
            }
        }
        if !scheduler.is_idle() {
            scheduler.step();
        }
        for event in scheduler.take_events() {
            let message = match event {
                Event::Began(number) => FromModel::Started(number),
                Event::Done(number, done) => {
                    FromModel::Done(number, Box::new(done.map_err(JobError::from)), scheduler.counts())
                }
            };
            if say(message).is_break() {
                return;
            }
        }
    }
}

fn refuse(error: &LlamaCppOpenError, mut say: impl FnMut(FromModel) -> ControlFlow<()>) {
    // Where nobody listens any more there is nothing to do.
    let _ = say(FromModel::Refused(error.to_string()));
}
