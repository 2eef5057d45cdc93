//! Writes two runs of many samples, for measuring and viewing their reports.
//!
//!     cargo run --release -p gage-figures --example large_run -- FOLDER 100000

use gage_core::{MetricResult, Outcome, ScoreCard};
use gage_figures::{
    Aggregation, Completeness, MetricDescription, Phases, TaskDescription, no_custom_aggregators,
    write_reports,
};
use gage_record::{
    JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, RunStatus, SampleRecord, SampleTiming,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const TOPICS: [&str; 6] = ["algebra", "biology", "chemistry", "geography", "history", "physics"];
const WORDS: [&str; 24] = [
    "energy",
    "river",
    "because",
    "therefore",
    "the",
    "of",
    "mass",
    "triangle",
    "observed",
    "slowly",
    "is",
    "equal",
    "to",
    "cell",
    "empire",
    "and",
    "reaction",
    "which",
    "north",
    "between",
    "sum",
    "light",
    "a",
    "we",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().ok_or("usage: large_run FOLDER SAMPLES")?;
    let samples: u64 = arguments.next().unwrap_or_else(|| "100000".to_owned()).parse()?;
    for (run, run_id) in ["baseline", "nightly"].into_iter().enumerate() {
        write(Path::new(&root), run_id, run as u64, samples)?;
    }
    Ok(())
}

/// A pseudorandom number, the same each time.
fn number(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn words(seed: u64, count: u64) -> String {
    let word = |place: u64| WORDS[(number(seed.wrapping_mul(1_000).wrapping_add(place)) % 24) as usize];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn write(root: &Path, run_id: &str, run: u64, samples: u64) -> Result<(), Box<dyn std::error::Error>> {
    let folder = RunFolder::create(root, run_id)?;
    let mut manifest = Manifest::new(run_id, env!("CARGO_PKG_VERSION"), RunIdentity::default());
    manifest.write(&folder)?;
    let mut journal = JournalWriter::open(&folder)?.writer;
    let tasks = [("reading", samples * 3 / 5), ("sums", samples - samples * 3 / 5)];
    for (task, (task_id, count)) in tasks.into_iter().enumerate() {
        for first in (0..count).step_by(1_000) {
            let numbers = first..(first + 1_000).min(count);
            let records: Vec<SampleRecord> =
                numbers.map(|index| record(task_id, task as u64, index, run, count)).collect();
            let entries: Vec<JournalEntry> =
                records.iter().map(JournalEntry::FinishedWithoutScores).collect();
            journal.append_batch(entries)?;
        }
    }
    drop(journal);
    let phases = Phases {
        inference: Duration::from_millis(samples * 12),
        evaluation: Duration::from_millis(samples / 4),
        wall: Duration::from_millis(samples * 13),
        samples,
        finished: samples,
        requests: samples,
        completion_tokens: samples * 60,
        ..Phases::default()
    };
    let written = write_reports(
        &folder,
        &tasks.map(|(task_id, _)| description(task_id)),
        &Completeness::new(),
        &phases,
        &no_custom_aggregators,
    )?;
    manifest.files = written.files;
    manifest.finish(RunStatus::Complete);
    manifest.write(&folder)?;
    Ok(())
}

fn description(task_id: &str) -> TaskDescription {
    let metric = |metric_id: &str, aggregation| MetricDescription {
        metric_id: metric_id.to_owned(),
        implementation: metric_id.to_owned(),
        scorer_version: "1".to_owned(),
        aggregation,
        value_name: "score".to_owned(),
        higher_is_better: true,
        is_proportion: true,
        scales: Vec::new(),
        bounds: gage_figures::UNBOUNDED,
        directions: Vec::new(),
    };
    TaskDescription {
        task_id: task_id.to_owned(),
        dataset_id: task_id.to_owned(),
        metrics: vec![metric("exact_match", Aggregation::Mean), metric("f1", Aggregation::Mean)],
        timing_metrics: Vec::new(),
        slices: vec!["metadata.topic".to_owned()],
        cluster_by: None,
        repeat: 1,
        prompts: Vec::new(),
        prompt_version: String::new(),
        metric_paths: Vec::new(),
        judges: Vec::new(),
        sampling_params: gage_core::Object::new(),
    }
}

fn record(task_id: &str, task: u64, index: u64, run: u64, count: u64) -> SampleRecord {
    let seed = index * 2 + task;
    // Three samples in a hundred differ between the runs.
    let luck = number(if number(seed) % 100 < 3 { seed * 7 + run } else { seed * 7 });
    let is_right = luck % 100 < 70 - 2 * run;
    let outcome = match luck % 400 {
        7 => Outcome::Truncated,
        8 => Outcome::EmptyOutput,
        9 => Outcome::BackendError,
        _ => Outcome::Scored,
    };
    let f1 = if is_right { 1.0 } else { (luck >> 20 & 0xff) as f64 / 320.0 };
    let question = format!("{} Question {index}: what follows?", words(seed, 60));
    let answer =
        format!("{} So the answer is {}.", words(luck, 40), if is_right { index } else { luck % 1_000 });
    let result = |metric_id: &str, value: f64, pass: Option<bool>| MetricResult {
        metric_id: metric_id.into(),
        schema_version: "v1".into(),
        scorer_version: "1".into(),
        prompt_version: "".into(),
        outcome: Outcome::Scored,
        card: Some(ScoreCard {
            primary_score: Some(value),
            pass,
            error_tags: if value < 0.3 {
                vec![["no_answer", "wrong_number"][(luck % 2) as usize].to_owned()]
            } else {
                Vec::new()
            },
            ..ScoreCard::default()
        }),
        error: None,
    };
    let is_scored = outcome == Outcome::Scored;
    let message: Value = json!({"role": "user", "content": [{"type": "text", "text": question}]});
    SampleRecord {
        task_id: task_id.to_owned(),
        index,
        sample_id: format!("{task_id}-{index:06}"),
        row_digest: format!("{:016x}", number(seed)),
        outcome,
        error: None,
        sample: json!({
            "schema_version": "v1", "id": format!("{task_id}-{index:06}"), "messages": [message],
            "references": [index.to_string()],
            "metadata": {"topic": TOPICS[(number(seed) % 6) as usize]},
        })
        .into(),
        row: None,
        model_output: (outcome != Outcome::BackendError).then(|| {
            json!({"answer": answer, "finish_reason": "stop", "usage": {"prompt_tokens": 90, "completion_tokens": 40 + luck % 40}}).into()
        }),
        judge_output: None,
        support_output: None,
        metrics: if is_scored {
            vec![result("exact_match", f64::from(is_right), Some(is_right)), result("f1", f1, None)]
        } else {
            Vec::new()
        },
        timing: SampleTiming {
            latency_ms: 80.0 + (luck % 1_000) as f64 / 4.0 + if luck.is_multiple_of(50) { 900.0 } else { 0.0 },
            attempts: 1,
            finished_unix_ms: 1_790_000_000_000 + (task * count + index) * 12 + luck % 500,
            ..SampleTiming::default()
        },
        timing_metrics: Vec::new(),
    }
}
