//! Whole runs in virtual time, with faults drawn from a seed: the dispatcher, the health of servers, retries, scorers and
//! the journal are real. The network, the clock and full disks are simulated.
//!
//! The method is that of FoundationDB and TigerBeetle: everything that depends on time or chance comes from the seed, so a
//! failure is reproduced by its number: `SIMULATION_SEED=17 cargo test -p gage-runner --test simulation`.
//! `SIMULATION_SEEDS=100000` runs that many seeds.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod faults;
mod server;

use faults::{FaultCounts, FaultPlan, Random};
use gage_backend::{HttpHosts, OpenOptions};
use gage_config::{Environment, Problems, load};
use gage_core::{Outcome, ShortageWatch};
use gage_data::{LocateOptions, NoProgress};
use gage_engine::{
    CancelToken, Datasets, FinishedSample, MeanMetric, Plan, Progress, RunContext, RunError, RunOptions,
    RunReport, RunUsage, Session, StopReason,
};
use gage_observe::Observability;
use gage_record::{JournalIndex, RunFolder, SampleRecord, Storage};
use gage_runner::Context;
use parking_lot::Mutex;
use server::{SimulatedServer, SimulatedTransport, TIMEOUT};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Builder;

/// Number of seeds without `SIMULATION_SEEDS`.
const DEFAULT_SEEDS: u64 = 1_000;

/// Maximum number of processes of a run: after kills, full disks and lost servers it is resumed.
const MAX_PROCESSES: u32 = 24;

/// Most samples of a simulated run.
const MAX_SAMPLES: u64 = 42;

/// A plan that all seeds share, and the folder of its rows.
struct Fixture {
    plan: Plan,
    registry: gage_plugin::Registry,
    datasets: Datasets,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = memory_folder();
        let row = |index| {
            format!(
                "{{\"id\": \"s{index}\", \"question\": \"question {index}\", \"answer\": \"answer {index}\"}}\n"
            )
        };
        std::fs::write(folder.path().join("rows.jsonl"), (0..MAX_SAMPLES).map(row).collect::<String>())
            .expect("rows");
        let text = "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
                    datasets: [{dataset_id: rows, loader: jsonl, params: {path: '${config_dir}/rows.jsonl', preprocess: simple}}]\n\
                    backends: [{backend_id: server, type: openai_http, config: {base_url: 'http://server.test/v1', model: m, \
                    timeout: 5, proxy: none}}]\n\
                    role_adapters: [{adapter_id: dut, role_type: dut_model, backend_id: server}]\n\
                    metrics: [exact_match]\n\
                    custom: {steps: [{step: inference}, {step: auto_eval}]}\n";
        let config_dir = folder.path().display().to_string();
        let environment = Environment { variable: &|_| None, config_dir };
        let (config, mut problems) = load("simulation.yaml", text, &[], &environment);
        let mut context = Context::default();
        // Compiled components are shared with the other tests of this machine.
        context.host.cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        let mut registry = context.registry(&[]).expect("plugins");
        let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
        let plan = plan.unwrap_or_else(|| panic!("{}", problems.render(false)));
        let locating = LocateOptions {
            cache_folder: None,
            is_offline: true,
            with_digests: true,
            progress: &NoProgress,
            is_cancelled: &|| false,
        };
        let datasets = Datasets::locate(&plan, &locating, &mut problems).expect("the rows are there");
        Fixture { plan, registry, datasets, _folder: folder }
    }
}

/// Returns a folder in memory where the system has one: durable writes are not what is simulated.
fn memory_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a folder")
}

/// A journal whose appends fail by number.
#[derive(Debug)]
struct SimulatedStorage {
    appends: AtomicU64,
    failing: Vec<u64>,
    failures: AtomicU64,
}

impl Storage for SimulatedStorage {
    fn before_append(&self) -> io::Result<()> {
        let number = self.appends.fetch_add(1, Ordering::Relaxed);
        if self.failing.contains(&number) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(())
    }
}

