//! A frozen reader of run folders: it stands for every program in use that reads version 1 of the formats.
//!
//! Formats grow only by keys that this reader skips. Do not edit it when a format grows. If it fails, the change of the format
//! is wrong. Only a higher version number justifies another reader, beside this one. It has the keys that readers of this
//! version rely on, and shares no code with the host.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The files of a run folder, by their names in it.
pub(crate) type RunFiles = BTreeMap<String, Vec<u8>>;

/// Defines types that are read from JSON or YAML. Unknown keys are skipped.
macro_rules! stored_types {
    ($($(#[$of_type:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $kind:ty),* $(,)? })*) => {$(
        $(#[$of_type])*
        #[derive(Debug, PartialEq, Deserialize)]
        pub(crate) struct $name { $($(#[$of_field])* pub(crate) $field: $kind),* }
    )*};
}

stored_types! {
    // manifest.json and config.yaml
    Manifest {
        format_version: u64, run_id: String, journal_id: String, created_at: String, finished_at: Option<String>, host_version: String,
        status: String, identity: Identity, files: BTreeMap<String, FileDigest>,
    }
    Identity {
        config: Config, host: HostVersions, datasets: BTreeMap<String, Dataset>, plugins: BTreeMap<String, Plugin>,
        backends: BTreeMap<String, Backend>,
    }
    Config { api_version: String, kind: String, #[serde(default)] tasks: Vec<TaskConfig> }
    TaskConfig { task_id: String, dataset_id: String }
    HostVersions { scoring_version: u64 }
    Dataset { digest: Option<String>, bytes: u64 }
    Plugin { component: String, version: String, digest: String, wit_version: String, scorer_version: String }
    Backend { #[serde(rename = "type")] kind: String, model: Option<String> }
    FileDigest { digest: String, bytes: u64 }

    // samples.jsonl, and the lines of the journal
    StoredSample {
        task_id: String, index: u64, sample_id: String, outcome: String, error: Option<ErrorNote>,
        sample: Option<Sample>, row: Option<String>, model_output: Option<ModelOutput>,
        #[serde(default)] metrics: Vec<MetricResult>,
    }
    ErrorNote { stage: String, kind: String, message: String, pointer: Option<String> }
    Sample {
        id: Option<String>, task_type: Option<String>, messages: Vec<Message>,
        #[serde(default)] options: Vec<ChoiceOption>, references: Option<Value>, label: Option<String>,
        #[serde(default)] metadata: Metadata, #[serde(default, rename = "_dataset_metadata")] origin: Origin,
    }
    Message { role: String, content: Value }
    ChoiceOption { id: String, content: String }
    #[derive(Default)] Metadata { option_map: Option<BTreeMap<String, String>>, correct_choice: Option<String> }
    #[derive(Default)] Origin { row: Option<u64> }
    ModelOutput { answer: String, finish_reason: String, usage: Option<TokenCounts> }
    TokenCounts { prompt_tokens: u64, completion_tokens: u64 }
    MetricResult {
        metric_id: String, schema_version: Option<String>, scorer_version: Option<String>,
        prompt_version: Option<String>, outcome: Option<String>, card: Option<ScoreCard>, error: Option<String>,
    }
    ScoreCard {
        primary_score: Option<f64>, pass: Option<bool>, #[serde(default)] error_tags: Vec<String>,
        explain: Option<String>,
    }

    // The rest of the journal
    Header { format: String, format_version: u64, run_id: String, journal_id: String }
    /// The parts of a line that are not those of a sample.
    JournalLine {
        line: u64, row_digest: String, #[serde(default)] awaits_scores: bool, timing: Option<SampleTiming>,
        scores: Option<Scores>,
    }
    SampleTiming {
        latency_ms: f64, queue_ms: f64, attempts: u64, scoring_ms: f64, scoring_fuel: u64, finished_unix_ms: u64,
    }
    Scores {
        error: Option<ErrorNote>, #[serde(default)] extracted: Extracted, metrics: Vec<MetricResult>,
        scoring_ms: f64, scoring_fuel: u64, scored_together: u64,
    }
    #[derive(Default)] Extracted { answer: Option<String> }
    LineCount { journal_id: String, lines: u64 }

    // summary.json
    Summary { format_version: u64, samples: SampleCounts, tasks: Vec<TaskSummary>, metrics: Vec<MetricFigure> }
    SampleCounts {
        total: u64, outcomes: BTreeMap<String, u64>, #[serde(default)] not_reached: u64,
        #[serde(default)] total_is_least: bool, coverage: f64,
    }
    TaskSummary {
        task_id: String, dataset_id: String, samples: SampleCounts, metrics: Vec<MetricFigure>, usage: TokenCounts,
    }
    MetricFigure {
        task_id: String, metric_id: String, implementation: String, schema_version: String, scorer_version: String,
        #[serde(default)] prompt_version: String, aggregation: String, value_name: String, higher_is_better: bool,
        scale: Option<[f64; 2]>, value: Option<f64>, n: u64, total: u64, coverage: f64, repeats: u64,
        stderr: Option<f64>, interval: Option<Interval>, sub_scores: Vec<SubFigure>, error_tags: Vec<TagCount>,
        outcomes: BTreeMap<String, u64>, error: Option<String>,
    }
    Interval { low: f64, high: f64, level: f64, method: String }
    SubFigure { name: String, value: Option<f64>, n: u64 }
    TagCount { tag: String, count: u64 }

    // timings.json
    Timings {
        format_version: u64, dataset_materialization_s: f64, inference_s: f64, evaluation_s: f64,
        execution_runtime_s: f64, total_runtime_s: f64, wall_runtime_s: f64,
        throughput_total_samples_per_s: Option<f64>, throughput_inference_samples_per_s: Option<f64>,
        throughput_auto_eval_samples_per_s: Option<f64>, throughput_requests_per_s: Option<f64>,
        throughput_prompt_tokens_per_s: Option<f64>, throughput_completion_tokens_per_s: Option<f64>,
        latency_total_ms_per_sample: Option<f64>, latency_inference_ms_per_sample: Option<f64>,
        stages: BTreeMap<String, f64>, samples: u64, finished: u64, samples_of_run: u64,
        latency: Option<Latencies>, first_token: Option<Latencies>, queue: Option<Latencies>, retries: u64,
        requests: u64, prompt_tokens: u64, completion_tokens: u64, tasks: Vec<TaskTimings>,
        timing_metrics: Vec<MetricFigure>, machine: Machine,
    }
    Latencies { p50_ms: f64, p90_ms: f64, p95_ms: f64, p99_ms: f64, max_ms: f64, mean_ms: f64 }
    TaskTimings {
        task_id: String, model_calls: u64, retries: u64, scoring_fuel: u64, latency: Option<Latencies>,
        first_token: Option<Latencies>,
    }
    Machine { cores: u64, os: String, arch: String }

    // gage.lock
    Lock {
        format: String, format_version: u64, #[serde(rename = "must-understand")] must_understand: Vec<String>,
        suite: LockedSuite, host: HostVersions, datasets: BTreeMap<String, Dataset>,
        plugins: BTreeMap<String, Plugin>, prompts: BTreeMap<String, Prompt>, backends: BTreeMap<String, Backend>,
        settings: Settings,
    }
    LockedSuite { name: String }
    Prompt { prompt_id: String, digest: String }
    Settings { #[serde(default)] tasks: BTreeMap<String, LockedTask> }
    LockedTask { dataset_id: String }

    // events.jsonl
    Event {
        event_id: u64, unix_ms: u64, kind: String, level: String, task_id: Option<String>,
        sample_id: Option<String>, payload: EventPayload,
    }
    EventPayload {
        run_id: Option<String>, index: Option<u64>, outcome: Option<String>,
        outcomes: Option<BTreeMap<String, u64>>, total: Option<u64>,
    }
}

/// The content of a run folder.
#[derive(Debug, PartialEq)]
pub(crate) struct StoredRun {
    pub(crate) manifest: Manifest,
    /// The samples of the journal, in the order of the suite.
    pub(crate) journal: Vec<JournalSample>,
    /// The samples of `samples.jsonl`.
    pub(crate) samples: Vec<StoredSample>,
    pub(crate) summary: Summary,
    pub(crate) timings: Timings,
    pub(crate) lock: Lock,
    pub(crate) events: Vec<Event>,
}

impl StoredRun {
    pub(crate) fn read(files: &RunFiles) -> StoredRun {
        let manifest = Manifest::read(files);
        let summary: Summary = from_json(&files["summary.json"]);
        let timings: Timings = from_json(&files["timings.json"]);
        assert_eq!((summary.format_version, timings.format_version), (1, 1));
        let config: Config = serde_yaml::from_slice(&files["config.yaml"]).expect("a suite");
        assert_eq!(config, manifest.identity.config);
        let mut journal = read_journal(files, &manifest, &summary);
        let mut samples: Vec<StoredSample> = from_json_lines(&files["samples.jsonl"]);
        let in_journal = journal.iter_mut().map(|entry| &mut entry.sample);
        in_journal.chain(&mut samples).for_each(|sample| sample.restore(&summary));
        let lock = Lock::read(&files["gage.lock"]);
        let events = from_json_lines(&files["events.jsonl"]);
        StoredRun { manifest, journal, samples, summary, timings, lock, events }
    }
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

fn from_json_lines<T: DeserializeOwned>(bytes: &[u8]) -> Vec<T> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(from_json).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// Returns the digest of a value: of its JSON without blanks and with sorted keys.
fn sha256_of_json(mut value: Value) -> String {
    value.sort_all_objects();
    sha256(value.to_string().as_bytes())
}

impl Manifest {
    /// Reads the manifest, and compares it and the other files with their digests.
    fn read(files: &RunFiles) -> Manifest {
        let mut value: Value = from_json(&files["manifest.json"]);
        let digest = value.as_object_mut().and_then(|keys| keys.remove("digest"));
        assert_eq!(digest, Some(sha256_of_json(value.clone()).into()), "the digest of the manifest");
        let manifest: Manifest = serde_json::from_value(value).expect("a manifest");
        assert_eq!(manifest.format_version, 1);
        for (name, FileDigest { digest, bytes }) in &manifest.files {
            let file = &files[name];
            assert_eq!((&sha256(file), file.len() as u64), (digest, *bytes), "{name}");
        }
        manifest
    }
}

impl StoredSample {
    /// Returns the score by the first metric.
    pub(crate) fn score(&self) -> Option<f64> {
        let result = self.metrics.first().filter(|result| result.outcome.as_deref() == Some("scored"))?;
        result.card.as_ref()?.primary_score
    }

    /// Adds what a line leaves out because other parts of the run have it.
    fn restore(&mut self, summary: &Summary) {
        let StoredSample { task_id, index, sample_id, sample, metrics, .. } = self;
        if let Some(sample) = sample {
            sample.restore(sample_id, *index);
        }
        for result in metrics {
            let is_own = |one: &&MetricFigure| one.task_id == *task_id && one.metric_id == result.metric_id;
            let figure = summary.metrics.iter().find(is_own).expect("the figure of a metric");
            result.outcome.get_or_insert_with(|| "scored".to_owned());
            result.schema_version.get_or_insert_with(|| figure.schema_version.clone());
            result.scorer_version.get_or_insert_with(|| figure.scorer_version.clone());
            result.prompt_version.get_or_insert_with(|| figure.prompt_version.clone());
        }
    }
}

impl Sample {
    /// Adds what follows from the line, the label and the options.
    fn restore(&mut self, sample_id: &str, index: u64) {
        self.id.get_or_insert_with(|| sample_id.to_owned());
        self.origin.row.get_or_insert(index);
        let reference = |label: &String| json!({"answer": [{"type": "text", "text": label}]});
        let implied: Value = self.label.iter().map(reference).collect();
        let is_implied = *self.references.get_or_insert_with(|| implied.clone()) == implied;
        if !self.options.is_empty() {
            let texts = self.options.iter().map(|option| (option.id.clone(), option.content.clone()));
            self.metadata.option_map.get_or_insert_with(|| texts.collect());
        }
        let is_option = |label: &&String| self.options.iter().any(|option| option.id == **label);
        let choice = self.label.as_ref().filter(|_| is_implied).filter(is_option).cloned();
        self.metadata.correct_choice = self.metadata.correct_choice.take().or(choice);
    }
}

/// A sample of the journal, with the scores that follow its last answer.
#[derive(Debug, PartialEq)]
pub(crate) struct JournalSample {
    pub(crate) sample: StoredSample,
    pub(crate) timing: SampleTiming,
    row_digest: String,
    awaits_scores: bool,
}

/// Returns the samples of all segments of the journal, tasks in the order of the summary.
fn read_journal(files: &RunFiles, manifest: &Manifest, summary: &Summary) -> Vec<JournalSample> {
    let seed = crc32fast::hash(manifest.journal_id.as_bytes());
    let (mut count, mut samples) = (0, BTreeMap::new());
    for segment in (1..).map_while(|number| segment(files, number)) {
        for (line, number) in segment.split_inclusive(|byte| *byte == b'\n').zip(1_u64..) {
            count += 1;
            if number == 1 {
                let header: Header = from_json(checked(line, 0));
                assert_eq!((header.format.as_str(), header.format_version), ("gage-journal", 1));
                let ids = (&manifest.run_id, &manifest.journal_id);
                assert_eq!((&header.run_id, &header.journal_id), ids);
                continue;
            }
            let json = checked(line, seed);
            let (line, sample): (JournalLine, StoredSample) = (from_json(json), from_json(json));
            assert_eq!(line.line, number, "the number of a line");
            let task = summary.tasks.iter().position(|task| task.task_id == sample.task_id);
            add_line(&mut samples, (task.expect("a task of the suite"), sample.index), line, sample);
        }
    }
    let recorded = &files["journal/recorded"];
    let slots = [0_usize, 4096].map(|offset| {
        let slot = recorded[offset..].split_inclusive(|byte| *byte == b'\n').next().expect("a slot");
        let count: LineCount = from_json(checked(slot, 0));
        assert_eq!(count.journal_id, manifest.journal_id);
        count.lines
    });
    assert!(slots.iter().all(|lines| *lines <= count), "{slots:?} lines were recorded, {count} are there");
    samples.into_values().collect()
}

/// Adds a line: an answer, the scores of an earlier answer, or a whole sample.
fn add_line(
    samples: &mut BTreeMap<(usize, u64), JournalSample>,
    place: (usize, u64),
    line: JournalLine,
    sample: StoredSample,
) {
    let JournalLine { row_digest, awaits_scores, timing, scores, .. } = line;
    let Some(scores) = scores else {
        let timing = timing.expect("the timing of an answer");
        samples.insert(place, JournalSample { sample, timing, row_digest, awaits_scores });
        return;
    };
    let known = samples.get_mut(&place).expect("an answer before its scores");
    assert!(known.row_digest == row_digest && scores.scored_together > 0);
    assert!(scores.metrics.iter().all(|result| result.outcome.is_some()));
    known.awaits_scores = false;
    known.sample.outcome = sample.outcome;
    known.sample.error = scores.error;
    known.sample.metrics = scores.metrics;
    if let (Some(output), Some(answer)) = (&mut known.sample.model_output, scores.extracted.answer) {
        output.answer = answer;
    }
    (known.timing.scoring_ms, known.timing.scoring_fuel) = (scores.scoring_ms, scores.scoring_fuel);
}

/// Returns the lines of a segment. If it has two files, the one that is not sealed counts.
fn segment(files: &RunFiles, number: u64) -> Option<Vec<u8>> {
    let name = format!("journal/{number:06}.jsonl");
    let sealed = || files.get(&format!("{name}.zst")).map(|sealed| unsealed(sealed));
    files.get(&name).cloned().or_else(sealed)
}

/// Decompresses a sealed segment, by the seek table after its frames.
fn unsealed(sealed: &[u8]) -> Vec<u8> {
    let number_at = |place: usize| {
        let (bytes, _) = sealed[place..].split_first_chunk::<4>().expect("four bytes");
        u32::from_le_bytes(*bytes)
    };
    let end = sealed.len() - 9;
    assert_eq!((number_at(end + 5), sealed[end + 4]), (0x8F92_EAB1, 0), "the end of the seek table");
    let begin = end - 8 * number_at(end) as usize;
    assert_eq!(number_at(begin - 8), 0x184D_2A5E, "the begin of the seek table");
    let (mut lines, mut offset) = (Vec::new(), 0);
    for entry in (begin..end).step_by(8) {
        let (compressed, length) = (number_at(entry) as usize, number_at(entry + 4) as usize);
        let frame = zstd::bulk::decompress(&sealed[offset..offset + compressed], length).expect("a frame");
        assert_eq!(frame.len(), length);
        lines.extend(frame);
        offset += compressed;
    }
    assert_eq!(offset, begin - 8, "the frames fill the file");
    assert!(lines == zstd::decode_all(sealed).expect("frames"), "readers without the table see other lines");
    lines
}

/// Returns the JSON of a line. Its checksum continues that of the run id.
fn checked(line: &[u8], seed: u32) -> &[u8] {
    let (begin, json) = line.strip_suffix(b"\n").expect("a whole line").split_at(9);
    let mut checksum = crc32fast::Hasher::new_with_initial(seed);
    checksum.update(json);
    assert_eq!(String::from_utf8_lossy(begin), format!("{:08x} ", checksum.finalize()));
    json
}

impl Lock {
    fn read(bytes: &[u8]) -> Lock {
        let value: Value = serde_yaml::from_slice(bytes).expect("YAML");
        let mut parts = value.clone();
        let keys = parts.as_object_mut().expect("a mapping");
        let digest = keys.remove("digest");
        for key in ["format", "format_version", "must-understand"] {
            keys.remove(key).expect("a key of the head");
        }
        assert_eq!(digest, Some(sha256_of_json(parts).into()), "the digest of the lock");
        let lock: Lock = serde_json::from_value(value).expect("a lock");
        assert_eq!((lock.format.as_str(), lock.format_version), ("gage-lock", 1));
        assert!(lock.must_understand.is_empty(), "{:?}", lock.must_understand);
        lock
    }
}
