//! Replicas of a model: how many processes run it, and which GPUs and threads each has.

use super::model_program::{FoundProgram, ModelProgram};
use gage_config::{Kernels, Replicas};
use gage_model_protocol::gpu_layers::LayerNeeds;
use gage_model_protocol::{GpuDevice, Greeting, ModelOptions, to_u32, to_usize};
use std::thread::available_parallelism;

/// Options of each process that runs a model.
pub(super) struct ReplicaPlacement {
    /// Options by replica; at least one.
    pub(super) options: Vec<ModelOptions>,
    /// Number of processes that may load at once, because they do not share the memory of a GPU or of the machine.
    pub(super) concurrent_loads: usize,
}

/// Returns the free memory of each GPU in bytes, in the order in which `devices` counts them.
fn gpu_memory(greeting: &Greeting) -> Vec<u64> {
    let free = |gpu: &GpuDevice| greeting.free_gpu_memory.get(&gpu.name).copied().unwrap_or(0);
    greeting.build.devices.iter().map(free).collect()
}

/// Returns the free memory of each GPU that models run on by default, in bytes. It is empty without GPUs, and if the
/// program cannot be started.
pub fn free_gpu_memory(program: &ModelProgram) -> Vec<u64> {
    let greeted = program.find(Kernels::Auto, None).and_then(|found| found.start_greeted(None));
    greeted.map(|(_, greeting)| gpu_memory(&greeting)).unwrap_or_default()
}

impl ReplicaPlacement {
    /// Places the configured number of replicas on the GPUs of the program. Starts the program to ask for them if there
    /// may be several replicas.
    ///
    /// # Errors
    /// If the program cannot be started, or the replicas cannot share the GPUs.
    pub(super) fn of(
        replicas: Replicas,
        model: &ModelOptions,
        program: &FoundProgram,
    ) -> Result<ReplicaPlacement, String> {
        if replicas == Replicas::Count(1) {
            return Ok(ReplicaPlacement { options: vec![model.clone()], concurrent_loads: 1 });
        }
        let (_, greeting) = program.start_greeted(None)?;
        let free = gpu_memory(&greeting);
        let cores = available_parallelism().map_or(1, usize::from);
        let gpus = gpus_of(model, free.len());
        let fits = || LayerNeeds::read(model).is_some_and(|needs| fits_on_each(&needs, &gpus, &free));
        let count = match replicas {
            Replicas::Count(count) => to_usize(count),
            Replicas::Auto if gpus.len() > 1 && fits() => gpus.len(),
            Replicas::Auto => 1,
        };
        ReplicaPlacement::on(count, model, &gpus, cores)
    }

    /// Places replicas on GPUs, or on the cores of the processor if there are none.
    fn on(
        count: usize,
        model: &ModelOptions,
        gpus: &[u32],
        cores: usize,
    ) -> Result<ReplicaPlacement, String> {
        if count == 1 {
            return Ok(ReplicaPlacement { options: vec![model.clone()], concurrent_loads: 1 });
        }
        let threads = model.threads.unwrap_or(to_u32((cores / count).max(1)));
        let options = shares(count, gpus)?.into_iter().map(|devices| {
            // Without a GPU, the configured devices stay, so that a warning says that they have no effect.
            let devices = if devices.is_empty() { model.devices.clone() } else { devices };
            ModelOptions { devices, threads: Some(threads), ..model.clone() }
        });
        Ok(ReplicaPlacement { options: options.collect(), concurrent_loads: gpus.len().clamp(1, count) })
    }
}

/// Returns the numbers of the GPUs that a model uses.
fn gpus_of(model: &ModelOptions, count: usize) -> Vec<u32> {
    match model.devices.as_slice() {
        _ if count == 0 => Vec::new(),
        [] => (0..to_u32(count)).collect(),
        devices => devices.to_vec(),
    }
}

/// Returns whether the whole model fits on each of some GPUs. One that does not exist holds nothing.
fn fits_on_each(needs: &LayerNeeds, gpus: &[u32], free: &[u64]) -> bool {
    gpus.iter().all(|gpu| {
        let free = free.get(to_usize(*gpu)).copied().unwrap_or(0);
        needs.layers_that_fit(&[free]) == needs.layer_count()
    })
}

