//! The steps of a comparison: plan, read both runs once, test, judge.

use super::error::CompareError;
use super::gate_changes;
use super::gating::{self, GateDecision};
use super::identity::{self, Difference, IdentityPart};
use super::noninferiority::ScoreUnits;
use super::paired_scores::PairedScores;
use super::pairing::{Column, PairedTask};
use super::permutations::Permutations;
use super::plan::{ComparePlan, PlannedMeasure, TaskPlan};
use super::result::ComparisonWarning;
use super::result::{ComparedRun, Comparison, MetricComparison, Overall, SliceDrift, TestNote};
use super::sign_flip::{MAX_PERMUTATIONS, SignFlipTest, sign_flip_tests};
use super::verdict::Verdict;
use super::warnings;
use super::{collecting, holm, naming};
use gage_config::GateSpec;
use gage_core::Digest;
use gage_figures::RecordedRun;
use gage_figures::Slicing;
use gage_figures::{CompensatedSum, IntervalMethod};

/// Version of the comparison as JSON.
const COMPARISON_VERSION: u32 = 1;

/// How two runs are compared.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// What the new run must hold; without entries nothing is judged.
    pub gate: Vec<GateSpec>,
    /// The gate of the suite of the baseline, where `gate` is that of the suite of the new run: what is asked no more is
    /// told. Default: empty.
    pub gate_before: Vec<GateSpec>,
    /// How many of the samples that became worse are listed for each metric; default 10.
    pub max_flips: usize,
    /// What may differ besides the model.
    pub allowed: Vec<IdentityPart>,
    /// Random permutations of a test that is not exact, or more where the level of a gate needs them; default 10,000.
    pub permutations: u32,
    /// Threads; default: as many as there are cores. Figures do not depend on it.
    pub threads: usize,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions {
            gate: Vec::new(),
            gate_before: Vec::new(),
            max_flips: 10,
            allowed: Vec::new(),
            permutations: 10_000,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Compares a run with a baseline.
///
/// # Errors
/// When a run cannot be read, or the gate names what neither run has. Runs that cannot be compared in
/// earnest (of other data, interrupted, without common samples) are no error: the result says so.
pub fn compare(
    base: &RecordedRun,
    new: &RecordedRun,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let plan = ComparePlan::new(base, new, &options.gate)?;
    let task_ids: Vec<&str> = plan.tasks.iter().map(|task| task.task_id).collect();
    let mut differences = identity::compare(base, new, &task_ids, &options.allowed);
    differences.extend(scorer_differences(&plan, &options.allowed));
    let paired = collecting::read(base, new, &plan.tasks, options.max_flips)?;
    let tasks: Vec<_> = paired.iter().map(|(task, _)| task.counts()).collect();

    let gated = plan.tasks.iter().flat_map(|task| &task.measures).filter(|planned| planned.gate.is_some());
    let permutations = Permutations { default: options.permutations, gated: gated.count() };
    let mut tests = Tests::default();
    let mut examined = Vec::new();
    for ((task, slicing), planned) in paired.iter().zip(&plan.tasks) {
        for (column, planned) in task.columns.iter().zip(&planned.measures) {
            let alpha = planned.gate.map(|limits| limits.alpha);
            let wanted = permutations.of(alpha);
            let measured = MeasuredTask { task, planned, column, slicing };
            let found = measured.examine(wanted, options.permutations, &mut tests);
            if let (Some(alpha), true) = (alpha, wanted > MAX_PERMUTATIONS && !tests.is_exact(&found.test)) {
                return Err(permutations.too_small(alpha, &planned.measure));
            }
            examined.push((found, planned));
        }
    }
    let same_run = is_same_run(base, new);
    let results = tests.run(options);
    let mut metrics: Vec<MetricComparison> = Vec::with_capacity(examined.len());
    let mut judged = Vec::with_capacity(examined.len());
    for (ExaminedMetric { mut metric, scores, test, slice_tests }, planned) in examined {
        metric.test = results.note(test);
        for (slice, test) in metric.slices.iter_mut().zip(slice_tests) {
            let TestNote { worse, better, .. } = results.note(test);
            slice.p_value = (2.0 * worse.min(better)).min(1.0);
        }
        judged.push(GateDecision { scores, limits: planned.gate });
        metrics.push(metric);
    }
    adjust_slices(&mut metrics);
    let mut warnings: Vec<ComparisonWarning> = paired
        .iter()
        .filter_map(|(task, slicing)| warnings::of_clusters(base, new, &task.task_id, slicing))
        .collect();
    warnings.extend(warnings::of_scales(&plan, &metrics, &judged));
    let refusal = gating::refusal(base, new, &plan, &tasks, &differences);
    gating::judge(&mut metrics, &judged, refusal.as_ref());
    let gates = metrics.iter().filter_map(|metric| metric.gate.as_ref()).map(|gate| gate.verdict);
    // Without a gate no metric has one.
    let verdict = Verdict::of_all(gates.chain(refusal.as_ref().map(|(verdict, _)| *verdict)));
    Ok(Comparison {
        format_version: COMPARISON_VERSION,
        base: described(base, new),
        new: described(new, base),
        verdict,
        same_run,
        refusal: refusal.map(|(_, reason)| reason),
        differences,
        gate_changes: gate_changes::find(base, new, &options.gate_before, &options.gate),
        warnings,
        tasks,
        not_compared: plan.not_compared,
        overall: overall(&metrics, &judged),
        metrics,
    })
}

fn described(source: &RecordedRun, other: &RecordedRun) -> ComparedRun {
    let label = naming::run_label(source, [source, other]);
    ComparedRun {
        run_id: source.run_id().to_owned(),
        label: label.unwrap_or_else(|| source.run_id().to_owned()),
        folder: source.folder().to_owned(),
        status: source.manifest().status.name(),
        models: source.models(),
    }
}

/// Whether two folders hold the same run: ids alone may be the same in folders of different suites.
fn is_same_run(base: &RecordedRun, new: &RecordedRun) -> bool {
    let (base, new) = (base.manifest(), new.manifest());
    base.run_id == new.run_id && base.created_at == new.created_at && base.identity == new.identity
}

/// Metrics whose scoring has another version.
fn scorer_differences(plan: &ComparePlan<'_>, allowed: &[IdentityPart]) -> Vec<Difference> {
    let of_task = |task: &TaskPlan<'_>| {
        let differing = task.measures.iter().filter(|planned| {
            let [base, new] = &planned.scorer_versions;
            base != new && planned.measure.sub_score.is_none()
        });
        let described = differing.map(|planned| {
            let [base, new] = &planned.scorer_versions;
            let metric_id = &planned.measure.metric_id;
            format!("task {}: scorer_version of {metric_id}: \"{base}\" before, \"{new}\" now", task.task_id)
        });
        described.collect::<Vec<String>>()
    };
    let part = IdentityPart::Plugins;
    let listed = plan.tasks.iter().flat_map(of_task);
    listed.map(|what| Difference { part, what, allowed: allowed.contains(&part) }).collect()
}

