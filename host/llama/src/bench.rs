//! Benchmark of a model: alternates between the scheduler and a bare loop over llama.cpp in the same process.

use crate::batch::{TokenBatch, shorten};
use crate::context_parameters::context_parameters;
use crate::likelihood::{Distribution, most_likely};
use crate::load::{OpenContext, load_model};
use crate::model::{LoadProgress, keeps_prefixes};
use crate::runtime::new_context;
use crate::scheduler::{Event, Scheduler, sequence_count};
use crate::tokenizer::Tokenizer;
use gage_core::SamplingParams;
use gage_model_protocol::gguf::Gguf;
use gage_model_protocol::{
    Answer, BenchFigure, BenchOptions, BenchReport, GenerateTask, Job, JobError, ModelOptions, Prompt,
    ScoredText, Task, to_usize,
};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

/// Numbers of answers generated at once.
const AT_ONCE: [usize; 4] = [1, 4, 8, 16];

/// Maximum number of answers generated together.
const SLOTS: usize = 16;

/// Number of questions, each with four options, after shared examples.
const QUESTIONS: usize = 8;

/// Runs the benchmark on a model.
///
/// # Errors
/// If the model cannot be loaded, does not predict tokens, or fails.
pub fn bench(options: &BenchOptions) -> Result<BenchReport, String> {
    let path = &options.model_path;
    let gguf = Gguf::read(path).map_err(|error| error.to_string())?;
    if let Some(message) = gguf.no_model(path) {
        return Err(message);
    }
    if !gguf.predicts() {
        let limits = gguf.purpose().limits().unwrap_or("answers nothing");
        return Err(format!(
            "{} {limits}; answers and likelihoods are what is measured, so name a language model",
            path.display()
        ));
    }
    let mut model_options = ModelOptions {
        slots: u32::try_from(SLOTS).unwrap_or(1),
        context_length: Some(4 * options.prompt_tokens + options.answer_tokens + 256),
        ..ModelOptions::new(options.model_path.clone())
    };
    let on_progress: LoadProgress = Rc::new(|| ControlFlow::Continue(()));
    let mut opened = load_model(&mut model_options, &on_progress).map_err(|error| error.to_string())?;
    let OpenContext { model, context, vision, loaded, .. } =
        opened.context(&mut model_options).map_err(|error| error.to_string())?;
    let settings = loaded.settings;
    let shares = keeps_prefixes(model);
    let host = Scheduler::new(model, context, settings, &model_options, shares, vision);
    let parameters =
        context_parameters(&settings, &model_options, sequence_count(&settings, shares).max(SLOTS));
    let bare = Bare {
        context: new_context(model, parameters).map_err(|error| error.message)?,
        tokenizer: Tokenizer::new(model),
        batch: TokenBatch::new(settings.call_tokens, settings.call_rows, 1),
        call_tokens: settings.call_tokens,
    };
    let words = Words { tokenizer: Tokenizer::new(model), tokens: to_usize(options.prompt_tokens) };
    let mut bench = Bench { host, bare, words, options, figures: Vec::new() };
    bench.answers()?;
    bench.choices()?;
    bench.queue()?;
    Ok(BenchReport { kernels: loaded.kernels, threads: settings.threads, figures: bench.figures })
}

/// A loaded model, and the figures measured so far.
struct Bench<'m> {
    host: Scheduler<'m>,
    bare: Bare<'m>,
    words: Words<'m>,
    options: &'m BenchOptions,
    figures: Vec<BenchFigure>,
}

