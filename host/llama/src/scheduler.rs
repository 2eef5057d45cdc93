//! Scheduler that works on many requests of one model at once.
//!
//! All sequences share one KV cache. Each call of the model takes one token of every answer in progress. It is filled
//! up with tokens of prompts and continuations, in the order of arrival. A request is admitted once there are cells for
//! everything that it may need. A prefix that its prompt shares with an earlier request is not computed again: the
//! sequence reuses the cells. If the other request is still computing them, it waits. The continuations of a prompt are
//! separate sequences that share its cells: the prompt's tokens are tagged with all of them.
//!
//! **With `deterministic`, no result depends on the other requests in flight.** One request is worked on at a time, in
//! calls whose layout depends on that request alone. The beginning of its prompt is computed in chunks of one size,
//! each in its own call, followed by the rest and the continuations. Only whole chunks are reused from the previous
//! request. They are bit-identical to recomputed ones: the same calls computed them, and they are in the same cells.
//! Everything after them is removed first. Leftover data in free cells has no effect: it is masked, and adds exact
//! zeros.

mod admission;
mod generation;
mod image_step;
mod prepare;
mod request;
mod scoring;
mod sequences;

pub use scoring::MAX_LANES;

use crate::batch::{TokenBatch, shorten};
use crate::prefix_cache::{whole_chunks, whole_parts};
use crate::runtime::internal;
use crate::tokenizer::{Pieces, Tokenizer};
use crate::vision::Vision;
use gage_core::FinishReason;
use gage_model_protocol::{Answer, Counts, Job, JobError, JobResult, ModelOptions, Settings, Task, to_u32};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use prepare::Preparation;
use request::{Request, RequestWork, Rolling, ScoredPart};
use sequences::{CachedPrefix, Sequences};
use std::collections::{HashMap, VecDeque};

/// Maximum number of earlier prompts kept.
const MAX_CACHED_PREFIXES: usize = 4;

/// An event of the scheduler.
pub enum Event {
    /// Work on a request began.
    Began(u64),
    /// A request is done.
    Done(u64, Result<JobResult, JobError>),
}

/// Scheduler of the requests of one model.
pub struct Scheduler<'m> {
    preparation: Preparation<'m>,
    context: LlamaContext<'m>,
    batch: TokenBatch,
    sequences: Sequences,
    pieces: Option<Pieces>,
    waiting: VecDeque<Request>,
    active: Vec<Request>,
    rolling: HashMap<u64, Rolling>,
    /// True if sequences can share a prefix, which those of recurrent models cannot.
    shares: bool,
    cells: usize,
    rows: Vec<BatchRow>,
    events: Vec<Event>,
    /// Counters so far.
    pub counts: Counts,
}

/// A row of logits that is needed after a call.
struct BatchRow {
    row: i32,
    /// Index of the request among the active ones.
    request: usize,
    /// Branch whose next token it predicts. `None` for the last token of a prompt, and for answers.
    branch: Option<usize>,
    /// Position of the token that the row belongs to.
    position: usize,
}

/// Returns the number of sequences that the context of a model needs.
pub fn sequence_count(settings: &Settings, shares: bool) -> usize {
    let lanes = MAX_LANES + 1;
    match (settings.deterministic, shares) {
        (true, _) => lanes,
        (false, false) => settings.slots + lanes,
        (false, true) => settings.slots + 2 * lanes + MAX_CACHED_PREFIXES,
    }
}