/// The tests that are done together.
#[derive(Default)]
struct Tests(Vec<SignFlipTest>);

/// A test that is done, or the number of one that is not.
#[derive(Clone)]
enum PendingTest {
    Done(TestNote),
    Number(usize),
}

impl Tests {
    fn add(&mut self, test: Result<TestNote, SignFlipTest>) -> PendingTest {
        match test {
            Ok(note) => PendingTest::Done(note),
            Err(test) => {
                self.0.push(test);
                PendingTest::Number(self.0.len() - 1)
            }
        }
    }

    fn is_exact(&self, test: &PendingTest) -> bool {
        match test {
            PendingTest::Done(_) => true,
            PendingTest::Number(number) => self.0.get(*number).is_some_and(SignFlipTest::is_exact),
        }
    }

    fn run(self, options: &CompareOptions) -> TestResults {
        let found = sign_flip_tests(&self.0, options.threads);
        let note = |found: super::SignFlipResult| TestNote {
            name: "sign_flip",
            worse: found.worse,
            better: found.better,
            permutations: found.permutations,
        };
        TestResults(found.into_iter().map(note).collect())
    }
}

struct TestResults(Vec<TestNote>);

impl TestResults {
    fn note(&self, test: PendingTest) -> TestNote {
        let nothing = TestNote { name: "none", worse: 1.0, better: 1.0, permutations: None };
        match test {
            PendingTest::Done(note) => note,
            PendingTest::Number(number) => self.0.get(number).cloned().unwrap_or(nothing),
        }
    }
}