impl Bench<'_> {
    /// Measures the scheduler and the bare loop in turns. `work` returns the figure of one competitor in one turn.
    fn measure(
        &mut self,
        what: String,
        unit: &str,
        mut work: impl FnMut(&mut Self, Competitor, usize) -> Result<f64, String>,
    ) -> Result<(), String> {
        let (mut host, mut bare) = (Vec::new(), Vec::new());
        for turn in 0..to_usize(self.options.repeats) {
            host.push(work(self, Competitor::Host, turn)?);
            bare.push(work(self, Competitor::Bare, turn)?);
        }
        self.figures.push(BenchFigure {
            what,
            unit: unit.to_owned(),
            host: median(host),
            bare: median(bare),
        });
        Ok(())
    }

    /// Answers a set of prompts. Returns the number of prompt tokens, the number of answer tokens, and the seconds
    /// taken.
    fn answer(
        &mut self,
        competitor: Competitor,
        prompts: &[String],
        answer_tokens: u32,
    ) -> Result<(u64, u64, f64), String> {
        match competitor {
            Competitor::Host => host_answers(&mut self.host, prompts, answer_tokens),
            Competitor::Bare => self.bare.answers(prompts, answer_tokens).map_err(|error| error.message),
        }
    }

    /// Measures prompts alone, and prompts with answers, several at once.
    fn answers(&mut self) -> Result<(), String> {
        for at_once in AT_ONCE {
            // The first token comes with the prompt, so the rest is the cost of answering.
            for (what, unit, answer_tokens) in [
                ("prompts", "tokens/s", 1),
                ("prompts and answers", "answer tokens/s", self.options.answer_tokens),
            ] {
                self.measure(format!("{what}, {at_once} at once"), unit, |bench, competitor, turn| {
                    let prompts: Vec<String> = (0..at_once)
                        .map(|index| bench.words.text(&format!("{turn} {at_once} {index} {answer_tokens}")))
                        .collect();
                    let (tokens, answered, seconds) = bench.answer(competitor, &prompts, answer_tokens)?;
                    let count = if answer_tokens == 1 { tokens } else { answered };
                    Ok(count as f64 / seconds)
                })?;
            }
        }
        Ok(())
    }

    /// Measures questions with four options each, by log-likelihood.
    fn choices(&mut self) -> Result<(), String> {
        let what = "four choices after shared examples".to_owned();
        self.measure(what, "questions/s", |bench, competitor, turn| {
            let is_host = competitor == Competitor::Host;
            let examples = bench.words.text(&format!("examples {turn} {is_host}"));
            let questions: Vec<String> = (0..QUESTIONS)
                .map(|index| {
                    format!("{examples}{examples}{examples}\nQuestion {index}: which is it?\nAnswer:")
                })
                .collect();
            let seconds = match competitor {
                Competitor::Host => host_choices(&mut bench.host, &questions)?,
                Competitor::Bare => bench.bare.choices(&questions).map_err(|error| error.message)?,
            };
            Ok(QUESTIONS as f64 / seconds)
        })
    }

    /// Measures more prompts than can be answered at once.
    fn queue(&mut self) -> Result<(), String> {
        let queued = to_usize(self.options.queued_prompts);
        let what = format!("{queued} prompts and answers, {SLOTS} at once");
        self.measure(what, "answer tokens/s", |bench, competitor, turn| {
            let prompts: Vec<String> =
                (0..queued).map(|index| bench.words.text(&format!("queue {turn} {index}"))).collect();
            let (mut answered, mut seconds) = (0, 0.0);
            // The loop processes its prompts in sets as large as the scheduler's maximum, one after the other.
            let at_once = if competitor == Competitor::Host { queued } else { SLOTS };
            for prompts in prompts.chunks(at_once) {
                let (_, tokens, took) = bench.answer(competitor, prompts, bench.options.answer_tokens)?;
                answered += tokens;
                seconds += took;
            }
            Ok(answered as f64 / seconds)
        })
    }
}

/// The two competitors, measured in turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Competitor {
    /// This program's scheduler.
    Host,
    /// A bare loop over llama.cpp.
    Bare,
}

/// Generator of texts of a certain length.
struct Words<'m> {
    tokenizer: Tokenizer<'m>,
    tokens: usize,
}

impl Words<'_> {
    /// Returns a text of about `self.tokens` tokens, with a unique `beginning`.
    fn text(&self, beginning: &str) -> String {
        let mut text = format!("{beginning}:");
        for number in 0..self.tokens {
            text.push_str(&format!(" What is {number} plus {}?", number * 7 % 90));
            let prompt = Prompt::plain(&text);
            if self.tokenizer.tokens(&prompt, &[], "").is_ok_and(|tokens| tokens.len() >= self.tokens) {
                break;
            }
        }
        text
    }
}

const OPTIONS: [&str; 4] =
    [" the first of them", " the second of them", " both of these two", " none of these two"];

/// Runs the scheduler until all tasks are done. Returns the answers and the seconds taken.
fn run(host: &mut Scheduler<'_>, tasks: Vec<Task>) -> Result<(Vec<Answer>, f64), String> {
    let began = Instant::now();
    for (number, task) in (0_u64..).zip(tasks) {
        host.push(number, Job { name: number.to_string(), task });
    }
    let mut answers = Vec::new();
    loop {
        for event in host.take_events() {
            if let Event::Done(_, done) = event {
                answers.push(done.map_err(|error| error.message)?.answer);
            }
        }
        if host.is_idle() {
            return Ok((answers, began.elapsed().as_secs_f64()));
        }
        host.step(|| ());
    }
}

