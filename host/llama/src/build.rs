//! Build of this program: versions, features, and the processors that llama.cpp's kernels were compiled for.

use crate::kernel_modules::{LOADS_KERNELS, gpu_devices, may_load_gpu_kernels};
use crate::runtime::{compute_capability, kernels_in_use};
use gage_model_protocol::{BuildInfo, KernelBuild, KernelVariant, PROTOCOL_VERSION};
use llama_cpp_2::list_llama_ggml_backend_devices;

/// Version of the crate with the llama.cpp bindings, as pinned by the workspace.
const BINDINGS_VERSION: &str = "0.1.160";

/// Version of the crate with the llama.cpp sources, as pinned by the workspace.
const SOURCES_VERSION: &str = "0.1.161";

/// Returns the build of this program. Starts llama.cpp, which loads its kernels.
pub fn build_info() -> BuildInfo {
    let kernels = kernels_in_use().ok();
    let devices = if kernels.is_some() { gpu_devices() } else { Vec::new() };
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL_VERSION,
        variant: variant(),
        modules: kernels.map(|kernels| kernels.modules.clone()).unwrap_or_default(),
        devices: devices.into_iter().map(|(device, _)| device).collect(),
        llama_cpp_2: BINDINGS_VERSION.to_owned(),
        llama_cpp_sys_2: SOURCES_VERSION.to_owned(),
    }
}

fn variant() -> KernelVariant {
    let loaded = kernels_in_use().ok().and_then(|kernels| kernels.for_gpus.or(kernels.for_processor));
    let build = loaded.unwrap_or(COMPILED_BUILD);
    match build {
        KernelBuild::Cuda => {
            KernelVariant { build, compute_capability: compute_capability().map(str::to_owned) }
        }
        _ => build.into(),
    }
}

/// Returns whether this program may compute on GPUs: its kernels, or those that it loads, are made for them.
pub fn may_use_gpus() -> bool {
    COMPILED_BUILD.is_for_gpus() || may_load_gpu_kernels()
}

/// Kernels that are compiled into this program, if it does not load them.
const COMPILED_BUILD: KernelBuild = if LOADS_KERNELS {
    KernelBuild::Baseline
} else if cfg!(feature = "cuda") {
    KernelBuild::Cuda
} else if cfg!(feature = "vulkan") {
    KernelBuild::Vulkan
} else if cfg!(feature = "metal") {
    KernelBuild::Metal
} else {
    KernelBuild::Baseline
};

/// Returns the devices that llama.cpp computes on.
///
/// Includes the processor extensions that this machine has and llama.cpp was built to use.
pub fn kernels() -> String {
    let devices = list_llama_ggml_backend_devices();
    let names: Vec<String> =
        devices.iter().map(|device| format!("{} ({})", device.name, device.description.trim())).collect();
    format!(
        "{}; built for {}, llamafile {}, repacking {}",
        names.join(", "),
        built_for(),
        flag(option_env!("GGML_LLAMAFILE")),
        flag(option_env!("GGML_CPU_REPACK"))
    )
}

/// Returns the state of a build switch, which is on by default. llama.cpp's build reads the same variables.
fn flag(set: Option<&str>) -> &'static str {
    let is_on = set.is_none_or(|set| matches!(set, "ON" | "on" | "1" | "TRUE" | "YES"));
    if is_on { "on" } else { "off" }
}

/// Returns the processors that the kernels in use were compiled for.
fn built_for() -> &'static str {
    if !cfg!(target_arch = "x86_64") {
        return std::env::consts::ARCH;
    }
    match kernels_in_use().ok().and_then(|kernels| kernels.for_processor) {
        Some(KernelBuild::Sse42) => "SSE 4.2",
        Some(KernelBuild::Avx512) => "AVX2, FMA, F16C, BMI2, AVX-512, AVX-512 VNNI",
        _ => "AVX2, FMA, F16C, BMI2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_the_workspace_pins() {
        let manifest = include_str!("../../../Cargo.toml");
        for (name, version) in [("llama-cpp-2", BINDINGS_VERSION), ("llama-cpp-sys-2", SOURCES_VERSION)] {
            assert!(manifest.contains(&format!("{name} = {{ version = \"={version}\"")), "{name} {version}");
        }
    }
}
