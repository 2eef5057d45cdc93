//! Replicas of a model, and which of them gets a request.

use super::hang_watchdog::WatchdogLimits;
use super::model_client::{ModelClient, internal};
use super::model_program::FoundProgram;
use super::process::{self, not_started};
use super::process_handle::ProcessHandle;
use super::replica_placement::ReplicaPlacement;
use crate::api::BackendError;
use gage_core::{Object, PinnedFile};
use gage_model_protocol::{Counts, Job, JobResult, LoadedModel, Prompt, Settings, Task};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Length that common beginnings of prompts are compared in, in bytes. A shorter one saves no work.
const PREFIX_STEP_BYTES: usize = 256;

/// Maximum length of the beginnings that are compared, in bytes.
const MAX_PREFIX_BYTES: usize = 16 * PREFIX_STEP_BYTES;

/// Number of prompts whose beginnings are remembered for each replica, as many as its prefix cache holds.
const MAX_RECENT_PROMPTS: usize = 4;

/// Processes that each run the same model.
pub struct ReplicaPool {
    clients: Vec<Arc<ModelClient>>,
    router: Mutex<ReplicaRouter>,
}

impl ReplicaPool {
    /// Starts all replicas and waits until they have loaded the model. Also returns the facts about the model.
    ///
    /// # Errors
    /// If the model cannot be loaded, or not with the same settings by all replicas.
    pub async fn open(
        placement: ReplicaPlacement,
        program: FoundProgram,
        limits: WatchdogLimits,
    ) -> Result<(ReplicaPool, LoadedModel), String> {
        let mut clients = Vec::with_capacity(placement.options.len());
        let mut first: Option<LoadedModel> = None;
        for started in placement.options.chunks(placement.concurrent_loads.max(1)) {
            let mut opening = Vec::with_capacity(started.len());
            for options in started {
                let program =
                    if clients.is_empty() { program.clone() } else { program.without_gpu_warnings() };
                let (client, opened) = process::start(options.clone(), program, limits)?;
                clients.push(client);
                opening.push(opened);
            }
            for opened in opening {
                let loaded = opened.await;
                let loaded =
                    loaded.map_err(|_| not_started("it ended while it loaded the model")).flatten()?;
                match &first {
                    None => first = Some(loaded),
                    Some(first) => check_same(first, &loaded)?,
                }
            }
        }
        let first = first.ok_or_else(|| not_started("it has no replica"))?;
        let router = Mutex::new(ReplicaRouter::new(clients.len()));
        Ok((ReplicaPool { clients, router }, first))
    }

    /// Returns the number of replicas.
    pub fn count(&self) -> usize {
        self.clients.len()
    }

    /// Adds files that the model was loaded from. Answers are refused once a file has changed.
    pub fn pin(&self, files: &[Arc<PinnedFile>]) {
        for client in &self.clients {
            files.iter().for_each(|file| client.files.add(file));
        }
    }

    /// Sends a request to a replica and waits for the answer.
    ///
    /// # Errors
    /// Returns the model's error, or that its process has ended.
    pub async fn ask(&self, job: Job) -> Result<JobResult, BackendError> {
        let beginning = if self.count() > 1 { Beginning::of(&job.task) } else { None };
        let assignment = Assignment::new(self, beginning);
        match self.clients.get(assignment.replica) {
            Some(client) => client.ask(job).await,
            None => Err(internal("there is no replica of the model")),
        }
    }

    /// Checks that the files of the model have not changed. Reads those again that were written to.
    ///
    /// # Errors
    /// If a file changed; the message names it.
    pub fn check_files_after_use(&self) -> Result<(), String> {
        self.clients.iter().try_for_each(|client| client.check_files_after_use())
    }

    /// Returns the counters of all replicas together, and the process, crashes and requests of each.
    pub fn statistics(&self) -> Object {
        let requests = self.router.lock().requests();
        let (mut counts, mut crashes, mut replicas) = (Counts::default(), 0_u32, Vec::new());
        for (client, requests) in self.clients.iter().zip(requests) {
            let state = client.state();
            counts = counts.and(state.counts);
            crashes = crashes.saturating_add(state.crashes);
            let process_id = state.process.as_ref().map(ProcessHandle::id);
            replicas.push(json!({"process_id": process_id, "crashes": state.crashes, "requests": requests}));
        }
        let mut statistics = match json!(counts) {
            Value::Object(counts) => counts,
            _ => Object::new(),
        };
        statistics.insert("crashes".to_owned(), crashes.into());
        statistics.insert("replicas".to_owned(), replicas.into());
        statistics
    }
}

