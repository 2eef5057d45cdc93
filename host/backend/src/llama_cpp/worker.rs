//! The thread that owns a model.

use super::generation::Generator;
use super::model::{ModelFacts, facts_of, load};
use super::options::{LlamaCppOpenError, LlamaCppOptions, Settings};
use super::scoring::Scorer;
use super::tokenizer::Prompt;
use crate::api::{BackendError, LoglikelihoodOutput, Reply, RequestTiming};
use gage_core::{ModelOutput, SamplingParams};
use llama_cpp_2::model::LlamaModel;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::time::Instant;
use tokio::sync::oneshot;

/// Where a request is answered.
pub type ReplySender<T> = oneshot::Sender<Result<Reply<T>, BackendError>>;

/// A conversation to continue.
pub struct GenerateJob {
    /// Names the request in errors.
    pub id: String,
    /// The conversation.
    pub prompt: Prompt,
    /// Sampling parameters, with the defaults of the backend.
    pub params: SamplingParams,
    /// Where it is answered.
    pub reply: ReplySender<ModelOutput>,
}

/// A continuation to score.
pub struct ScoredText {
    /// The id of the option.
    pub id: String,
    /// The text, marked as the prompt is.
    pub text: String,
    /// Bytes of the text as it was given.
    pub byte_count: u32,
}

/// A conversation and what might follow it.
pub struct ScoreJob {
    /// Names the request in errors.
    pub id: String,
    /// The conversation.
    pub prompt: Prompt,
    /// What might follow.
    pub continuations: Vec<ScoredText>,
    /// Where it is answered.
    pub reply: ReplySender<LoglikelihoodOutput>,
}

/// A request.
pub enum Job {
    /// Continue a conversation.
    Generate(GenerateJob),
    /// Score continuations.
    Score(ScoreJob),
}

/// What is known when a model is loaded.
pub struct Loaded {
    /// What the model says about itself.
    pub facts: ModelFacts,
    /// The options with their defaults.
    pub settings: Settings,
}

/// Loads a model, says so, and answers requests until nobody can send any more.
///
/// When this function ends, by whatever way, everything that waits for an answer is told so by
/// its channel, which is dropped.
pub fn run(
    options: &LlamaCppOptions,
    ready: oneshot::Sender<Result<Loaded, LlamaCppOpenError>>,
    jobs: &Receiver<Job>,
) {
    let opened = load(options).and_then(|model| {
        let facts = facts_of(&model);
        let settings = Settings::resolve(options, facts.training_context)?;
        Ok((model, Loaded { facts, settings }))
    });
    let (model, loaded) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let settings = loaded.settings;
    if ready.send(Ok(loaded)).is_err() {
        return;
    }
    if catch_unwind(AssertUnwindSafe(|| serve(&model, settings, jobs))).is_err() {
        tracing::error!("the thread of the model panicked; its requests fail from here on");
    }
}

/// Answers requests. The contexts, which borrow the model, are made when they are first needed,
/// since each takes memory.
fn serve(model: &LlamaModel, settings: Settings, jobs: &Receiver<Job>) {
    let mut generator: Option<Generator<'_>> = None;
    let mut scorer: Option<Scorer<'_>> = None;
    let mut to_generate: VecDeque<GenerateJob> = VecDeque::new();
    let mut to_score: VecDeque<ScoreJob> = VecDeque::new();
    loop {
        let is_idle = to_generate.is_empty()
            && to_score.is_empty()
            && generator.as_ref().is_none_or(Generator::is_idle);
        let first = if is_idle {
            match jobs.recv() {
                Ok(job) => Some(job),
                Err(_) => return,
            }
        } else {
            None
        };
        for job in first.into_iter().chain(jobs.try_iter()) {
            match job {
                Job::Generate(job) => to_generate.push_back(job),
                Job::Score(job) => to_score.push_back(job),
            }
        }
        if let Some(job) = to_score.pop_front() {
            score(&mut scorer, model, settings, job);
        }
        if !to_generate.is_empty() && generator.is_none() {
            match Generator::new(model, settings) {
                Ok(made) => generator = Some(made),
                Err(error) => {
                    for job in to_generate.drain(..) {
                        let _ = job.reply.send(Err(error.clone()));
                    }
                }
            }
        }
        if let Some(generator) = &mut generator {
            generator.admit(&mut to_generate);
            generator.step();
        }
    }
}

fn score<'m>(scorer: &mut Option<Scorer<'m>>, model: &'m LlamaModel, settings: Settings, job: ScoreJob) {
    if job.reply.is_closed() {
        return;
    }
    let started = Instant::now();
    let made = match scorer.take() {
        Some(made) => Ok(made),
        None => Scorer::new(model, settings),
    };
    let output = made.and_then(|made| scorer.insert(made).score(&job));
    let reply = output.map(|output| {
        let timing = RequestTiming { latency: started.elapsed(), attempts: 1, first_token: None };
        Reply { output, timing }
    });
    // Nobody waits any more when the request was given up.
    let _ = job.reply.send(reply);
}
