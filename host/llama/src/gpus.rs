//! GPUs of this machine, and the number of layers of a model that is put on them.

use crate::load_error::LoadError;
use gage_model_protocol::gpu_layers::{LayerNeeds, used_gpus};
use gage_model_protocol::{GPU_LOG_TARGET, ModelOptions};
use llama_cpp_2::{LlamaBackendDevice, LlamaBackendDeviceType, list_llama_ggml_backend_devices};

/// Returns the GPUs, in the order in which `devices` counts them. llama.cpp must be running.
///
/// As in llama.cpp, integrated GPUs count only if there are no others.
pub fn gpus() -> Vec<LlamaBackendDevice> {
    gpus_among(list_llama_ggml_backend_devices())
}

fn gpus_among(devices: Vec<LlamaBackendDevice>) -> Vec<LlamaBackendDevice> {
    let of = |kind: LlamaBackendDeviceType| {
        devices.iter().filter(|device| device.device_type == kind).cloned().collect::<Vec<_>>()
    };
    let separate = of(LlamaBackendDeviceType::Gpu);
    if separate.is_empty() { of(LlamaBackendDeviceType::IntegratedGpu) } else { separate }
}

/// Returns the GPUs that a model with these options uses. If there are none, the options for GPUs have no effect.
///
/// # Errors
/// If an option names a GPU that does not exist.
pub fn gpus_of(
    options: &ModelOptions,
    gpus: Vec<LlamaBackendDevice>,
) -> Result<Vec<LlamaBackendDevice>, LoadError> {
    if gpus.is_empty() {
        return Ok(gpus);
    }
    let used = used_gpus(options, gpus.len()).map_err(|(key, number)| {
        let known: Vec<String> = (0..)
            .zip(&gpus)
            .map(|(number, gpu): (usize, _)| format!("{number} ({}, {})", gpu.name, gpu.description.trim()))
            .collect();
        LoadError::Setting(format!(
            "`{key}`: there is no GPU {number}; this program computes on {}. Use one of these numbers, or leave \
             `{key}` out",
            known.join(", ")
        ))
    })?;
    Ok(used.into_iter().filter_map(|position| gpus.get(position).cloned()).collect())
}

/// Returns the number of layers to put on GPUs: the configured number, or else as many as are estimated to fit. Without
/// an estimate it is `all`.
pub fn layers_for(options: &ModelOptions, gpus: &[LlamaBackendDevice], all: u32) -> u32 {
    match options.gpu_layers {
        _ if gpus.is_empty() => 0,
        Some(layers) => layers,
        None => {
            let free: Vec<u64> =
                gpus.iter().map(|gpu| u64::try_from(gpu.memory_free).unwrap_or(u64::MAX)).collect();
            // Some drivers do not report the memory. Then all layers are tried first, and fewer if that fails.
            let is_known = gpus.iter().all(|gpu| gpu.memory_total > 0);
            let needs = LayerNeeds::read(options).filter(|_| is_known);
            needs.map_or(all, |needs| fitting(&needs, &free))
        }
    }
}

/// Returns the number of layers that fit, and warns if these are not all.
fn fitting(needs: &LayerNeeds, free: &[u64]) -> u32 {
    let (layers, all) = (needs.layers_that_fit(free), needs.layer_count());
    if layers < all {
        tracing::warn!(target: GPU_LOG_TARGET, "{}", decision(needs, layers, free));
    }
    layers
}

