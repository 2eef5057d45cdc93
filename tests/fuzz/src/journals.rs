//! Journals and lists of samples of run folders.

use crate::input_numbers::InputNumbers;
use crate::manifests::{RUN_ID, manifest, run_folder};
use crate::{Target, Verdict, mutation};
use gage_core::{Object, Outcome};
use gage_figures::test_records::{failed, sample};
use gage_record::format::{JOURNAL_FOLDER, RECORDED_FILE, SAMPLES_FILE};
use gage_record::{
    JournalId, JournalIndex, JournalRepair, JournalTail, RunReader, SampleRecord, Scores, ScoresEntry,
};
use serde_json::{Value, json};
use std::path::Path;

/// Journals.
pub const JOURNALS: Target = Target {
    name: "journals",
    cases: 300,
    seeds: journal_seeds,
    inputs: || mutation::json_inputs(journal_seeds(), NAMES),
    check: check_journal,
};

/// Lines of `samples.jsonl`.
pub const SAMPLE_LINES: Target = Target {
    name: "sample_lines",
    cases: 500,
    seeds: sample_seeds,
    inputs: || mutation::json_inputs(sample_seeds(), NAMES),
    check: check_samples,
};

/// Name of the first file of a journal.
const FIRST_SEGMENT: &str = "000001.jsonl";

/// One journal of this number is repaired: a repair waits for the disk.
const REPAIRS: usize = 8;

const NAMES: &[&str] = &[
    "line",
    "format",
    "format_version",
    "run_id",
    "journal_id",
    "task_id",
    "index",
    "sample_id",
    "row_digest",
    "outcome",
    "error",
    "kind",
    "message",
    "sample",
    "row",
    "support_output",
    "model_output",
    "answer",
    "usage",
    "judge_output",
    "metrics",
    "metric_id",
    "card",
    "primary_score",
    "sub_scores",
    "detail",
    "tags",
    "timing",
    "latency_ms",
    "queue_ms",
    "attempts",
    "stages",
    "scores",
    "scored_together",
    "awaits_scores",
    "awaits_judges",
    "finished_unix_ms",
    "scoring_ms",
    "scoring_fuel",
    "timing_metrics",
];

fn records() -> [SampleRecord; 2] {
    [sample("a", 0, 0.25, 12.5), failed("a", 1, Outcome::BackendError)]
}

/// Returns a line of JSON with its number.
fn numbered(number: u64, mut value: Value) -> String {
    let mut line = json!({ "line": number });
    if let (Value::Object(line), Value::Object(members)) = (&mut line, &mut value) {
        line.append(members);
    }
    format!("{line}\n")
}

/// Returns the lines of journals, without checksums.
fn journal_lines() -> Vec<String> {
    let header = json!({
        "format": "gage-journal", "format_version": 1, "run_id": RUN_ID, "journal_id": JournalId::default(),
    });
    let header = format!("{header}\n");
    let [ended, broken] = records();
    let mut answer = Object::new();
    for (key, value) in json!(ended).as_object().into_iter().flatten() {
        match key.as_str() {
            "index" => drop(answer.insert(key.clone(), 2.into())),
            "metrics" | "timing_metrics" => {}
            _ => {
                if key == "sample" {
                    // Readers stop at the Sample.
                    answer.insert("awaits_scores".to_owned(), true.into());
                }
                answer.insert(key.clone(), value.clone());
            }
        }
    }
    let scores = ScoresEntry {
        task_id: "a".into(),
        index: 2,
        sample_id: "s-2".into(),
        row_digest: "".into(),
        outcome: Outcome::Scored,
        scores: Scores { scored_together: 1, metrics: ended.metrics.clone(), ..Scores::default() },
    };
    let whole = format!("{header}{}{}", numbered(2, json!(ended)), numbered(3, json!(broken)));
    let scored = format!("{header}{}{}", numbered(2, answer.into()), numbered(3, json!(scores)));
    vec![whole, scored]
}

/// Returns journals with their checksums, and without them.
fn journal_seeds() -> Vec<Vec<u8>> {
    let lines = journal_lines();
    let framed = lines.iter().map(|lines| framed(lines.as_bytes()));
    framed.chain(lines.iter().map(|lines| lines.clone().into_bytes())).collect()
}

