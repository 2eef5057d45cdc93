//! Measures how often 95 % intervals of figures contain the truth, and prints the table of `docs/concepts/figures.md`.
//! Ends with code 1 if a cell is below its target.
//!
//!     make coverage

mod corpora;

use gage_figures::random::SplitMix64;
use gage_figures::test_records::{description, sample, task};
use gage_figures::{
    Aggregation, Completeness, Interval, MetricDescription, SummaryBuilder, TaskDescription,
    no_custom_aggregators, wilson_interval,
};
use serde_json::json;
use std::f64::consts::TAU;
use std::process::ExitCode;

/// Least coverage of every simulated cell.
const TARGET: f64 = 0.93;
/// Least coverage of scores of 0 and 1 at every probability, and on average.
const PROPORTION_TARGETS: [f64; 2] = [0.89, 0.945];
/// Number of simulated runs of a cell with up to 100 samples; larger ones have fewer.
const RUNS: u64 = 3_000;

/// One sample: its score, weight and cluster.
#[derive(Clone, Copy)]
struct SimulatedSample {
    score: f64,
    weight: f64,
    cluster: u64,
}

/// Draws the samples of a run.
type Draw = Box<dyn Fn(&mut Random) -> Vec<SimulatedSample>>;

/// One cell of the table.
struct Cell {
    name: String,
    truth: f64,
    aggregation: &'static str,
    /// Scale of the scores, if the metric declares one.
    scale: Option<[f64; 2]>,
    repeat: u64,
    is_clustered: bool,
    draw: Draw,
}

struct Random(SplitMix64);

impl Random {
    /// A number above 0 and below 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM Transactions on Mathematical Software 26
    /// (2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.uniform().powf(1.0 / shape);
        }
        let base = shape - 1.0 / 3.0;
        loop {
            let normal = self.normal();
            let cube = (1.0 + normal / (9.0 * base).sqrt()).powi(3);
            if cube > 0.0 && self.uniform().ln() < normal * normal / 2.0 + base * (1.0 - cube + cube.ln()) {
                return base * cube;
            }
        }
    }

    fn beta(&mut self, one: f64, two: f64) -> f64 {
        let (one, two) = (self.gamma(one), self.gamma(two));
        one / (one + two)
    }

    fn poisson(&mut self, mean: f64) -> f64 {
        let (limit, mut product, mut count) = ((-mean).exp(), self.uniform(), 0.0);
        while product > limit {
            product *= self.uniform();
            count += 1.0;
        }
        count
    }

    fn is_true(&mut self, probability: f64) -> f64 {
        f64::from(u8::from(self.uniform() < probability))
    }
}

/// Draws independent samples of equal weight.
fn independent(count: usize, score: impl Fn(&mut Random) -> f64 + 'static) -> Draw {
    Box::new(move |random| {
        (0..count).map(|_| SimulatedSample { score: score(random), weight: 1.0, cluster: 0 }).collect()
    })
}

fn mean(name: &str, truth: f64, scale: Option<[f64; 2]>, draw: Draw) -> Cell {
    let (repeat, is_clustered) = (1, false);
    Cell { name: name.to_owned(), truth, aggregation: "mean", scale, repeat, is_clustered, draw }
}

/// Cells of means of graded scores.
fn means() -> Vec<Cell> {
    const UNIT: Option<[f64; 2]> = Some([0.0, 1.0]);
    let mut cells = Vec::new();
    for count in [20, 100, 1_000] {
        let mut add = |name: &str, truth: f64, scale, draw| {
            cells.push(mean(&format!("mean, {name}, n = {count}"), truth, scale, draw));
        };
        add("uniform on [0, 1]", 0.5, UNIT, independent(count, Random::uniform));
        add("log-normal(0, 1)", 0.5_f64.exp(), None, independent(count, |random| random.normal().exp()));
        add(
            "log-normal(0, 2)",
            2.0_f64.exp(),
            None,
            independent(count, |random| (2.0 * random.normal()).exp()),
        );
        add("exponential", 1.0, None, independent(count, |random| -random.uniform().ln()));
        add("near 1 (beta 8, 0.4)", 8.0 / 8.4, UNIT, independent(count, |random| random.beta(8.0, 0.4)));
        let f1 = |random: &mut Random| if random.uniform() < 0.03 { 0.0 } else { random.beta(8.0, 1.0) };
        add("F1-like (3 % zeros)", 0.97 * 8.0 / 9.0, UNIT, independent(count, f1));
    }
    cells
}