/// Describes why not all layers of a model are put on GPUs.
fn decision(needs: &LayerNeeds, layers: u32, free: &[u64]) -> String {
    let all = needs.layer_count();
    let free_bytes = free.iter().copied().fold(0, u64::saturating_add);
    format!(
        "{layers} of {all} layers are on the GPU: {} of {} are needed, and {} are free; the other layers are \
         computed by the processor, which is slower. Lower `slots` or `context_length`, or use a smaller quantisation",
        gibibytes(needs.total(layers, free)),
        gibibytes(needs.total(all, free)),
        gibibytes(free_bytes)
    )
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1_u32 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::SplitMode;
    use gage_recorded_messages::RecordedError as _;
    use std::path::{Path, PathBuf};

    const GIB: usize = 1 << 30;

    fn device(index: usize, name: &str, device_type: LlamaBackendDeviceType) -> LlamaBackendDevice {
        LlamaBackendDevice {
            index,
            name: name.to_owned(),
            description: format!("a {name}"),
            backend: name.trim_end_matches(char::is_numeric).to_owned(),
            memory_total: 80 * GIB,
            memory_free: 80 * GIB,
            device_type,
        }
    }

    fn two_gpus() -> Vec<LlamaBackendDevice> {
        gpus_among(vec![
            device(0, "CPU", LlamaBackendDeviceType::Cpu),
            device(1, "CUDA0", LlamaBackendDeviceType::Gpu),
            device(2, "BLAS", LlamaBackendDeviceType::Accelerator),
            device(3, "CUDA1", LlamaBackendDeviceType::Gpu),
            device(4, "Vulkan0", LlamaBackendDeviceType::IntegratedGpu),
        ])
    }

    fn tiny() -> ModelOptions {
        ModelOptions::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf"))
    }

    #[test]
    fn devices_count_gpus_only() {
        let numbers = |options: &ModelOptions| {
            let used = gpus_of(options, two_gpus()).expect("they exist");
            used.iter().map(|gpu| gpu.index).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&tiny()), [1, 3]);
        assert_eq!(numbers(&ModelOptions { devices: vec![1], ..tiny() }), [3]);
        let single = ModelOptions { split_mode: SplitMode::None, main_gpu: Some(1), ..tiny() };
        assert_eq!(numbers(&single), [3]);
        let integrated = gpus_among(vec![
            device(0, "CPU", LlamaBackendDeviceType::Cpu),
            device(1, "Vulkan0", LlamaBackendDeviceType::IntegratedGpu),
        ]);
        assert_eq!(integrated.len(), 1, "there is no other");
        assert!(
            gpus_of(&ModelOptions { devices: vec![7], ..tiny() }, Vec::new()).expect("ignored").is_empty()
        );
    }

    #[test]
    fn missing_gpu_is_named_with_those_that_exist() {
        let error = gpus_of(&ModelOptions { devices: vec![0, 2], ..tiny() }, two_gpus()).err();
        assert_eq!(
            error.expect("refused").recorded("model_files"),
            "`devices`: there is no GPU 2; this program computes on 0 (CUDA0, a CUDA0), 1 (CUDA1, a CUDA1). Use one of \
             these numbers, or leave `devices` out"
        );
    }

    #[test]
    fn layers_are_those_that_fit_unless_configured() {
        let all = LayerNeeds::read(&tiny()).expect("described").layer_count();
        let with_memory = |total, free| {
            let gpu = device(1, "CUDA0", LlamaBackendDeviceType::Gpu);
            vec![LlamaBackendDevice { memory_total: total, memory_free: free, ..gpu }]
        };
        let configured = ModelOptions { gpu_layers: Some(2), ..tiny() };
        let missing = ModelOptions::new(PathBuf::from("missing.gguf"));
        for (what, options, gpus, expected) in [
            ("no GPU", &tiny(), vec![], 0),
            ("enough memory", &tiny(), with_memory(80 * GIB, 80 * GIB), all),
            ("only the margin", &tiny(), with_memory(80 * GIB, GIB / 2), 0),
            ("unknown memory", &tiny(), with_memory(0, 0), 99),
            ("unknown needs", &missing, with_memory(80 * GIB, 80 * GIB), 99),
            ("configured", &configured, with_memory(80 * GIB, 0), 2),
        ] {
            assert_eq!(layers_for(options, &gpus, 99), expected, "{what}");
        }
    }

    #[test]
    fn partial_offload_is_explained() {
        let needs = LayerNeeds::read(&tiny()).expect("described");
        let text = decision(&needs, 1, &[2 << 30]);
        assert!(text.starts_with("1 of 5 layers are on the GPU: 0.0 GiB of 0.0 GiB are needed"), "{text}");
        assert!(
            text.contains(", and 2.0 GiB are free; the other layers are computed by the processor"),
            "{text}"
        );
    }
}