/// Adds the checksum to each line. The first one is the header, whose checksum does not depend on the journal.
fn framed(lines: &[u8]) -> Vec<u8> {
    let seeds = std::iter::once(0)
        .chain(std::iter::repeat(crc32fast::hash(JournalId::default().to_string().as_bytes())));
    let line = |(line, seed): (&[u8], u32)| {
        let json = line.strip_suffix(b"\n").unwrap_or(line);
        let mut hasher = crc32fast::Hasher::new_with_initial(seed);
        hasher.update(json);
        [format!("{:08x} ", hasher.finalize()).as_bytes(), line].concat()
    };
    lines.split_inclusive(|byte| *byte == b'\n').zip(seeds).flat_map(line).collect()
}

fn check_journal(input: &[u8]) -> Result<Verdict, String> {
    let as_it_is = check_file(input)?;
    let with_checksums = check_file(&framed(input))?;
    Ok(as_it_is.or(with_checksums))
}

/// Checks the run with this first file of its journal.
fn check_file(journal: &[u8]) -> Result<Verdict, String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = run_folder(manifest().to_string().as_bytes()).map_err(failed)?;
    let path = folder.path();
    let files = path.join(JOURNAL_FOLDER);
    std::fs::create_dir(&files).map_err(failed)?;
    std::fs::write(files.join(FIRST_SEGMENT), journal).map_err(failed)?;
    // The run says that it recorded the header.
    let json = format!("{{\"journal_id\":\"{}\",\"lines\":{:>20}}}\n", JournalId::default(), 1);
    std::fs::write(files.join(RECORDED_FILE), framed(json.as_bytes())).map_err(failed)?;
    let reader = RunReader::open(path).map_err(|error| format!("the run folder: {error}"))?;
    let _ = JournalTail::new(path, JournalId::default()).read_new(|_| {});
    let index = reader.journal();
    let verdict = Verdict::of(&index);
    if let Ok(index) = index {
        read_records(&index);
    }
    if InputNumbers::of(journal).below(REPAIRS) == 0 {
        check_repair(path)?;
    }
    Ok(verdict)
}

/// Reads all records. Each may be an error: an index needs only parts of a line.
fn read_records(index: &JournalIndex) {
    let mut answers = index.answers();
    for task_id in index.task_ids() {
        let _ = index.outcomes(task_id);
        index.whole_records(task_id).for_each(drop);
        for (number, _) in index.samples(task_id) {
            let _ = (answers.read(task_id, number), index.record(task_id, number));
        }
    }
    index.records_so_far(&["a"]).for_each(drop);
}

/// A repaired journal can be read.
fn check_repair(path: &Path) -> Result<(), String> {
    if JournalRepair::run(path).is_err() {
        return Ok(());
    }
    let again = RunReader::open(path).and_then(|reader| reader.journal());
    again.map(drop).map_err(|error| format!("after the repair: {error}"))
}

fn sample_seeds() -> Vec<Vec<u8>> {
    let line = |record: &SampleRecord| {
        let mut line = json!(record);
        if let Value::Object(members) = &mut line {
            ["row_digest", "timing", "timing_metrics"]
                .iter()
                .for_each(|key| drop(members.shift_remove(*key)));
        }
        format!("{line}\n")
    };
    vec![records().iter().map(line).collect::<String>().into_bytes()]
}

fn check_samples(input: &[u8]) -> Result<Verdict, String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = run_folder(manifest().to_string().as_bytes()).map_err(failed)?;
    std::fs::write(folder.path().join(SAMPLES_FILE), input).map_err(failed)?;
    let reader = RunReader::open(folder.path()).map_err(|error| format!("the run folder: {error}"))?;
    let mut verdict = Verdict::Refused;
    for line in reader.samples().map_err(|error| error.to_string())? {
        verdict = verdict.or(Verdict::of(&line));
        if let Ok(mut line) = line {
            let _ = line.take_results();
        }
    }
    Ok(verdict)
}