/// Cells of five repeats of scores of 0 and 1.
fn repeats() -> Vec<Cell> {
    let mut cells = Vec::new();
    for probability in [0.5, 0.9, 0.98] {
        for count in [20, 100, 1_000] {
            let name = format!("5 repeats of 0/1, p = {probability}, n = {count}");
            let draw = independent(count * 5, move |random| random.is_true(probability));
            cells.push(Cell { repeat: 5, ..mean(&name, probability, Some([0.0, 1.0]), draw) });
        }
    }
    cells
}

/// Sizes of clusters.
#[derive(Clone, Copy)]
enum Sizes {
    Equal,
    LogNormal,
    /// One cluster has half of the samples.
    Half,
}

/// Draws clusters of scores of 0 and 1. `correlation` is that within clusters.
fn clusters(count: u64, sizes: Sizes, probability: f64, correlation: f64) -> Draw {
    Box::new(move |random| {
        let spread = (1.0 - correlation) / correlation;
        let mut drawn = Vec::new();
        for cluster in 0..count {
            let size = match sizes {
                Sizes::Equal => 20.0,
                Sizes::LogNormal => (12.0 * random.normal().exp()).round().max(1.0),
                Sizes::Half if cluster == 0 => 20.0 * (count - 1) as f64,
                Sizes::Half => 20.0,
            };
            let own = random.beta(probability * spread, (1.0 - probability) * spread);
            drawn.extend((0..size as u64).map(|_| SimulatedSample {
                score: random.is_true(own),
                weight: 1.0,
                cluster,
            }));
        }
        drawn
    })
}

/// Cells with clusters.
fn clustered() -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut add = |name: String, aggregation, probability: f64, draw| {
        let cell = mean(&name, probability, Some([0.0, 1.0]), draw);
        cells.push(Cell { aggregation, is_clustered: true, ..cell });
    };
    for count in [3, 5, 10, 20, 50] {
        let shapes = [
            ("equal size", Sizes::Equal),
            ("log-normal sizes", Sizes::LogNormal),
            ("one has half", Sizes::Half),
        ];
        for (shape, sizes) in shapes {
            let name = format!("clusters, {shape}, G = {count}");
            add(name, "mean", 0.6, clusters(count, sizes, 0.6, 0.25));
        }
    }
    for count in [10, 50] {
        let name = format!("clusters, p = 0.979, correlation 0.5, G = {count}");
        add(name, "mean", 0.979, clusters(count, Sizes::Equal, 0.979, 0.5));
    }
    for count in [5, 10, 20, 50] {
        let name = format!("pass_rate with clusters, G = {count}");
        add(name, "pass_rate", 0.7, clusters(count, Sizes::Equal, 0.7, 0.25));
    }
    cells
}

/// Cells of quantiles and of weighted means.
fn others() -> Vec<Cell> {
    let mut cells = Vec::new();
    for count in [20, 100, 300, 1_000] {
        let mut add = |name: &str, aggregation, truth: f64, draw| {
            let cell = mean(&format!("{name}, n = {count}"), truth, None, draw);
            cells.push(Cell { aggregation, ..cell });
        };
        let log_normal = |random: &mut Random| random.normal().exp();
        add("median", "median", 1.0, independent(count, log_normal));
        add("median of counts (Poisson 3)", "median", 3.0, independent(count, |random| random.poisson(3.0)));
        add("p90", "p90", 1.281_551_565_544_600_4_f64.exp(), independent(count, log_normal));
        add("p99", "p99", 2.326_347_874_040_841_f64.exp(), independent(count, log_normal));
    }
    for count in [10, 20, 50, 100, 300] {
        let draw: Draw = Box::new(move |random| {
            let one = |random: &mut Random| SimulatedSample {
                score: random.uniform(),
                weight: random.normal().exp(),
                cluster: 0,
            };
            (0..count).map(|_| one(random)).collect()
        });
        let cell =
            mean(&format!("weighted_mean, log-normal weights, n = {count}"), 0.5, Some([0.0, 1.0]), draw);
        cells.push(Cell { aggregation: "weighted_mean", ..cell });
    }
    cells
}