/// Checks that a replica runs the model as the first one does. Otherwise answers would depend on the replica.
fn check_same(first: &LoadedModel, other: &LoadedModel) -> Result<(), String> {
    if first == other {
        return Ok(());
    }
    if first.settings == other.settings {
        return Err(not_started("its replicas loaded different models; its file has changed meanwhile"));
    }
    let described = |settings: &Settings| {
        let Settings { slots, context_length, gpu_layers, .. } = settings;
        format!("{slots} slots, a context of {context_length} and {gpu_layers} layers on GPUs")
    };
    Err(format!(
        "`replicas`: memory is too short for this many replicas: one runs with {}, and another with {}. Use fewer \
         `replicas`, or set `slots`, `context_length` and `gpu_layers` to what fits for each",
        described(&first.settings),
        described(&other.settings)
    ))
}

/// A request that was assigned to a replica. It counts as in flight until this is dropped.
struct Assignment<'p> {
    pool: &'p ReplicaPool,
    replica: usize,
}

impl Assignment<'_> {
    fn new(pool: &ReplicaPool, beginning: Option<Beginning>) -> Assignment<'_> {
        let replica = pool.router.lock().assign(beginning);
        Assignment { pool, replica }
    }
}

impl Drop for Assignment<'_> {
    fn drop(&mut self) {
        self.pool.router.lock().release(self.replica);
    }
}

/// Assigns requests to replicas: to the one with the fewest requests in flight. Among equals, it is the one whose recent
/// prompts share the longest beginning with the request, because that may be in its prefix cache.
struct ReplicaRouter {
    loads: Vec<ReplicaLoad>,
}

/// Requests of a replica.
#[derive(Clone, Default)]
struct ReplicaLoad {
    in_flight: usize,
    /// Number of requests so far.
    requests: u64,
    /// Beginnings of its last prompts, oldest first.
    recent: VecDeque<Beginning>,
}

impl ReplicaRouter {
    fn new(replicas: usize) -> ReplicaRouter {
        ReplicaRouter { loads: vec![ReplicaLoad::default(); replicas] }
    }

    /// Returns the number of the replica that gets a request.
    fn assign(&mut self, beginning: Option<Beginning>) -> usize {
        let shared = |load: &ReplicaLoad| {
            let beginning = beginning.as_ref()?;
            load.recent.iter().map(|recent| recent.shared_steps(beginning)).max()
        };
        let ranked = self.loads.iter().enumerate();
        let best =
            ranked.min_by_key(|(number, load)| (load.in_flight, Reverse(shared(load).unwrap_or(0)), *number));
        let replica = best.map_or(0, |(number, _)| number);
        if let Some(load) = self.loads.get_mut(replica) {
            load.in_flight += 1;
            load.requests += 1;
            if let Some(beginning) = beginning {
                if load.recent.len() == MAX_RECENT_PROMPTS {
                    load.recent.pop_front();
                }
                load.recent.push_back(beginning);
            }
        }
        replica
    }

    /// Ends a request of a replica.
    fn release(&mut self, replica: usize) {
        if let Some(load) = self.loads.get_mut(replica) {
            load.in_flight = load.in_flight.saturating_sub(1);
        }
    }

    /// Returns the number of requests of each replica so far.
    fn requests(&self) -> Vec<u64> {
        self.loads.iter().map(|load| load.requests).collect()
    }
}

/// Beginning of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Beginning {
    /// Hash of the first image.
    image: Option<u64>,
    text: Vec<u8>,
}

impl Beginning {
    /// Returns the beginning of the prompt of a task, if it has one.
    fn of(task: &Task) -> Option<Beginning> {
        let Prompt { text, images, .. } = match task {
            Task::Generate(task) => &task.prompt,
            Task::Score { prompt, .. } | Task::Roll(prompt) => prompt,
            Task::Embed(_) => return None,
        };
        let image = images.first().map(|image| {
            let mut hasher = DefaultHasher::new();
            image.hash(&mut hasher);
            hasher.finish()
        });
        let bytes = text.as_bytes();
        Some(Beginning { image, text: bytes.get(..MAX_PREFIX_BYTES).unwrap_or(bytes).to_vec() })
    }