/// A measure with everything but its tests.
struct ExaminedMetric {
    metric: MetricComparison,
    scores: PairedScores,
    test: PendingTest,
    slice_tests: Vec<PendingTest>,
}

/// One measure of a task with its column of scores in both runs.
struct MeasuredTask<'a> {
    task: &'a PairedTask,
    planned: &'a PlannedMeasure,
    column: &'a Column,
    slicing: &'a Slicing,
}

impl MeasuredTask<'_> {
    /// The measure with its tests, which are added to `tests`: that of the whole task with so many permutations, those of
    /// slices with the default number of them.
    fn examine(&self, permutations: u32, default_permutations: u32, tests: &mut Tests) -> ExaminedMetric {
        let MeasuredTask { task, planned, column, .. } = self;
        let measure = &planned.measure;
        let scores = self.scores(task.paired());
        let (slices, slice_tests) = match measure.sub_score {
            None => self.examine_slices(default_permutations, tests),
            Some(_) => (Vec::new(), Vec::new()),
        };
        let total = task.counts().total;
        let means = scores.means();
        let metric = MetricComparison {
            task_id: task.task_id.clone(),
            metric_id: measure.metric_id.clone(),
            sub_score: measure.sub_score.clone(),
            scorer_versions: planned.scorer_versions.clone(),
            higher_is_better: measure.higher_is_better,
            n: scores.count(),
            // Counts of samples stay far below 2^53.
            coverage: if total == 0 { 0.0 } else { scores.count() as f64 / total as f64 },
            unscored_base: Column::unscored(&column.base, task.paired()),
            unscored_new: Column::unscored(&column.new, task.paired()),
            not_finite: column.not_finite,
            too_large: column.too_large,
            base: means.map(|(base, ..)| base),
            new: means.map(|(_, new, _)| new),
            difference: means.map(|(.., difference)| difference),
            interval: scores.interval(),
            worse: scores.worse,
            better: scores.better,
            clusters: scores.cluster_count(),
            test: TestNote { name: "none", worse: 1.0, better: 1.0, permutations: None },
            smallest_visible: None,
            gate: None,
            flips: column.flips(),
            error_tags: if measure.sub_score.is_none() { column.tags.drift() } else { Vec::new() },
            slices,
        };
        let test = tests.add(scores.test(seed_of(&self.name()), permutations));
        ExaminedMetric { metric, scores, test, slice_tests }
    }

    /// The slices that have scores, with their tests.
    fn examine_slices(
        &self,
        default_permutations: u32,
        tests: &mut Tests,
    ) -> (Vec<SliceDrift>, Vec<PendingTest>) {
        let (mut slices, mut slice_tests) = (Vec::new(), Vec::new());
        for ((by, names), members) in self.slicing.slices().zip(&self.task.slices) {
            let mut members = members.clone();
            members.sort_unstable();
            for group in members.chunk_by(|(one, _), (two, _)| one == two) {
                let Some((slice, _)) = group.first() else { continue };
                let numbers = group.iter().map(|(_, number)| *number as usize);
                let scores = self.scores(numbers.filter(|number| self.task.is_paired(*number)));
                let (Some((base, new, _)), Some(key)) = (scores.means(), names.get(*slice as usize)) else {
                    continue;
                };
                let seed = seed_of(&[&self.name()[..], &[by, key]].concat());
                slice_tests.push(tests.add(scores.test(seed, default_permutations)));
                slices.push(SliceDrift {
                    by: by.to_owned(),
                    key: key.clone(),
                    n: scores.count(),
                    base,
                    new,
                    worse: scores.worse,
                    better: scores.better,
                    p_value: 1.0,
                    q_value: 1.0,
                });
            }
        }
        (slices, slice_tests)
    }

    /// The scores of those of the samples that are scored in both runs.
    fn scores(&self, numbers: impl Iterator<Item = usize>) -> PairedScores {
        let mut scores = PairedScores::new(self.slicing.is_clustered(), self.planned.scale);
        for number in numbers {
            if let (Some(base), Some(new)) = (self.column.base.score(number), self.column.new.score(number)) {
                let cluster = self.task.clusters.get(number).copied().unwrap_or_default();
                scores.add(&self.planned.measure, base, new, cluster);
            }
        }
        scores
    }

    /// Task, metric and sub-score.
    fn name(&self) -> [&str; 3] {
        let measure = &self.planned.measure;
        let sub_score = measure.sub_score.as_deref().unwrap_or_default();
        [self.task.task_id.as_str(), &measure.metric_id, sub_score]
    }
}

