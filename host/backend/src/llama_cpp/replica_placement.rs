//! Replicas of a model: how many processes run it, and which GPUs and threads each has.

use super::model_program::FoundProgram;
use gage_config::Replicas;
use gage_model_protocol::gpu_layers::LayerNeeds;
use gage_model_protocol::{GpuDevice, ModelOptions, to_u32, to_usize};
use std::collections::BTreeSet;
use std::thread::available_parallelism;

/// Options of each process that runs a model.
pub(super) struct ReplicaPlacement {
    /// Options by replica; at least one.
    pub(super) options: Vec<ModelOptions>,
    /// Number of processes that may load at once, because they do not share the memory of a GPU or of the machine.
    pub(super) concurrent_loads: usize,
}

impl ReplicaPlacement {
    /// Places the configured number of replicas on the GPUs of the program. Starts the program to ask for them if there
    /// may be several replicas.
    ///
    /// # Errors
    /// If the program cannot be started, or the replicas cannot share the GPUs, or would give other answers on them.
    pub(super) fn of(
        replicas: Replicas,
        model: &ModelOptions,
        program: &FoundProgram,
    ) -> Result<ReplicaPlacement, String> {
        if is_single(replicas, model) {
            return Ok(ReplicaPlacement { options: vec![model.clone()], concurrent_loads: 1 });
        }
        let (_, greeting) = program.start_greeted(None)?;
        let free = greeting.free_memory_of_gpus();
        let cores = available_parallelism().map_or(1, usize::from);
        let gpus = gpus_of(model, free.len());
        let fits = || LayerNeeds::read(model).is_some_and(|needs| fits_on_each(&needs, &gpus, &free));
        let count = match replicas {
            Replicas::Count(count) => to_usize(count),
            Replicas::Auto if gpus.len() > 1 && fits() => gpus.len(),
            Replicas::Auto => 1,
        };
        let placement = ReplicaPlacement::on(count, model, &gpus, cores)?;
        check_equal_gpus(&placement.options, &greeting.build.devices)?;
        Ok(placement)
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

/// Returns whether there is one replica on every machine. A model without layers on GPUs is not run on each of them.
fn is_single(replicas: Replicas, model: &ModelOptions) -> bool {
    match replicas {
        Replicas::Count(count) => count == 1,
        Replicas::Auto => model.gpu_layers == Some(0),
    }
}

/// Checks that answers of a deterministic model do not depend on the replica. Kinds of GPUs differ in the last bits.
fn check_equal_gpus(replicas: &[ModelOptions], devices: &[GpuDevice]) -> Result<(), String> {
    let device = |number: &u32| devices.get(to_usize(*number));
    let products = |replica: &ModelOptions| -> Vec<&str> {
        replica.devices.iter().filter_map(device).map(|gpu| gpu.description.as_str()).collect()
    };
    let is_deterministic = replicas.iter().any(|replica| replica.deterministic);
    let are_equal = replicas.windows(2).all(|pair| match pair {
        [one, next] => products(one) == products(next),
        _ => true,
    });
    if !is_deterministic || are_equal {
        return Ok(());
    }
    let numbers: BTreeSet<&u32> = replicas.iter().flat_map(|replica| &replica.devices).collect();
    let described = numbers.into_iter().filter_map(|number| {
        let gpu = device(number)?;
        Some(format!("{number} ({}, {})", gpu.name, gpu.description))
    });
    let described: Vec<String> = described.collect();
    Err(format!(
        "`replicas`: with `deterministic: true` every replica needs the same kinds of GPUs, and these differ: {}. Name \
         equal ones as `devices`, or leave `replicas` or `deterministic` out",
        described.join(", ")
    ))
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
    fn number_of_replicas_may_not_depend_on_gpus() {
        let with_layers = |gpu_layers| ModelOptions { gpu_layers, ..model() };
        for (replicas, gpu_layers, expected) in [
            (Replicas::Count(1), None, true),
            (Replicas::Count(2), Some(0), false),
            (Replicas::Auto, None, false),
            (Replicas::Auto, Some(1), false),
            (Replicas::Auto, Some(0), true),
        ] {
            assert_eq!(
                is_single(replicas, &with_layers(gpu_layers)),
                expected,
                "{replicas:?} {gpu_layers:?}"
            );
        }
    }

    #[test]
    fn deterministic_replicas_need_equal_gpus() {
        let gpus = |products: &[&str]| -> Vec<GpuDevice> {
            let gpu = |(number, product): (usize, &&str)| GpuDevice {
                name: format!("CUDA{number}"),
                description: (*product).to_owned(),
                memory_bytes: 0,
            };
            products.iter().enumerate().map(gpu).collect()
        };
        let mixed = gpus(&["A100", "H200", "A100", "H200"]);
        for (deterministic, shares, devices, is_refused) in [
            (true, &[&[0_u32][..], &[1]][..], &mixed, true),
            (false, &[&[0], &[1]], &mixed, false),
            (true, &[&[0], &[2]], &mixed, false),
            (true, &[&[0, 1]], &mixed, false),
            (true, &[&[0, 1], &[2, 3]], &mixed, false),
            (true, &[&[0, 1], &[3, 2]], &mixed, true),
            (true, &[&[0, 2], &[1, 3]], &mixed, true),
            (true, &[&[0], &[1]], &gpus(&["A100", "A100"]), false),
            // Without GPUs, or with numbers that do not exist, which the load reports.
            (true, &[&[], &[]], &mixed, false),
            (true, &[&[7], &[8]], &mixed, false),
        ] {
            let options = |share: &&[u32]| ModelOptions { deterministic, devices: share.to_vec(), ..model() };
            let replicas: Vec<ModelOptions> = shares.iter().map(options).collect();
            let checked = check_equal_gpus(&replicas, devices);
            assert_eq!(checked.is_err(), is_refused, "{shares:?}: {checked:?}");
        }
        let replica = |gpu| ModelOptions { deterministic: true, devices: vec![gpu], ..model() };
        let error = check_equal_gpus(&[replica(1), replica(0)], &mixed).expect_err("they differ");
        let error = error.recorded("model_files");
        assert!(error.contains("and these differ: 0 (CUDA0, A100), 1 (CUDA1, H200). Name equal"), "{error}");
    }

    #[test]
    fn devices_default_to_all_gpus() {
        let named = ModelOptions { devices: vec![2], ..model() };
        assert_eq!(gpus_of(&model(), 3), [0, 1, 2]);
        assert_eq!(gpus_of(&named, 3), [2]);
        assert_eq!(gpus_of(&named, 0), [0; 0]);
    }
}
