//! Runs requests against a suite whose model is an HTTP server in the test.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "its `main` is not called")]
#[path = "../examples/run_suite.rs"]
mod run_suite;

use gage_core::Shard;
use gage_load_server::{Answer, LoadServer, Reply, completion, last_message};
use gage_recorded_messages::RecordedError as _;
use gage_runner::{
    CancelToken, Context, Ending, ErrorCategory, HttpExchanges, LockAction, LockChange, LockRequest,
    MergeError, MergeRequest, RescoreCheck, RescoreRequest, ResumeRequest, RunEvent, RunProgress, RunRequest,
    RunStatus, RunnerError, Shortfall, SuiteSource, VerifyRequest, lock, merge, rescore, resume, run, verify,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ROWS: u64 = 6;

/// A folder with a suite of [`ROWS`] rows, and the server that answers them.
struct Workspace {
    folder: tempfile::TempDir,
    server: LoadServer,
}

impl Workspace {
    fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let server = LoadServer::start(move |request| answer(&last_message(request))).unwrap();
        let row = |index| {
            format!("{{\"id\": \"s{index}\", \"question\": \"q{index}\", \"answer\": \"a{index}\"}}\n")
        };
        std::fs::write(folder.path().join("rows.jsonl"), (0..ROWS).map(row).collect::<String>()).unwrap();
        let suite = include_str!("suite.yaml").replace("SERVER", &server.url());
        std::fs::write(folder.path().join("suite.yaml"), suite).unwrap();
        Workspace { folder, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn context(&self, progress: Arc<dyn RunProgress>) -> Context {
        let mut context = Context { progress, ..Context::default() };
        // Compiled components are shared with the other tests of this machine.
        context.host.cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        context
    }

    fn request(&self, run_id: &str) -> RunRequest {
        RunRequest {
            context: self.context(Arc::new(Counter::default())),
            output_folder: self.path("runs"),
            run_id: Some(run_id.to_owned()),
            ..RunRequest::new(self.path("suite.yaml"))
        }
    }
}

/// The correct answer to `q3` is `a3`.
fn right(question: &str) -> Answer {
    completion(&question.replace('q', "a")).into()
}

#[derive(Default)]
struct Counter {
    finished: AtomicU64,
}

impl RunProgress for Counter {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::SampleFinished(_) = event {
            self.finished.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn the_program_of_the_documentation_runs_a_suite() {
    let workspace = Workspace::new(right);
    let outcome = run_suite::evaluate(&workspace.path("suite.yaml"), &workspace.path("runs")).unwrap();
    assert_eq!((outcome.status, &outcome.ending), (RunStatus::Complete, &Ending::Complete));
    assert_eq!(workspace.server.requests(), ROWS);
    let [metric] = &outcome.reports.summary.metrics[..] else { unreachable!("one metric") };
    assert_eq!((metric.metric_id.as_str(), metric.value), ("exact_match", Some(1.0)));
    assert!(outcome.folder.join("samples.jsonl").is_file() && outcome.shortfalls.is_empty());
}

#[test]
fn a_stopped_run_is_resumed_to_its_end() {
    let stop = CancelToken::default();
    let stopped = stop.clone();
    let workspace = Workspace::new(move |question| {
        // Stops at the first request, which is still answered.
        stopped.cancel();
        right(question)
    });
    let mut request = RunRequest { concurrency: Some(1), ..workspace.request("nightly") };
    request.context.stop = stop;
    let outcome = run(&request).unwrap();
    assert_eq!(outcome.status, RunStatus::Interrupted, "{:?}", outcome.ending);
    let asked = workspace.server.requests();
    assert!(asked < ROWS, "{asked}");

    assert!(matches!(run(&workspace.request("nightly")), Err(RunnerError::RunExists { .. })));
    // The run is found without an id.
    let rest = RunRequest { run_id: None, ..workspace.request("") };
    let outcome = resume(&ResumeRequest { run: rest, retry: Vec::new(), rejudge: None }).unwrap();
    assert_eq!((outcome.run_id.as_str(), outcome.status), ("nightly", RunStatus::Complete));
    assert_eq!(workspace.server.requests(), ROWS);
    let none = RunRequest { run_id: None, ..workspace.request("") };
    let error = resume(&ResumeRequest { run: none, retry: Vec::new(), rejudge: None }).unwrap_err();
    assert!(matches!(error, RunnerError::NothingToResume { .. }), "{error}");
}

/// Without its variable, a suite has another model, and its run was once not found without a reason.
#[test]
fn a_run_of_another_variable_names_it() {
    let stop = CancelToken::default();
    let stopped = stop.clone();
    let workspace = Workspace::new(move |question| {
        stopped.cancel();
        right(question)
    });
    let suite = std::fs::read_to_string(workspace.path("suite.yaml")).unwrap();
    let with_default = |model: &str| {
        let text = suite.replace("model: mock", &format!("model: '${{MODEL_OF_A_TEST:-{model}}}'"));
        std::fs::write(workspace.path("suite.yaml"), text).unwrap();
    };
    with_default("large");
    let mut request = RunRequest { concurrency: Some(1), ..workspace.request("nightly") };
    request.context.stop = stop;
    assert_eq!(run(&request).unwrap().status, RunStatus::Interrupted);
    with_default("small");
    for (run_id, expected) in
        [(None, "; the configuration of nightly differs:"), (Some("nightly"), "changed:")]
    {
        let run_id = run_id.map(str::to_owned);
        let again = RunRequest { run_id, ..workspace.request("") };
        let error = resume(&ResumeRequest { run: again, retry: Vec::new(), rejudge: None }).unwrap_err();
        let text = error.to_string();
        let difference = "config.backends[0].config.model: \"large\" before, \"small\" now (from the variable \
                          `MODEL_OF_A_TEST`; set it as it was)";
        assert!(text.contains(expected) && text.contains(difference), "{text}");
    }
}

/// All rows are in one scoring batch, so the second shard is empty.
#[test]
fn shards_are_merged_to_the_figures_of_the_whole_run() {
    let workspace = Workspace::new(right);
    let shard = |number| RunRequest { shard: Shard::new(number, 2), ..workspace.request("nightly") };
    let outcome = run(&shard(2)).unwrap();
    assert_eq!(outcome.folder, workspace.path("runs/nightly/shards/02-of-02"));
    let request = |is_partial| MergeRequest {
        context: workspace.context(Arc::new(Counter::default())),
        is_partial,
        ..MergeRequest::new(workspace.path("runs/nightly"))
    };
    let error = merge(&request(false)).unwrap_err();
    assert!(
        matches!(&error, RunnerError::Merge(MergeError::Incomplete { missing, .. }) if missing.len() == 1)
    );
    assert_eq!(error.category(), ErrorCategory::Incomplete);
    let partial = merge(&request(true)).unwrap();
    assert_eq!((partial.run.status, partial.missing.len()), (RunStatus::Incomplete, 1));
    assert_eq!(run(&shard(1)).unwrap().status, RunStatus::Complete);
    assert_eq!(workspace.server.requests(), ROWS);
    let merged = merge(&request(false)).unwrap();
    let records: Vec<u64> = merged.shards.iter().map(|shard| shard.records).collect();
    assert_eq!((merged.run.status, records), (RunStatus::Complete, vec![ROWS, 0]));
    let whole = run(&workspace.request("whole")).unwrap();
    for file in ["samples.jsonl", "summary.json"] {
        let read = |folder: &std::path::Path| std::fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(read(&merged.run.folder), read(&whole.folder), "{file}");
    }
}

#[test]
fn a_shard_is_not_answered_in_bulk() {
    let workspace = Workspace::new(right);
    for (exchanges, expected) in [
        (
            HttpExchanges::WriteRequests(workspace.path("requests.jsonl")),
            "the run cannot be divided into shards: --requests-out writes the requests of a whole run",
        ),
        (
            HttpExchanges::TakeResponses(vec![workspace.path("results.jsonl")]),
            "the run cannot be divided into shards: --responses takes the results of a whole run",
        ),
    ] {
        let request = RunRequest { shard: Shard::new(1, 2), exchanges, ..workspace.request("nightly") };
        let error = run(&request).unwrap_err();
        assert_eq!(error.category(), ErrorCategory::Configuration);
        assert_eq!(error.recorded("shards"), expected);
    }
}

#[test]
fn failed_samples_are_a_shortfall_and_not_an_error() {
    let workspace = Workspace::new(|question| match question {
        "q2" => Reply::json(400, &serde_json::json!({"error": {"message": "no"}})).into(),
        question => right(question),
    });
    let outcome = run(&workspace.request("partly")).unwrap();
    assert_eq!(outcome.ending, Ending::Incomplete);
    let [Shortfall::Coverage(coverage)] = &outcome.shortfalls[..] else {
        unreachable!("{:?}", outcome.shortfalls)
    };
    assert_eq!((coverage.scored, coverage.total), (ROWS - 1, ROWS));
}

#[test]
fn answers_are_scored_again_and_verified() {
    let workspace = Workspace::new(right);
    let folder = run(&workspace.request("first")).unwrap().folder;
    let asked = workspace.server.requests();
    let counter = Arc::new(Counter::default());
    let request = RescoreRequest {
        context: workspace.context(Arc::clone(&counter) as Arc<dyn RunProgress>),
        metrics: vec!["contains".to_owned()],
        run_id: Some("second".to_owned()),
        ..RescoreRequest::new(&folder)
    };
    let outcome = rescore(&request).unwrap();
    assert_eq!(outcome.folder, workspace.path("runs/second"));
    assert_eq!(outcome.reports.summary.metrics[0].metric_id, "contains");
    assert_eq!(counter.finished.load(Ordering::SeqCst), ROWS);
    assert_eq!(workspace.server.requests(), asked, "no model is asked");

    let request = VerifyRequest {
        context: workspace.context(Arc::new(Counter::default())),
        ..VerifyRequest::new(&folder)
    };
    let verified = verify(&request).unwrap();
    assert!(verified.is_verified(), "{:?}", verified.rescored);
    assert_eq!(verified.rescored, RescoreCheck::Same { figures: 1, plugins: Vec::new() });
    std::fs::write(folder.join("summary.json"), "{}").unwrap();
    assert!(!verify(&request).unwrap().is_verified());
}

#[test]
fn a_run_is_refused_when_its_lock_differs() {
    let workspace = Workspace::new(right);
    let request = |action| LockRequest {
        context: workspace.context(Arc::new(Counter::default())),
        suite: SuiteSource::from(workspace.path("suite.yaml")),
        path: None,
        is_offline: true,
        action,
    };
    let locked = lock(&request(LockAction::Create)).unwrap();
    assert_eq!((locked.change, locked.suite.as_str()), (LockChange::Created, "capitals"));
    assert_eq!(lock(&request(LockAction::Create)).unwrap().change, LockChange::Unchanged);
    let mut run_request = RunRequest { lock: Some(locked.path), ..workspace.request("locked") };
    run(&run_request).unwrap();

    run_request.run_id = Some("other".to_owned());
    run_request.suite.overrides = vec!["tasks.0.max_samples=2".to_owned()];
    let error = run(&run_request).unwrap_err();
    assert!(matches!(&error, RunnerError::LockMismatch { differences, .. } if !differences.is_empty()));
    assert_eq!(error.category(), ErrorCategory::LockMismatch);
    assert!(!workspace.path("runs/other").exists());
}

#[test]
fn all_errors_of_a_suite_are_returned_at_once() {
    let workspace = Workspace::new(right);
    let mut request = workspace.request("wrong");
    request.suite.overrides =
        vec!["tasks.0.dataset_id=nowhere".to_owned(), "metrics.0=no_such_metric".to_owned()];
    let Err(RunnerError::Problems(problems)) = run(&request) else { unreachable!("the suite has errors") };
    assert_eq!(problems.counts().0, 2, "{}", problems.render(false));
    assert!(!workspace.path("runs").exists(), "nothing is written");
}