/// Returns the number of prompt tokens, the number of answer tokens, and the seconds taken.
fn host_answers(
    host: &mut Scheduler<'_>,
    prompts: &[String],
    answer_tokens: u32,
) -> Result<(u64, u64, f64), String> {
    let tasks = prompts.iter().map(|prompt| {
        let params = SamplingParams { max_new_tokens: Some(answer_tokens), ..SamplingParams::default() };
        Task::Generate(GenerateTask {
            prompt: Prompt::plain(prompt),
            params,
            constraint: None,
            logprobs: None,
        })
    });
    let (answers, seconds) = run(host, tasks.collect())?;
    let (mut asked, mut answered) = (0, 0);
    for answer in answers {
        if let Answer::Generated(generated) = answer {
            asked += generated.usage.prompt_tokens;
            answered += generated.usage.completion_tokens;
        }
    }
    Ok((asked, answered, seconds))
}

fn host_choices(host: &mut Scheduler<'_>, questions: &[String]) -> Result<f64, String> {
    let option = |text: &&str| ScoredText { id: (*text).to_owned(), text: (*text).to_owned(), byte_count: 1 };
    let tasks = questions.iter().map(|question| Task::Score {
        prompt: Prompt::plain(question),
        continuations: OPTIONS.iter().map(option).collect(),
    });
    Ok(run(host, tasks.collect())?.1)
}

/// A bare loop over llama.cpp.
struct Bare<'m> {
    context: LlamaContext<'m>,
    tokenizer: Tokenizer<'m>,
    batch: TokenBatch,
    call_tokens: usize,
}

impl Bare<'_> {
    fn answers(&mut self, prompts: &[String], answer_tokens: u32) -> Result<(u64, u64, f64), JobError> {
        let began = Instant::now();
        let (mut asked, mut answered) = (0, 0);
        let mut open: Vec<(i32, usize, LlamaToken)> = Vec::new();
        for (sequence, prompt) in (0_i32..).zip(prompts) {
            let tokens = self.tokenizer.tokens(&Prompt::plain(prompt), &[], "")?;
            let row = self.prompt(sequence, &tokens)?;
            asked += u64::try_from(tokens.len()).unwrap_or(0);
            answered += 1;
            open.push((sequence, tokens.len(), best(&self.context, row)));
        }
        for _ in 1..answer_tokens {
            open.retain(|(_, _, token)| !self.tokenizer.is_end(*token));
            self.batch.clear();
            let mut rows = Vec::new();
            for (sequence, position, token) in &open {
                rows.push(self.batch.add(*token, *position, &[*sequence], true)?);
            }
            self.batch.decode(&mut self.context)?;
            for ((_, position, token), row) in open.iter_mut().zip(rows) {
                *position += 1;
                *token = best(&self.context, row);
                answered += 1;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        for (sequence, _) in (0_i32..).zip(prompts) {
            shorten(&mut self.context, sequence, 0);
        }
        Ok((asked, answered, seconds))
    }

    /// Scores each option, computing the whole prompt again for each.
    fn choices(&mut self, questions: &[String]) -> Result<f64, JobError> {
        let began = Instant::now();
        for question in questions {
            let prompt = self.tokenizer.tokens(&Prompt::plain(question), &[], "")?.len();
            for option in OPTIONS {
                let tokens = self.tokenizer.tokens(&Prompt::plain(question), &[], option)?;
                let mut sum = 0.0;
                for (piece, begin) in tokens.chunks(self.call_tokens).zip((0..).step_by(self.call_tokens)) {
                    self.batch.clear();
                    let mut rows = Vec::new();
                    for (position, token) in (begin..).zip(piece) {
                        let next = tokens.get(position + 1).filter(|_| position + 1 >= prompt);
                        let row = self.batch.add(*token, position, &[0], next.is_some())?;
                        rows.extend(next.map(|next| (row, *next)));
                    }
                    self.batch.decode(&mut self.context)?;
                    for (row, next) in rows {
                        let logits = self.context.get_logits_ith(row);
                        let logit = usize::try_from(next.0).ok().and_then(|next| logits.get(next));
                        if let (Some(distribution), Some(logit)) = (Distribution::of(logits), logit) {
                            sum += distribution.log_probability(*logit);
                        }
                    }
                }
                std::hint::black_box(sum);
                shorten(&mut self.context, 0, 0);
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }

    /// Computes a prompt and returns the row of its last token.
    fn prompt(&mut self, sequence: i32, tokens: &[LlamaToken]) -> Result<i32, JobError> {
        let mut row = 0;
        for (piece, begin) in tokens.chunks(self.call_tokens).zip((0..).step_by(self.call_tokens)) {
            self.batch.clear();
            for (position, token) in (begin..).zip(piece) {
                row = self.batch.add(*token, position, &[sequence], position + 1 == tokens.len())?;
            }
            self.batch.decode(&mut self.context)?;
        }
        Ok(row)
    }
}

fn best(context: &LlamaContext<'_>, row: i32) -> LlamaToken {
    let best = most_likely(context.get_logits_ith(row)).and_then(|token| i32::try_from(token).ok());
    LlamaToken::new(best.unwrap_or(0))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