impl<'m> Scheduler<'m> {
    /// Creates a scheduler for a context that was created for [`sequence_count`] sequences.
    pub fn new(
        model: &'m LlamaModel,
        context: LlamaContext<'m>,
        settings: Settings,
        options: &ModelOptions,
        shares: bool,
        vision: Option<Vision<'m>>,
    ) -> Scheduler<'m> {
        let count = i32::try_from(sequence_count(&settings, shares)).unwrap_or(i32::MAX);
        let most_cached = if settings.deterministic { 1 } else { MAX_CACHED_PREFIXES };
        Scheduler {
            cells: usize::try_from(context.n_ctx()).unwrap_or(0).min(settings.cells()),
            preparation: Preparation {
                model,
                tokenizer: Tokenizer::new(model),
                settings,
                truncates_prompts: options.truncates_prompts,
                vision,
            },
            context,
            batch: TokenBatch::new(settings.call_tokens, settings.call_rows, MAX_LANES + 1),
            sequences: Sequences::new(count, most_cached),
            pieces: None,
            waiting: VecDeque::new(),
            active: Vec::new(),
            rolling: HashMap::new(),
            shares,
            rows: Vec::new(),
            events: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Returns true if there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.active.is_empty()
    }

    /// Returns the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Queues a request. One that cannot be worked on is answered immediately.
    pub fn push(&mut self, number: u64, job: Job) {
        let Job { name, task } = job;
        let made = match task {
            Task::Generate(task) => self.preparation.generation(&name, task).map(|(prompt, generation)| {
                vec![Request::new(number, &name, prompt, RequestWork::Generate(Box::new(generation)))]
            }),
            Task::Score { prompt, continuations } => self
                .preparation
                .scoring(&name, &prompt, &continuations)
                .map(|(prompt, scoring, prompt_tokens)| {
                    let part = ScoredPart::Continuations(continuations, prompt_tokens);
                    let work = RequestWork::Score(scoring, part);
                    vec![Request::new(number, &name, prompt, work)]
                }),
            Task::Roll(prompt) => self.preparation.rolling(&name, &prompt).map(|(windows, token_count)| {
                self.rolling.insert(number, Rolling::new(windows.len(), token_count));
                let windows = windows.into_iter().enumerate();
                let of = |(window, (prompt, scoring))| {
                    Request::new(
                        number,
                        &name,
                        prompt,
                        RequestWork::Score(scoring, ScoredPart::Window(window)),
                    )
                };
                windows.map(of).collect()
            }),
            Task::Embed(_) => Err(internal("embeddings are not computed here")),
        };
        match made {
            Ok(requests) => self.waiting.extend(requests),
            Err(error) => self.events.push(Event::Done(number, Err(error))),
        }
    }

    /// Cancels a request.
    pub fn cancel(&mut self, number: u64) {
        self.waiting.retain(|request| request.number != number);
        self.rolling.remove(&number);
        while let Some(index) = self.active.iter().position(|request| request.number == number) {
            let request = self.active.remove(index);
            self.release(request, false);
        }
    }

    /// Computes one call of the model. Before it, computes an image if a request has reached one, and then calls
    /// `on_image`.
    pub fn step(&mut self, on_image: impl FnOnce()) {
        self.admit();
        if self.compute_image() {
            on_image();
        }
        self.batch.clear();
        self.rows.clear();
        if let Err(error) = self.fill().and_then(|()| self.batch.decode(&mut self.context)) {
            return self.fail(&error);
        }
        self.counts.calls += u64::from(!self.batch.is_empty());
        self.counts.evaluated_tokens += u64::from(to_u32(self.batch.len()));
        let rows = std::mem::take(&mut self.rows);
        let mut ended: Vec<(usize, Result<FinishReason, JobError>)> = Vec::new();
        for row in &rows {
            if let Some(end) = self.read_row(row) {
                ended.push((row.request, end));
            }
        }
        self.rows = rows;
        for index in 0..self.active.len() {
            if ended.iter().any(|(ended, _)| *ended == index) {
                continue;
            }
            match self.advance(index) {
                Ok(true) => {}
                Ok(false) => ended.push((index, Ok(FinishReason::Scored))),
                Err(error) => ended.push((index, Err(error))),
            }
        }
        ended.sort_by_key(|(index, _)| *index);
        ended.dedup_by_key(|(index, _)| *index);
        for (index, end) in ended.into_iter().rev() {
            let mut request = self.active.remove(index);
            let is_whole = end.is_ok();
            self.answer(&mut request, end);
            self.release(request, is_whole);
        }
    }

