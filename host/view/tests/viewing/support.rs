//! Run folders as the program writes them, and a server that shows them.

use gage_browser::Browser;
use gage_config::Permissions;
use gage_core::{MetricResult, Object, Outcome, ScoreCard};
use gage_figures::{
    Aggregation, Completeness, MetricDescription, Phases, TaskDescription, no_custom_aggregators,
    write_reports,
};
use gage_record::{
    ErrorNote, JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, RunStatus, SampleRecord,
    SampleTiming, Stage,
};
use gage_view::{RunsRoot, Viewer, ViewerOptions};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Returns a browser, or `None` if there is none.
pub(crate) fn browser(test: &str) -> Option<Browser> {
    Browser::start_or_skip(test).expect("a browser")
}

/// A server of a folder; stops when dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

impl Served {
    pub(crate) fn start(folder: &Path) -> Served {
        gage_recorded_messages::record_warnings("viewing");
        let runtime = Runtime::new().expect("a runtime");
        let root = RunsRoot::open(folder).expect("a folder");
        let address = "127.0.0.1:0".parse().expect("an address");
        let allowed_hosts = vec!["evals.example".to_owned()];
        let options = ViewerOptions {
            address,
            allowed_hosts,
            requests: |_, _| Box::new(|_, _| None),
            permissions: Permissions::default(),
        };
        let viewer = runtime.block_on(Viewer::bind(root, &options)).expect("a port");
        let address = viewer.address();
        let (stop, stops) = oneshot::channel();
        runtime.spawn(viewer.serve(async move {
            let _ = stops.await;
        }));
        Served { address, stop: Some(stop), runtime: Some(runtime) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns its answer to a program, as JSON.
    pub(crate) fn json(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a bound");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns a sample of the task `t` with an answer and a score.
pub(crate) fn sample(index: u64, answer: &str, score: f64) -> SampleRecord {
    let card = ScoreCard {
        primary_score: Some(score),
        pass: Some(score == 1.0),
        error_tags: if score < 1.0 { vec!["wrong_number".to_owned()] } else { Vec::new() },
        ..ScoreCard::default()
    };
    let metric = MetricResult {
        metric_id: "exact_match".into(),
        schema_version: "v1".into(),
        scorer_version: "1".into(),
        prompt_version: "".into(),
        outcome: Outcome::Scored,
        card: Some(card),
        error: None,
    };
    SampleRecord {
        task_id: "t".to_owned(),
        index,
        sample_id: format!("s-{index}"),
        row_digest: format!("{index:016x}"),
        outcome: Outcome::Scored,
        error: None,
        sample: json!({
            "id": format!("s-{index}"), "references": [format!("right {index}")],
            "messages": [{"role": "user", "content": [{"type": "text", "text": format!("What is question {index}?")}]}],
        })
        .into(),
        row: None,
        support_output: None,
        model_output: Some(
            json!({"answer": answer, "finish_reason": "stop", "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).into(),
        ),
        judge_output: Some(
            json!({"score": score, "explanation": "judged so", "replies": [{"answer": "SCORE: 1"}]}),
        ),
        metrics: vec![metric],
        timing: SampleTiming {
            latency_ms: 20.0 + index as f64,
            attempts: 1,
            finished_unix_ms: 1_790_000_000_000 + index * 100,
            ..SampleTiming::default()
        },
        timing_metrics: Vec::new(),
    }
}

/// Returns a sample whose model call failed.
pub(crate) fn failed(index: u64, message: &str) -> SampleRecord {
    SampleRecord {
        outcome: Outcome::BackendError,
        error: Some(ErrorNote {
            stage: Stage::Inference,
            kind: "timeout".to_owned(),
            message: message.to_owned(),
            pointer: None,
        }),
        model_output: None,
        judge_output: None,
        metrics: Vec::new(),
        ..sample(index, "", 0.0)
    }
}

/// Starts a run of the suite `sums`.
pub(crate) fn begin(root: &Path, run_id: &str) -> (RunFolder, Manifest, JournalWriter) {
    let folder = RunFolder::create(root, run_id).expect("a folder");
    let manifest = Manifest::new(run_id, "0.1.0", identity());
    manifest.write(&folder).expect("a manifest");
    let writer = JournalWriter::open(&folder).expect("a journal").writer;
    (folder, manifest, writer)
}

/// Starts a run of the tasks `t` and `later`.
pub(crate) fn begin_with_two_tasks(root: &Path, run_id: &str) -> JournalWriter {
    let (folder, mut manifest, writer) = begin(root, run_id);
    manifest.identity.config["tasks"] =
        json!([{"task_id": "t", "dataset_id": "t"}, {"task_id": "later", "dataset_id": "t"}]);
    manifest.write(&folder).expect("a manifest");
    writer
}

fn identity() -> RunIdentity {
    let identity = json!({
        "config": {
            "api_version": "gage/v1alpha1",
            "kind": "PipelineConfig",
            "metadata": {"name": "sums"},
            "datasets": [{"dataset_id": "t", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
            "backends": [{
                "backend_id": "b", "type": "openai_http",
                "config": {"base_url": "http://127.0.0.1:1/v1", "model": "tiny-model"},
            }],
            "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "b"}],
            "metrics": [{"metric_id": "exact_match", "implementation": "exact_match"}],
            "gate": [{"metric": "exact_match", "margin": 0.05}],
            "tasks": [{"task_id": "t", "dataset_id": "t"}],
            "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
        },
        "backends": {"b": {"type": "openai_http", "model": "tiny-model"}},
    });
    serde_json::from_value(identity).expect("an identity")
}

pub(crate) fn append(writer: &mut JournalWriter, records: &[SampleRecord]) {
    let entries: Vec<JournalEntry<'_>> = records.iter().map(JournalEntry::FinishedWithoutScores).collect();
    writer.append_batch(entries).expect("appended");
}

/// Ends a started run, with figures of `exact_match`.
pub(crate) fn end(folder: &RunFolder, manifest: Manifest) {
    end_with(folder, manifest, [&["exact_match"], &[]], &Completeness::new());
}

/// Ends a run with figures of some metrics, and of some that read a clock.
fn end_with(
    folder: &RunFolder,
    mut manifest: Manifest,
    [metrics, timing_metrics]: [&[&str]; 2],
    reaches: &Completeness,
) {
    let metric = |metric_id: &str| MetricDescription {
        metric_id: metric_id.to_owned(),
        implementation: metric_id.to_owned(),
        scorer_version: "1".to_owned(),
        aggregation: Aggregation::Mean,
        value_name: "score".to_owned(),
        higher_is_better: true,
        is_proportion: true,
        scales: Vec::new(),
        bounds: gage_figures::UNBOUNDED,
        directions: Vec::new(),
    };
    let timing_metric = |metric_id: &&str| MetricDescription {
        value_name: format!("{metric_id}_ms"),
        higher_is_better: false,
        is_proportion: false,
        ..metric(metric_id)
    };
    let task = TaskDescription {
        task_id: "t".to_owned(),
        dataset_id: "d".to_owned(),
        metrics: metrics.iter().map(|metric_id| metric(metric_id)).collect(),
        timing_metrics: timing_metrics.iter().map(timing_metric).collect(),
        slices: Vec::new(),
        cluster_by: None,
        repeat: 1,
        prompts: Vec::new(),
        prompt_version: String::new(),
        metric_paths: Vec::new(),
        judges: Vec::new(),
        sampling_params: Object::new(),
    };
    let tasks = match reaches.contains_key("later") {
        true => vec![task.clone(), TaskDescription { task_id: "later".to_owned(), ..task }],
        false => vec![task],
    };
    let written =
        write_reports(folder, &tasks, reaches, &Phases::default(), &no_custom_aggregators).expect("reports");
    manifest.files = written.files;
    manifest.finish(RunStatus::Complete);
    manifest.write(folder).expect("a manifest");
}

/// Writes a complete run, with the metrics of its first sample.
pub(crate) fn whole(root: &Path, run_id: &str, records: &[SampleRecord]) {
    stopped(root, run_id, records, &Completeness::new());
}

/// Writes a run of the task `t`, and of `later` if that is named, which reached only some samples.
pub(crate) fn stopped(root: &Path, run_id: &str, records: &[SampleRecord], reaches: &Completeness) {
    let (folder, manifest, mut writer) = begin(root, run_id);
    append(&mut writer, records);
    drop(writer);
    let names = |of: fn(&SampleRecord) -> &Vec<MetricResult>| -> Vec<&str> {
        records.first().into_iter().flat_map(of).map(|metric| metric.metric_id.as_str()).collect()
    };
    let timing_metrics = names(|record| &record.timing_metrics);
    end_with(&folder, manifest, [&names(|record| &record.metrics), &timing_metrics], reaches);
}

/// Returns forty samples; every fourth is wrong, and one was not answered.
pub(crate) fn forty(shift: u64) -> Vec<SampleRecord> {
    (0..40)
        .map(|index| match index {
            13 => failed(index, "no answer in 60 s"),
            index if (index + shift).is_multiple_of(4) => sample(index, &format!("wrong {index}"), 0.0),
            index => sample(index, &format!("right {index}"), 1.0),
        })
        .collect()
}

/// Returns the errors of a page, and its requests to places other than its server.
pub(crate) fn complaints(said: Vec<String>, served: Option<&Served>) -> Vec<String> {
    let own = served.map(|served| format!("request {}", served.url("/")));
    let is_own = |line: &String| {
        own.as_ref().is_some_and(|own| line.starts_with(own))
            || line.starts_with("request file:")
            || line.starts_with("request data:")
    };
    said.into_iter().filter(|line| !is_own(line)).collect()
}