impl Cell {
    /// Returns the interval of a simulated run.
    fn interval(&self, random: &mut Random) -> Option<Interval> {
        let metric = MetricDescription {
            aggregation: Aggregation::parse(self.aggregation)?,
            is_proportion: self.scale == Some([0.0, 1.0]),
            scales: self.scale.map(|scale| ("score".to_owned(), scale)).into_iter().collect(),
            ..description("m")
        };
        let described = TaskDescription {
            metrics: vec![metric],
            timing_metrics: Vec::new(),
            cluster_by: self.is_clustered.then(|| "metadata.text".to_owned()),
            repeat: self.repeat,
            ..task("t")
        };
        let mut summary = SummaryBuilder::new(&[described], &no_custom_aggregators);
        for (index, drawn) in (0..).zip((self.draw)(random)) {
            let mut record = sample("t", index, drawn.score, 0.0);
            if self.is_clustered {
                record.sample = json!({"metadata": {"text": drawn.cluster}}).into();
            }
            record.model_output = None;
            let card = record.metrics[0].card.as_mut()?;
            card.pass = Some(drawn.score == 1.0);
            if self.aggregation == "weighted_mean" {
                card.detail = json!({"weight": drawn.weight}).into();
            }
            summary.add(&record).ok()?;
        }
        summary.finish(&Completeness::default()).metrics[0].interval
    }

    /// Prints the row of the cell, and returns whether it meets the target.
    fn measure(&self) -> bool {
        let mut random = Random(SplitMix64::new(7));
        let size = (self.draw)(&mut random).len() as u64;
        let runs = (RUNS * 100 / size.max(100)).max(500);
        let (mut shown, mut covered, mut above, mut width) = (0_u64, 0_u64, 0_u64, 0.0);
        for _ in 0..runs {
            let Some(interval) = self.interval(&mut random) else { continue };
            shown += 1;
            covered += u64::from((interval.low..=interval.high).contains(&self.truth));
            above += u64::from(self.truth > interval.high);
            width += interval.high - interval.low;
        }
        let name = &self.name;
        if shown == 0 {
            println!("| {name} | none | | |");
            return true;
        }
        let share = |count: u64| count as f64 / shown as f64;
        let (coverage, width) = (share(covered), width / shown as f64);
        println!("| {name} | {coverage:.3} | {:.3} | {width:.3} |", share(above));
        // Three standard deviations of the simulation.
        let noise = 3.0 * (TARGET * (1.0 - TARGET) / shown as f64).sqrt();
        coverage >= TARGET - noise
    }
}

/// Enumerates the coverage of scores of 0 and 1, and returns whether it meets the targets.
fn measure_proportions() -> bool {
    println!("| n | least coverage over p | mean coverage over p |\n| ---: | ---: | ---: |");
    let mut is_met = true;
    for count in [20_u64, 100, 299, 300, 1_000, 5_000] {
        let intervals: Vec<Interval> =
            (0..=count).filter_map(|right| wilson_interval(right, count)).collect();
        let least_events = 1.0 / count as f64;
        let steps = 2_000;
        let all: Vec<f64> = (0..steps)
            .map(|step| {
                let p = least_events + (1.0 - 2.0 * least_events) * f64::from(step) / f64::from(steps - 1);
                coverage_at(p, &intervals)
            })
            .collect();
        let (least, mean) =
            (all.iter().copied().fold(1.0, f64::min), all.iter().sum::<f64>() / f64::from(steps));
        println!("| {count} | {least:.3} | {mean:.3} |");
        is_met &= least >= PROPORTION_TARGETS[0] && mean >= PROPORTION_TARGETS[1];
    }
    println!();
    is_met
}

/// Returns the probability that the interval contains `p`, for each number of successes.
fn coverage_at(p: f64, intervals: &[Interval]) -> f64 {
    let count = intervals.len() - 1;
    let mut log_choose = 0.0;
    let mut coverage = 0.0;
    for (right, interval) in intervals.iter().enumerate() {
        if (interval.low..=interval.high).contains(&p) {
            coverage += (log_choose + right as f64 * p.ln() + (count - right) as f64 * (1.0 - p).ln()).exp();
        }
        log_choose += ((count - right) as f64 / (right + 1) as f64).ln();
    }
    coverage
}

fn main() -> ExitCode {
    let mut is_met = measure_proportions();
    println!("| figure | coverage | truth above | width |\n| --- | ---: | ---: | ---: |");
    for cell in [means(), repeats(), clustered(), others()].iter().flatten() {
        is_met &= cell.measure();
    }
    is_met &= corpora::measure();
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
