//! Coverage of figures of a corpus, which a component computes: BLEU-like ratios, macro-F1, kappa, calibration error.

use crate::{RUNS, Random, TARGET};
use gage_figures::random::SplitMix64;
use gage_figures::test_records::{description, sample, task};
use gage_figures::{
    Aggregation, AggregationRow, Completeness, CustomAggregator, Interval, MetricDescription, NamedFigure,
    SummaryBuilder, TaskDescription,
};
use serde_json::json;

/// Number of categories of a confusion matrix.
const CATEGORIES: usize = 3;
/// Number of bins of the calibration error.
const BINS: usize = 10;
/// Share of runs with an interval from which the coverage of these is judged.
const MIN_SHARE: f64 = 0.1;
/// Number of samples from which the true value is computed.
const SAMPLES_OF_TRUTH: usize = 2_000_000;

/// A figure that is computed from sums over the samples.
struct Corpus {
    name: &'static str,
    /// Draws the terms of a sample.
    draw: fn(&mut Random) -> Vec<f64>,
    /// Returns the figure of the sums.
    value: fn(&[f64]) -> f64,
}

/// Geometric mean of the precisions of four orders, in percent.
fn bleu(sums: &[f64]) -> f64 {
    let logarithms = sums.chunks(2).map(|pair| (pair[0].max(0.5) / pair[1]).ln());
    100.0 * (logarithms.sum::<f64>() / 4.0).exp()
}

fn draw_bleu(random: &mut Random) -> Vec<f64> {
    let (chance, length) = (random.beta(4.0, 4.0), 8 + (random.uniform() * 32.0) as u32);
    let order = |random: &mut Random, order: u32| {
        let total = length + 1 - order;
        let matches: f64 = (0..total).map(|_| random.is_true(chance.powi(order as i32))).sum();
        [matches, f64::from(total)]
    };
    (1..=4).flat_map(|number| order(random, number)).collect()
}

fn confusion(random: &mut Random, accuracy: f64) -> Vec<f64> {
    let category = |uniform: f64| usize::from(uniform > 0.6) + usize::from(uniform > 0.9);
    let reference = category(random.uniform());
    let is_right = random.uniform() < accuracy;
    let guess = (random.uniform() * CATEGORIES as f64) as usize;
    let mut counts = vec![0.0; CATEGORIES * CATEGORIES];
    counts[reference * CATEGORIES + if is_right { reference } else { guess }] = 1.0;
    counts
}

/// Sums of references, of predictions and of both, of each category.
fn margins(counts: &[f64]) -> Vec<[f64; 3]> {
    let of = |category: usize| {
        let row = (0..CATEGORIES).map(|other| counts[category * CATEGORIES + other]).sum();
        let column = (0..CATEGORIES).map(|other| counts[other * CATEGORIES + category]).sum();
        [row, column, counts[category * CATEGORIES + category]]
    };
    (0..CATEGORIES).map(of).collect()
}

fn kappa(counts: &[f64]) -> f64 {
    let (total, margins) = (counts.iter().sum::<f64>(), margins(counts));
    let observed = margins.iter().map(|[.., both]| both).sum::<f64>() / total;
    let chance = margins.iter().map(|[row, column, _]| row * column).sum::<f64>() / (total * total);
    (observed - chance) / (1.0 - chance)
}

fn macro_f1(counts: &[f64]) -> f64 {
    let f1 = |[row, column, both]: [f64; 3]| 2.0 * both / (row + column).max(1e-9);
    margins(counts).into_iter().map(f1).sum::<f64>() / CATEGORIES as f64
}

fn draw_confidence(random: &mut Random, overconfidence: f64) -> Vec<f64> {
    let confidence = 0.3 + 0.7 * random.uniform();
    let bin = ((confidence * BINS as f64).ceil() as usize - 1).min(BINS - 1);
    let mut sums = vec![0.0; 2 * BINS + 1];
    sums[bin] = confidence;
    sums[BINS + bin] = random.is_true(confidence - overconfidence);
    sums[2 * BINS] = 1.0;
    sums
}

fn calibration_error(sums: &[f64]) -> f64 {
    (0..BINS).map(|bin| (sums[bin] - sums[BINS + bin]).abs()).sum::<f64>() / sums[2 * BINS].max(1.0)
}

fn corpora() -> Vec<Corpus> {
    vec![
        Corpus { name: "BLEU of a corpus", draw: draw_bleu, value: bleu },
        Corpus { name: "kappa 0.88", draw: |random| confusion(random, 0.9), value: kappa },
        Corpus { name: "kappa 0.45", draw: |random| confusion(random, 0.5), value: kappa },
        Corpus { name: "macro-F1 0.91", draw: |random| confusion(random, 0.9), value: macro_f1 },
        Corpus { name: "macro-F1 0.61", draw: |random| confusion(random, 0.5), value: macro_f1 },
        Corpus { name: "ECE 0.15", draw: |random| draw_confidence(random, 0.15), value: calibration_error },
        Corpus { name: "ECE 0", draw: |random| draw_confidence(random, 0.0), value: calibration_error },
    ]
}