    /// Begins the next round of continuations, if there is one. Their sequences start as copies of the prompt's
    /// sequence so far.
    ///
    /// Returns false if there is none.
    fn next_round(&mut self, request: &mut Request) -> Result<bool, JobError> {
        let Some(scoring) = request.scoring() else { return Ok(false) };
        let Some(lanes) = scoring.next_round() else { return Ok(false) };
        request.lanes_in_use = lanes;
        let Some((first, others)) = request.sequences.split_first() else { return Ok(false) };
        if request.computed > 0 {
            for sequence in others.iter().take(lanes) {
                self.copy(*first, *sequence, None)?;
            }
        }
        Ok(true)
    }

    /// Adds tokens to the batch: first those of answers, then prompts and continuations.
    fn fill(&mut self) -> Result<(), JobError> {
        for (index, request) in self.active.iter().enumerate() {
            if let RequestWork::Generate(generation) = &request.work
                && let Some((token, written)) = generation.next()
                && let Some(sequence) = request.sequences.first()
                && !self.batch.is_full()
            {
                let position = request.prompt.len() + written;
                let row = self.batch.add(token, position, &[*sequence], true)?;
                self.rows.push(BatchRow { row, request: index, branch: None, position });
            }
        }
        let settings = self.preparation.settings;
        for (index, request) in self.active.iter_mut().enumerate() {
            if self.batch.is_full() {
                break;
            }
            let tagged = if self.shares { request.lanes_in_use + 1 } else { 1 };
            let sequences: Vec<i32> = request.sequences.iter().copied().take(tagged).collect();
            let whole = whole_chunks(request.prompt.len(), settings.call_tokens);
            while let Some(token) = request.prompt.get(request.computed).filter(|_| !self.batch.is_full()) {
                if request.next_image().is_some() {
                    break;
                }
                let position = request.computed;
                let is_last = position + 1 == request.prompt.len();
                let row = self.batch.add(*token, position, &sequences, is_last)?;
                if is_last {
                    self.rows.push(BatchRow { row, request: index, branch: None, position });
                }
                request.computed += 1;
                let ends_chunk =
                    request.computed <= whole && request.computed.is_multiple_of(settings.call_tokens);
                if settings.deterministic && ends_chunk {
                    return Ok(());
                }
            }
            if request.computed < request.prompt.len() {
                continue;
            }
            let sequences = request.sequences.clone();
            let Some(scoring) = request.scoring() else { continue };
            while let Some(step) = scoring.steps.front().copied().filter(|_| !self.batch.is_full()) {
                scoring.steps.pop_front();
                let (Some((token, is_wanted)), Some(sequence)) =
                    (scoring.token(step), sequences.get(step.lane))
                else {
                    continue;
                };
                let row = self.batch.add(token, step.position, &[*sequence], is_wanted)?;
                if is_wanted {
                    let branch = Some(step.branch);
                    self.rows.push(BatchRow { row, request: index, branch, position: step.position });
                }
            }
        }
        Ok(())
    }

    /// Reads a row of logits. Returns `Some` if it ends the request.
    fn read_row(&mut self, row: &BatchRow) -> Option<Result<FinishReason, JobError>> {
        let request = self.active.get_mut(row.request)?;
        let failed = |request: &Request, reason: &str| {
            Some(Err(internal(format!("request '{}': {reason}", request.name))))
        };
        if let RequestWork::Generate(generation) = &mut request.work {
            let tokenizer = &self.preparation.tokenizer;
            return match generation.chooser.choose(&self.context, row.row, tokenizer, &mut self.pieces) {
                Ok(chosen) => {
                    self.counts.generated_tokens += 1;
                    let end = generation.push(chosen, tokenizer);
                    request.first_token.get_or_insert_with(|| request.started.elapsed());
                    end.map(Ok)
                }
                Err(reason) => failed(request, &reason),
            };
        }
        let scoring = request.scoring()?;
        match scoring.add_logits(self.context.get_logits_ith(row.row), row.branch, row.position) {
            Ok(()) => None,
            Err(reason) => failed(request, reason),
        }
    }