    /// Returns the length of a common beginning, in steps. A common image counts as longer than any text.
    fn shared_steps(&self, other: &Beginning) -> usize {
        if self.image != other.image {
            return 0;
        }
        let common = self.text.iter().zip(&other.text).take_while(|(one, two)| one == two).count();
        let image_steps = if self.image.is_some() { MAX_PREFIX_BYTES / PREFIX_STEP_BYTES } else { 0 };
        common / PREFIX_STEP_BYTES + image_steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_model_protocol::{BuildInfo, KernelBuild, ModelFacts, ModelOptions};
    use gage_recorded_messages::RecordedError as _;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn beginning(text: &str, images: &[&str]) -> Option<Beginning> {
        let images = images.iter().map(|image| (*image).to_owned()).collect();
        Beginning::of(&Task::Roll(Prompt { text: text.to_owned(), images, ..Prompt::default() }))
    }

    #[test]
    fn fewest_requests_come_first_and_then_the_lowest_number() {
        let mut router = ReplicaRouter::new(3);
        let assigned: Vec<usize> = (0..7).map(|_| router.assign(None)).collect();
        assert_eq!(assigned, [0, 1, 2, 0, 1, 2, 0]);
        router.release(2);
        router.release(2);
        assert_eq!([router.assign(None), router.assign(None), router.assign(None)], [2, 2, 1]);
        assert_eq!(router.requests(), [3, 3, 4]);
    }

    #[test]
    fn a_common_beginning_decides_between_equals() {
        let (shots, others) = ("Q: 1 + 1?\nA: 2\n".repeat(40), "Translate this. ".repeat(40));
        for (first, second, request, expected) in [
            // 600 bytes are two steps.
            (beginning(&shots, &[]), beginning(&others, &[]), beginning(&others, &[]), 1),
            (beginning(&others, &[]), beginning(&shots, &[]), beginning(&others, &[]), 0),
            (beginning("short", &[]), beginning("other", &[]), beginning("other", &[]), 0),
            (beginning("a", &["cat"]), beginning("b", &["dog"]), beginning("c", &["dog"]), 1),
            (None, beginning(&others, &[]), None, 0),
        ] {
            let mut router = ReplicaRouter::new(2);
            for prompt in [first, second] {
                router.assign(prompt);
            }
            router.release(0);
            router.release(1);
            assert_eq!(router.assign(request.clone()), expected, "{request:?}");
        }
        // It never makes a replica wait for requests while another has fewer.
        let mut router = ReplicaRouter::new(2);
        let assigned: Vec<usize> = (0..4).map(|_| router.assign(beginning(&shots, &[]))).collect();
        assert_eq!(assigned, [0, 1, 0, 1]);
    }

    #[test]
    fn replicas_with_other_settings_are_refused() {
        let settings = |gpu_layers| {
            let options = ModelOptions {
                threads: Some(1),
                gpu_layers: Some(gpu_layers),
                ..ModelOptions::new(PathBuf::from("m.gguf"))
            };
            Settings::resolve(&options, 256, 640).expect("in bounds")
        };
        let loaded = |gpu_layers, kernels: &str| LoadedModel {
            facts: ModelFacts::default(),
            settings: settings(gpu_layers),
            kernels: kernels.to_owned(),
            projector: None,
            grammar: None,
            build: BuildInfo {
                version: "0".to_owned(),
                protocol: 0,
                variant: KernelBuild::Cuda.into(),
                modules: BTreeMap::new(),
                devices: Vec::new(),
                llama_cpp_2: "0".to_owned(),
                llama_cpp_sys_2: "0".to_owned(),
            },
        };
        let first = loaded(33, "CUDA");
        assert_eq!(check_same(&first, &first.clone()), Ok(()));
        let shorter =
            check_same(&first, &loaded(20, "CUDA")).expect_err("fewer layers").recorded("model_files");
        assert!(
            shorter.contains("33 layers on GPUs, and another with 8 slots, a context of 256 and 20"),
            "{shorter}"
        );
        let changed =
            check_same(&first, &loaded(33, "CPU")).expect_err("another model").recorded("model_files");
        assert!(changed.contains("its replicas loaded different models"), "{changed}");
    }
}