/// Counts how often each sample is reported as finished.
#[derive(Default)]
struct Reported(Mutex<Vec<u64>>);

impl Progress for Reported {
    fn task_started(&self, _: &str, _: Option<u64>, _: u64, _: Option<MeanMetric<'_>>) {}
    fn request_began(&self, _: &str) {}
    fn request_ended(&self, _: &str) {}
    fn sample_answered(&self, _: &str) {}
    fn usage_counted(&self, _: &RunUsage) {}
    fn sample_finished(&self, finished: &FinishedSample<'_>) {
        self.0.lock().push(finished.index);
    }
    fn task_finished(&self, _: &str) {}
}

/// The end of a process of a run.
enum ProcessEnd {
    /// Every sample is recorded, or the run was stopped for this reason.
    Ended(Option<StopReason>),
    /// It was killed.
    Killed,
    /// The journal could not be written.
    DiskFull,
}

/// A run of one seed.
struct Simulation<'f> {
    fixture: &'f Fixture,
    faults: FaultPlan,
    server: Arc<SimulatedServer>,
    storage: Arc<SimulatedStorage>,
    root: tempfile::TempDir,
    seed: u64,
    /// Virtual time of the processes that have ended.
    elapsed: Duration,
}

impl<'f> Simulation<'f> {
    fn new(fixture: &'f Fixture, seed: u64) -> Simulation<'f> {
        let mut random = Random::new(seed);
        let faults = FaultPlan::draw(&mut random);
        let storage = SimulatedStorage {
            appends: AtomicU64::new(0),
            failing: faults.full_disks.clone(),
            failures: AtomicU64::new(0),
        };
        let server = Arc::new(SimulatedServer::new(faults.clone(), random));
        let (storage, root) = (Arc::new(storage), memory_folder());
        Simulation { fixture, faults, server, storage, root, seed, elapsed: Duration::ZERO }
    }

    /// Runs one process, and kills it at a time if one is given.
    fn process(&mut self, resume: bool, kill_at: Option<Duration>) -> ProcessEnd {
        let runtime =
            Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        let handle = runtime.handle().clone();
        let hosts = HttpHosts::simulated(Arc::new(SimulatedTransport(Arc::clone(&self.server))), self.seed);
        let opening = OpenOptions { hosts, ..OpenOptions::default() };
        let mut problems = Problems::default();
        let session = runtime
            .block_on(Session::open(&self.fixture.plan, &self.fixture.registry, &opening, &mut problems))
            .unwrap_or_else(|| panic!("{}", problems.render(false)));
        let before = self.elapsed;
        let (stop_sender, stop) = tokio::sync::oneshot::channel::<()>();
        let (time_sender, time) = mpsc::channel();
        let server = Arc::clone(&self.server);
        let driver = std::thread::spawn(move || {
            let is_killed = runtime.block_on(async {
                let requested = server.begin_process(before);
                let start = tokio::time::Instant::now();
                let killed = async {
                    // Before the first request, only threads work. The clock would not wait for them.
                    requested.notified().await;
                    match kill_at {
                        Some(time) => tokio::time::sleep(time).await,
                        None => std::future::pending().await,
                    }
                };
                let is_killed = tokio::select! {
                    _ = stop => false,
                    () = killed => true,
                };
                let _ = time_sender.send(start.elapsed());
                is_killed
            });
            // A killed process takes its tasks with it.
            drop(runtime);
            is_killed
        });
        let failures_before = self.storage.failures.load(Ordering::Relaxed);
        let report = self.run(&session, &handle, resume);
        self.server.end_process();
        let _ = stop_sender.send(());
        let is_killed = driver.join().expect("the runtime does not panic");
        let passed = time.recv().expect("the time of the process");
        let is_disk_full = self.storage.failures.load(Ordering::Relaxed) > failures_before;
        let (end, elapsed) = match report {
            // After the last request, only threads work. The clock does not wait for them, and may reach the time of the
            // kill. Then the process ended before.
            Ok(report) => (ProcessEnd::Ended(report.stopped), self.server.last_request().max(before)),
            Err(_) if is_disk_full => (ProcessEnd::DiskFull, self.server.last_request().max(before)),
            Err(_) if is_killed => (ProcessEnd::Killed, before + passed),
            Err(error) => panic!("seed {}: {error}", self.seed),
        };
        self.elapsed = elapsed;
        end
    }

    fn run(
        &self,
        session: &Session,
        handle: &tokio::runtime::Handle,
        resume: bool,
    ) -> Result<RunReport, RunError> {
        let options = RunOptions {
            concurrency: self.faults.concurrency,
            max_samples: Some(self.faults.samples),
            workers: 1,
            task_parallelism: Some(1),
            shard: None,
            other_shard: None,
            resume,
            retry: Vec::new(),
            rejudge: None,
            warnings: Vec::new(),
            host_version: "simulation",
            observability: Observability::default(),
            loading: Duration::ZERO,
            recording: None,
            is_lockstep: true,
            storage: Some(Arc::clone(&self.storage) as _),
        };
        let progress: Arc<dyn Progress> = Arc::new(Reported::default());
        let stop = CancelToken::default();
        gage_engine::run(&RunContext {
            plan: &self.fixture.plan,
            datasets: &self.fixture.datasets,
            session,
            root: self.root.path(),
            run_id: "run",
            answers_of: None,
            options: &options,
            progress: &progress,
            records: None,
            stop: &stop,
            runtime: handle,
            shortages: ShortageWatch::start(),
        })
    }

    /// Runs processes until the run is complete. Returns the counts of what happened.
    fn complete(&mut self) -> FaultCounts {
        let mut counts = FaultCounts::default();
        let mut kills = self.faults.kills.clone().into_iter();
        for number in 0..MAX_PROCESSES {
            let is_begun = self.root.path().join("run/manifest.json").exists();
            match self.process(is_begun, kills.next()) {
                ProcessEnd::Ended(None) => {
                    counts.add("processes", u64::from(number) + 1);
                    return counts;
                }
                ProcessEnd::Ended(Some(StopReason::ServerLost { .. })) => counts.add("server lost", 1),
                ProcessEnd::Ended(Some(reason)) => panic!("seed {}: stopped: {reason:?}", self.seed),
                ProcessEnd::Killed => counts.add("kills", 1),
                ProcessEnd::DiskFull => counts.add("full disks", 1),
            }
        }
        panic!("seed {}: the run is not complete after {MAX_PROCESSES} processes", self.seed)
    }

    /// Returns the records of the run, after checking that each sample has exactly one.
    fn records(&self) -> Vec<SampleRecord> {
        let folder = RunFolder::open_read(&self.root.path().join("run")).expect("a run folder");
        let index = JournalIndex::read(&folder).expect("a journal");
        let records = index.records_in_order(&["rows"]).collect::<Result<Vec<_>, _>>().expect("records");
        let indices: Vec<u64> = records.iter().map(|record| record.index).collect();
        let expected: Vec<u64> = (0..self.faults.samples).collect();
        assert_eq!(indices, expected, "seed {}: each sample once", self.seed);
        records
    }

    /// Checks that each record has the answer to its own question, and the outcome that the faults allow.
    fn check(&self, records: &[SampleRecord]) -> FaultCounts {
        let mut counts = FaultCounts::default();
        for record in records {
            let is_rejected = self.faults.rejected.is_some_and(|digit| record.index % 10 == digit);
            let outcome = if is_rejected { Outcome::BackendError } else { Outcome::Scored };
            // Faults of its own may use up a sample's attempts, and a long outage the patience with the last one or two.
            let may_wear_out = self.faults.noise > 0 || self.faults.longest_wait() > Duration::from_secs(60);
            let is_worn_out = record.outcome == Outcome::BackendError && may_wear_out;
            assert!(
                record.outcome == outcome || is_worn_out,
                "seed {}: sample {} ended as {}: {:?}",
                self.seed,
                record.index,
                record.outcome,
                record.error
            );
            if record.outcome != outcome {
                println!(
                    "seed {}: sample {} is worn out: {:?} {:?}",
                    self.seed, record.index, record.error, record.timing.attempts
                );
            }
            counts.add("worn out", u64::from(record.outcome != outcome));
            if record.outcome == Outcome::Scored {
                let output =
                    record.model_output.as_ref().map(|output| output.to_string()).unwrap_or_default();
                let expected = format!("\"answer {}\"", record.index);
                assert!(output.contains(&expected), "seed {}: sample {}: {output}", self.seed, record.index);
                let scores: Vec<_> = record.metrics.iter().map(gage_core::MetricResult::score).collect();
                assert_eq!(scores, [Some(1.0)], "seed {}: sample {}", self.seed, record.index);
            }
        }
        counts
    }
}

/// Simulates one seed. Returns what happened, and the virtual time.
fn simulate(fixture: &Fixture, seed: u64) -> (FaultCounts, Duration, Vec<SampleRecord>) {
    let mut simulation = Simulation::new(fixture, seed);
    let mut counts = simulation.complete();
    let records = simulation.records();
    counts.merge(&simulation.check(&records));
    counts.merge(&simulation.server.counts());
    counts.add("requests", simulation.server.requests());
    counts.add("samples", simulation.faults.samples);
    assert_eq!(simulation.server.requests_after_end(), 0, "seed {seed}: requests after the end of a process");
    let faults = &simulation.faults;
    let attempts = u32::try_from(faults.samples * 8).unwrap_or(u32::MAX);
    let bound = faults.longest_wait() * 2
        + (TIMEOUT + faults.latency * 4) * attempts
        + Duration::from_secs(240) * MAX_PROCESSES;
    assert!(simulation.elapsed <= bound, "seed {seed}: {:?} of {bound:?}", simulation.elapsed);
    (counts, simulation.elapsed, records)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn runs_with_any_faults_are_complete_and_right() {
    let fixture = Fixture::new();
    if let Some(seed) = variable("SIMULATION_SEED") {
        let (counts, time, _) = simulate(&fixture, seed);
        println!("seed {seed}: {time:?}: {counts}\n{:#?}", Simulation::new(&fixture, seed).faults);
        return;
    }
    let seeds = variable("SIMULATION_SEEDS").unwrap_or(DEFAULT_SEEDS);
    let (mut counts, mut time) = (FaultCounts::default(), Duration::ZERO);
    for seed in 0..seeds {
        let (found, lasted, _) = simulate(&fixture, seed);
        counts.merge(&found);
        time += lasted;
    }
    println!("{seeds} seeds, {:.1} simulated hours: {counts}", time.as_secs_f64() / 3600.0);
    for kind in ["refused", "reset", "hang", "surplus", "throttled", "kills", "full disks", "server lost"] {
        assert!(counts.get(kind) > 0, "no seed has the fault `{kind}`: {counts}");
    }
}

/// A seed decides everything, so a failure can be repeated.
#[test]
fn a_seed_has_the_same_course_each_time() {
    let fixture = Fixture::new();
    for seed in 0..40 {
        let (first, second) = (simulate(&fixture, seed), simulate(&fixture, seed));
        assert_eq!((first.0.to_string(), first.1), (second.0.to_string(), second.1), "seed {seed}");
        let essence = |records: &[SampleRecord]| -> Vec<String> {
            let text = |record: &SampleRecord| {
                format!("{:?} {:?} {:?}", record.outcome, record.model_output, record.metrics)
            };
            records.iter().map(text).collect()
        };
        assert_eq!(essence(&first.2), essence(&second.2), "seed {seed}");
    }
}