    /// Begins the next round of a request whose round is done. Returns true if the request continues.
    fn advance(&mut self, index: usize) -> Result<bool, JobError> {
        let Some(request) = self.active.get_mut(index) else { return Ok(false) };
        if request.computed < request.prompt.len() {
            return Ok(true);
        }
        let Some(scoring) = request.scoring() else { return Ok(true) };
        if !scoring.steps.is_empty() {
            return Ok(true);
        }
        let mut request = self.active.remove(index);
        for sequence in request.sequences.iter().skip(1) {
            shorten(&mut self.context, *sequence, 0);
        }
        let goes_on = self.next_round(&mut request);
        self.active.insert(index, request);
        goes_on
    }

    fn answer(&mut self, request: &mut Request, end: Result<FinishReason, JobError>) {
        let number = request.number;
        let window = match &request.work {
            RequestWork::Score(_, ScoredPart::Window(window)) => Some(*window),
            _ => None,
        };
        let answer = end.and_then(|reason| request.finish(reason));
        let latency = request.started.elapsed();
        let first_token = request.first_token;
        if let Some(window) = window {
            // The text is answered with its last window.
            let Some(rolling) = self.rolling.get_mut(&number) else { return };
            let logprob = answer.map(|answer| match answer {
                Answer::Rolled { logprob, .. } => logprob,
                _ => f64::NAN,
            });
            if let Some((answer, latency)) = rolling.add_window(window, logprob) {
                self.rolling.remove(&number);
                self.waiting.retain(|request| request.number != number);
                let done = answer.map(|answer| JobResult { answer, latency, first_token: None });
                self.events.push(Event::Done(number, done));
            }
            return;
        }
        self.events
            .push(Event::Done(number, answer.map(|answer| JobResult { answer, latency, first_token })));
    }

    /// Releases the sequences of a request, except for a prefix that a later request may reuse.
    fn release(&mut self, request: Request, is_whole: bool) {
        let settings = self.preparation.settings;
        let mut kept = if is_whole && self.shares { request.computed.min(request.prompt.len()) } else { 0 };
        if settings.deterministic {
            kept = whole_parts(kept, request.prompt.len(), &request.spans(), settings.call_tokens);
        }
        let cells = request.cells_of(kept);
        let Request { sequences, prompt, .. } = request;
        let mut sequences = sequences.into_iter();
        let first = sequences.next();
        for sequence in sequences {
            shorten(&mut self.context, sequence, 0);
            self.sequences.release(sequence);
        }
        let Some(first) = first else { return };
        let kept = shorten(&mut self.context, first, kept);
        if kept == 0 {
            self.sequences.release(first);
            return;
        }
        let tokens = prompt.into_iter().take(kept).collect();
        for dropped in self.sequences.cache(CachedPrefix { sequence: first, tokens, cells }) {
            self.drop_cached(dropped);
        }
    }

    fn drop_cached(&mut self, held: CachedPrefix) {
        shorten(&mut self.context, held.sequence, 0);
        self.sequences.release(held.sequence);
    }

    /// Answers every request in progress with an error, and resets the state.
    fn fail(&mut self, error: &JobError) {
        tracing::error!(%error, "a call of the model failed");
        self.batch.clear();
        for mut request in std::mem::take(&mut self.active) {
            self.answer(&mut request, Err(error.clone()));
            for sequence in request.sequences {
                self.sequences.release(sequence);
            }
        }
        while let Some(held) = self.sequences.pop_oldest() {
            self.sequences.release(held.sequence);
        }
        self.context.clear_kv_cache();
    }
}