/// Sums the terms in the details of cards.
struct Sums {
    value: fn(&[f64]) -> f64,
    all: Vec<f64>,
    parts: Vec<Vec<f64>>,
}

fn add(sums: &mut Vec<f64>, terms: &[f64], times: f64) {
    sums.resize(sums.len().max(terms.len()), 0.0);
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term * times);
}

fn terms(row: AggregationRow<'_>) -> Vec<f64> {
    let terms = row.card.detail.member("terms").and_then(|terms| terms.as_array());
    terms.into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
}

impl Sums {
    fn figure(&self, sums: &[f64]) -> Vec<NamedFigure> {
        let value = if sums.is_empty() { f64::NAN } else { (self.value)(sums) };
        vec![NamedFigure { name: "corpus".to_owned(), value, stderr: None, interval: None, n: 1 }]
    }
}

impl CustomAggregator for Sums {
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String> {
        add(&mut self.all, &terms(row), 1.0);
        Ok(())
    }

    fn is_resampled(&self) -> bool {
        true
    }

    fn add_to_part(&mut self, part: usize, row: AggregationRow<'_>) -> Result<(), String> {
        self.parts.resize(self.parts.len().max(part + 1), Vec::new());
        add(&mut self.parts[part], &terms(row), 1.0);
        Ok(())
    }

    fn resample(&mut self, draws: &[Vec<u32>]) -> Result<Vec<Vec<NamedFigure>>, String> {
        let figures = |draw: &Vec<u32>| {
            let mut sums = Vec::new();
            self.parts.iter().zip(draw).for_each(|(part, times)| add(&mut sums, part, f64::from(*times)));
            self.figure(&sums)
        };
        Ok(draws.iter().map(figures).collect())
    }

    fn finish(&mut self) -> Result<Vec<NamedFigure>, String> {
        Ok(self.figure(&self.all))
    }
}

impl Corpus {
    fn truth(&self) -> f64 {
        let (mut random, mut sums) = (Random(SplitMix64::new(5)), Vec::new());
        (0..SAMPLES_OF_TRUTH).for_each(|_| add(&mut sums, &(self.draw)(&mut random), 1.0));
        (self.value)(&sums)
    }

    fn interval(&self, count: u64, random: &mut Random) -> Option<Interval> {
        let metric =
            MetricDescription { aggregation: Aggregation::Custom("corpus".to_owned()), ..description("m") };
        let described = TaskDescription { metrics: vec![metric], timing_metrics: Vec::new(), ..task("t") };
        let aggregators = |_: &str, _: &str| -> Option<Box<dyn CustomAggregator>> {
            Some(Box::new(Sums { value: self.value, all: Vec::new(), parts: Vec::new() }))
        };
        let described = [described];
        let mut summary = SummaryBuilder::new(&described, &aggregators);
        for index in 0..count {
            let mut record = sample("t", index, 1.0, 0.0);
            // The part of a sample is chosen by its name, which must differ between runs.
            record.sample_id = random.0.next_u64().to_string();
            record.model_output = None;
            record.metrics[0].card.as_mut()?.detail = json!({"terms": (self.draw)(random)}).into();
            summary.add(&record).ok()?;
        }
        summary.finish(&Completeness::default()).metrics[0].interval
    }
}

/// Prints the table, and returns whether every cell meets the target.
pub(crate) fn measure() -> bool {
    println!(
        "\n| figure of a corpus | share with an interval | coverage of these | wrong intervals of all runs |\n| --- | ---: | ---: | ---: |"
    );
    let mut is_met = true;
    for corpus in corpora() {
        let truth = corpus.truth();
        for count in [100_u64, 300, 1_000] {
            let mut random = Random(SplitMix64::new(count));
            let runs = RUNS * 100 / count;
            let (mut shown, mut covered) = (0_u64, 0_u64);
            for interval in (0..runs).filter_map(|_| corpus.interval(count, &mut random)) {
                shown += 1;
                covered += u64::from((interval.low..=interval.high).contains(&truth));
            }
            let (share, coverage) = (shown as f64 / runs as f64, covered as f64 / shown.max(1) as f64);
            let wrong = share * (1.0 - coverage);
            println!("| {}, n = {count} | {share:.3} | {coverage:.3} | {wrong:.3} |", corpus.name);
            let noise = 3.0 * (TARGET * (1.0 - TARGET) / shown.max(1) as f64).sqrt();
            is_met &= wrong <= 1.0 - TARGET && (share < MIN_SHARE || coverage >= TARGET - noise);
        }
    }
    is_met
}