/// Returns the GPUs of each replica: an equal share of them, or one that several replicas share.
fn shares(replicas: usize, gpus: &[u32]) -> Result<Vec<Vec<u32>>, String> {
    let count = gpus.len();
    if count == 0 {
        return Ok(vec![Vec::new(); replicas]);
    }
    if count.is_multiple_of(replicas) {
        return Ok(gpus.chunks(count / replicas).map(<[u32]>::to_vec).collect());
    }
    if replicas.is_multiple_of(count) {
        return Ok(gpus.iter().cycle().take(replicas).map(|gpu| vec![*gpu]).collect());
    }
    Err(format!(
        "`replicas`: {replicas} replicas cannot share {count} GPUs evenly; let one of the numbers be a multiple of the \
         other, or name fewer GPUs as `devices`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::path::{Path, PathBuf};

    fn model() -> ModelOptions {
        ModelOptions::new(PathBuf::from("m.gguf"))
    }

    #[test]
    fn replicas_have_equal_shares_of_gpus() {
        for (replicas, gpus, expected) in [
            (2, &[] as &[u32], vec![vec![], vec![]]),
            (2, &[0, 1], vec![vec![0], vec![1]]),
            (2, &[3, 1, 0, 2], vec![vec![3, 1], vec![0, 2]]),
            (4, &[5, 6], vec![vec![5], vec![6], vec![5], vec![6]]),
        ] {
            assert_eq!(shares(replicas, gpus), Ok(expected), "{replicas} on {gpus:?}");
        }
        let error = shares(3, &[0, 1]).expect_err("uneven").recorded("model_files");
        assert!(error.starts_with("`replicas`: 3 replicas cannot share 2 GPUs evenly"), "{error}");
    }

    #[test]
    fn cores_and_loads_are_shared_too() {
        let threads_of =
            |placed: &ReplicaPlacement| placed.options.iter().map(|one| one.threads).collect::<Vec<_>>();
        for (count, gpus, cores, threads, loads) in [
            (1, &[] as &[u32], 8, vec![None], 1),
            (2, &[], 8, vec![Some(4); 2], 1),
            (4, &[], 2, vec![Some(1); 4], 1),
            (4, &[0, 1], 8, vec![Some(2); 4], 2),
            (2, &[0, 1, 2, 3], 8, vec![Some(4); 2], 2),
        ] {
            let placed = ReplicaPlacement::on(count, &model(), gpus, cores).expect("placed");
            assert_eq!(threads_of(&placed), threads, "{count} on {gpus:?}");
            assert_eq!(placed.concurrent_loads, loads, "{count} on {gpus:?}");
        }
        let configured = ModelOptions { threads: Some(3), devices: vec![1], ..model() };
        let placed = ReplicaPlacement::on(2, &configured, &[], 8).expect("placed");
        assert_eq!(threads_of(&placed), [Some(3); 2]);
        assert_eq!(placed.options[0].devices, [1]);
    }

    #[test]
    fn a_model_must_fit_on_each_gpu_for_one_replica_each() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf");
        let needs = LayerNeeds::read(&ModelOptions::new(file)).expect("described");
        for (gpus, free_gib, expected) in [
            (&[0_u32, 1][..], &[8_u64, 8][..], true),
            (&[0, 1], &[8, 0], false),
            (&[0], &[8, 0], true),
            (&[0, 2], &[8, 8], false),
        ] {
            let free: Vec<u64> = free_gib.iter().map(|free| free << 30).collect();
            assert_eq!(fits_on_each(&needs, gpus, &free), expected, "{gpus:?} {free_gib:?}");
        }
    }

    #[test]
    fn devices_default_to_all_gpus() {
        let named = ModelOptions { devices: vec![2], ..model() };
        assert_eq!(gpus_of(&model(), 3), [0, 1, 2]);
        assert_eq!(gpus_of(&named, 3), [2]);
        assert_eq!(gpus_of(&named, 0), [0; 0]);
    }
}
