//! Benchmark of a model: alternates between the scheduler and a bare loop over llama.cpp in the same process.

mod bare_loop;

use crate::batch::TokenBatch;
use crate::context_parameters::context_parameters;
use crate::load::{OpenContext, load_model};
use crate::model::{LoadProgress, keeps_prefixes};
use crate::runtime::new_context;
use crate::scheduler::{Event, Scheduler, sequence_count};
use crate::tokenizer::Tokenizer;
use bare_loop::Bare;
use gage_core::SamplingParams;
use gage_model_protocol::gguf::Gguf;
use gage_model_protocol::{
    Answer, BenchFigure, BenchOptions, BenchReport, GenerateTask, Job, ModelOptions, Prompt, ScoredText,
    Task, to_usize,
};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
    /// Measures the scheduler and the bare loop in turns. `work` does one turn of one competitor, up to a deadline.
    fn measure(
        &mut self,
        what: String,
        unit: &str,
        mut work: impl FnMut(&mut Self, Competitor, usize, Instant) -> Result<Measurement, String>,
    ) -> Result<(), String> {
        let limit = self.options.max_duration;
        let (mut host, mut bare) = (Turns::default(), Turns::default());
        for turn in 0..to_usize(self.options.repeats) {
            if !(host.has_time_for_another(limit) && bare.has_time_for_another(limit)) {
                break;
            }
            for (competitor, turns) in [(Competitor::Host, &mut host), (Competitor::Bare, &mut bare)] {
                turns.add(work(self, competitor, turn, Instant::now() + limit)?);
            }
        }
        self.figures.push(BenchFigure {
            what,
            unit: unit.to_owned(),
            is_cut_short: host.is_cut_short || bare.is_cut_short,
            host: median(host.rates),
            bare: median(bare.rates),
        });
        Ok(())
    }

    /// Answers a set of prompts.
    fn answer(
        &mut self,
        competitor: Competitor,
        prompts: &[String],
        answer_tokens: u32,
        deadline: Instant,
    ) -> Result<AnswerTokens, String> {
        match competitor {
            Competitor::Host => host_answers(&mut self.host, prompts, answer_tokens, deadline),
            Competitor::Bare => {
                self.bare.answers(prompts, answer_tokens, deadline).map_err(|error| error.message)
            }
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
                self.measure(
                    format!("{what}, {at_once} at once"),
                    unit,
                    |bench, competitor, turn, deadline| {
                        let prompts: Vec<String> = (0..at_once)
                            .map(|index| {
                                bench.words.text(&format!("{turn} {at_once} {index} {answer_tokens}"))
                            })
                            .collect();
                        let began = Instant::now();
                        let done = bench.answer(competitor, &prompts, answer_tokens, deadline)?;
                        let count = if answer_tokens == 1 { done.asked } else { done.answered };
                        Ok(Measurement::since(began, count as f64, done.is_cut_short))
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Measures questions with four options each, by log-likelihood.
    fn choices(&mut self) -> Result<(), String> {
        let what = "four choices after shared examples".to_owned();
        self.measure(what, "questions/s", |bench, competitor, turn, deadline| {
            let is_host = competitor == Competitor::Host;
            let examples = bench.words.text(&format!("examples {turn} {is_host}"));
            let questions: Vec<String> = (0..QUESTIONS)
                .map(|index| {
                    format!("{examples}{examples}{examples}\nQuestion {index}: which is it?\nAnswer:")
                })
                .collect();
            let began = Instant::now();
            let answered = match competitor {
                Competitor::Host => host_choices(&mut bench.host, &questions, deadline)?,
                Competitor::Bare => {
                    bench.bare.choices(&questions, deadline).map_err(|error| error.message)?
                }
            };
            Ok(Measurement::since(began, answered, answered < QUESTIONS as f64))
        })
    }

    /// Measures more prompts than can be answered at once.
    fn queue(&mut self) -> Result<(), String> {
        let queued = to_usize(self.options.queued_prompts);
        let what = format!("{queued} prompts and answers, {SLOTS} at once");
        self.measure(what, "answer tokens/s", |bench, competitor, turn, deadline| {
            let prompts: Vec<String> =
                (0..queued).map(|index| bench.words.text(&format!("queue {turn} {index}"))).collect();
            let (began, mut answered, mut is_cut_short) = (Instant::now(), 0, false);
            // The loop processes its prompts in sets as large as the scheduler's maximum, one after the other.
            let at_once = if competitor == Competitor::Host { queued } else { SLOTS };
            for prompts in prompts.chunks(at_once) {
                let done = bench.answer(competitor, prompts, bench.options.answer_tokens, deadline)?;
                answered += done.answered;
                is_cut_short |= done.is_cut_short;
                if is_cut_short {
                    break;
                }
            }
            Ok(Measurement::since(began, answered as f64, is_cut_short))
        })
    }
}

/// Result of one turn of a competitor.
struct Measurement {
    /// Tokens or questions.
    amount: f64,
    duration: Duration,
    /// True if the deadline ended it.
    is_cut_short: bool,
}

impl Measurement {
    /// Ends a measurement.
    fn since(began: Instant, amount: f64, is_cut_short: bool) -> Measurement {
        Measurement { amount, duration: began.elapsed(), is_cut_short }
    }
}

/// The turns of a competitor so far.
#[derive(Default)]
struct Turns {
    /// Amount per second of each turn.
    rates: Vec<f64>,
    taken: Duration,
    longest: Duration,
    is_cut_short: bool,
}

impl Turns {
    fn add(&mut self, done: Measurement) {
        self.rates.push(done.amount / done.duration.as_secs_f64());
        self.taken += done.duration;
        self.longest = self.longest.max(done.duration);
        self.is_cut_short |= done.is_cut_short;
    }

    /// Returns true if another turn probably fits into the limit. The first one always takes place.
    fn has_time_for_another(&self, limit: Duration) -> bool {
        self.rates.is_empty() || self.taken + self.longest <= limit
    }
}

/// Tokens of a set of prompts and their answers.
struct AnswerTokens {
    /// Prompt tokens computed.
    asked: u64,
    /// Answer tokens generated.
    answered: u64,
    /// True if the deadline came first.
    is_cut_short: bool,
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

/// Runs the scheduler until all tasks are done, or a batch ends after the deadline. Returns the answers so far.
fn run(host: &mut Scheduler<'_>, tasks: Vec<Task>, deadline: Instant) -> Result<Vec<Answer>, String> {
    let count = u64::try_from(tasks.len()).unwrap_or(u64::MAX);
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
            return Ok(answers);
        }
        if Instant::now() >= deadline {
            (0..count).for_each(|number| host.cancel(number));
            return Ok(answers);
        }
        host.step(|| ());
    }
}

fn host_answers(
    host: &mut Scheduler<'_>,
    prompts: &[String],
    answer_tokens: u32,
    deadline: Instant,
) -> Result<AnswerTokens, String> {
    let tasks = prompts.iter().map(|prompt| {
        let params = SamplingParams { max_new_tokens: Some(answer_tokens), ..SamplingParams::default() };
        Task::Generate(GenerateTask {
            prompt: Prompt::plain(prompt),
            params,
            constraint: None,
            logprobs: None,
        })
    });
    let before = host.counts;
    let answers = run(host, tasks.collect(), deadline)?;
    let mut done = AnswerTokens { asked: 0, answered: 0, is_cut_short: answers.len() < prompts.len() };
    for answer in answers {
        if let Answer::Generated(generated) = answer {
            done.asked += generated.usage.prompt_tokens;
            done.answered += generated.usage.completion_tokens;
        }
    }
    if done.is_cut_short {
        // Requests without an answer have no usage, but were worked on.
        done.answered = host.counts.generated_tokens.saturating_sub(before.generated_tokens);
        let evaluated = host.counts.evaluated_tokens.saturating_sub(before.evaluated_tokens);
        done.asked = evaluated.saturating_sub(done.answered);
    }
    Ok(done)
}

/// Returns the number of questions that were answered.
fn host_choices(host: &mut Scheduler<'_>, questions: &[String], deadline: Instant) -> Result<f64, String> {
    let option = |text: &&str| ScoredText { id: (*text).to_owned(), text: (*text).to_owned(), byte_count: 1 };
    let tasks = questions.iter().map(|question| Task::Score {
        prompt: Prompt::plain(question),
        continuations: OPTIONS.iter().map(option).collect(),
    });
    Ok(run(host, tasks.collect(), deadline)?.len() as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn figures_end_at_their_time_limit() {
        for (max_duration, is_cut_short) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let report = bench(&BenchOptions {
                model_path: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf"),
                prompt_tokens: 16,
                answer_tokens: 4,
                queued_prompts: 20,
                repeats: 1,
                max_duration,
            });
            let figures = report.expect("measured").figures;
            assert_eq!(figures.len(), 10);
            for figure in figures {
                assert_eq!(figure.is_cut_short, is_cut_short, "{}", figure.what);
                assert_eq!(figure.host > 0.0 && figure.bare > 0.0, !is_cut_short, "{}", figure.what);
            }
        }
    }

    #[test]
    fn turns_stop_before_the_limit() {
        let mut turns = Turns::default();
        let turn = |seconds| Measurement {
            amount: 100.0,
            duration: Duration::from_secs(seconds),
            is_cut_short: false,
        };
        let limit = Duration::from_secs(10);
        for (seconds, has_time) in [(3, true), (4, false)] {
            assert!(turns.has_time_for_another(limit));
            turns.add(turn(seconds));
            assert_eq!(turns.has_time_for_another(limit), has_time, "{seconds}");
        }
        assert_eq!(turns.rates, [100.0 / 3.0, 25.0]);
        assert!(Turns::default().has_time_for_another(Duration::ZERO), "one turn takes place");
    }
}