/// Signs differ from metric to metric, and are the same each time.
fn seed_of(name: &[&str]) -> u64 {
    let digest = Digest::of_bytes(name.join("\0").as_bytes()).short();
    u64::from_str_radix(&digest, 16).unwrap_or_default()
}

/// All slices of the comparison are one family.
fn adjust_slices(metrics: &mut [MetricComparison]) {
    let p_values: Vec<f64> =
        metrics.iter().flat_map(|metric| &metric.slices).map(|slice| slice.p_value).collect();
    let q_values = holm::benjamini_hochberg(&p_values);
    let slices = metrics.iter_mut().flat_map(|metric| &mut metric.slices);
    slices.zip(q_values).for_each(|(slice, q_value)| slice.q_value = q_value);
    for metric in metrics {
        metric.slices.sort_by(|one, two| one.q_value.total_cmp(&two.q_value));
    }
}

/// A metric over all tasks that have it, while these are gone through.
struct PooledScores {
    overall: Overall,
    base: CompensatedSum,
    new: CompensatedSum,
    units: ScoreUnits,
    method: IntervalMethod,
}

/// The metrics that several tasks have, over all samples of these.
fn overall(metrics: &[MetricComparison], judged: &[GateDecision]) -> Vec<Overall> {
    let mut found: Vec<PooledScores> = Vec::new();
    for (metric, GateDecision { scores, .. }) in
        metrics.iter().zip(judged).filter(|(metric, _)| metric.sub_score.is_none())
    {
        let Some((base, new, _)) = scores.means() else { continue };
        let place = found.iter().position(|pooled| pooled.overall.metric_id == metric.metric_id);
        let place = place.unwrap_or_else(|| {
            found.push(PooledScores::new(&metric.metric_id));
            found.len() - 1
        });
        let Some(pooled) = found.get_mut(place) else { continue };
        pooled.overall.tasks += 1;
        pooled.overall.n += metric.n;
        pooled.base.add(base * metric.n as f64);
        pooled.new.add(new * metric.n as f64);
        // What is uncertain is so in both directions, so that of the metric does not matter.
        pooled.units.add(scores.units());
        if metric.clusters.is_some() {
            pooled.method = scores.method();
        }
    }
    found.into_iter().filter(|pooled| pooled.overall.tasks > 1).map(PooledScores::finish).collect()
}

impl PooledScores {
    fn new(metric_id: &str) -> PooledScores {
        let overall = Overall {
            metric_id: metric_id.to_owned(),
            tasks: 0,
            n: 0,
            base: 0.0,
            new: 0.0,
            difference: 0.0,
            interval: None,
        };
        PooledScores {
            overall,
            base: CompensatedSum::default(),
            new: CompensatedSum::default(),
            units: ScoreUnits::default(),
            method: IntervalMethod::T,
        }
    }

    fn finish(mut self) -> Overall {
        let count = self.overall.n as f64;
        self.overall.base = self.base.divided_by(count);
        self.overall.new = self.new.divided_by(count);
        self.overall.difference = self.overall.new - self.overall.base;
        self.overall.interval = self.units.interval(self.overall.difference, self.method);
        self.overall
    }
}
