//! Build of this program: versions, features, and the processors that llama.cpp's kernels were compiled for.

use crate::kernel_modules::{folder_builds, kernel_folders, loaded_build};
use crate::runtime::{compute_capability, runtime};
use gage_model_protocol::{BuildInfo, KernelBuild, KernelVariant, PROTOCOL_VERSION};
use llama_cpp_2::list_llama_ggml_backend_devices;

/// Version of the crate with the llama.cpp bindings, as pinned by the workspace.
const BINDINGS_VERSION: &str = "0.1.160";

/// Version of the crate with the llama.cpp sources, as pinned by the workspace.
const SOURCES_VERSION: &str = "0.1.161";

/// Returns the build of this program.
pub fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL_VERSION,
        variant: variant(),
        llama_cpp_2: BINDINGS_VERSION.to_owned(),
        llama_cpp_sys_2: SOURCES_VERSION.to_owned(),
    }
}

fn variant() -> KernelVariant {
    // Kernels are known once llama.cpp has loaded them.
    let loaded = if !kernel_folders().is_empty() && runtime().is_ok() { loaded_build() } else { None };
    let build = loaded.unwrap_or_else(compiled_build);
    match build {
        KernelBuild::Cuda => {
            KernelVariant { build, compute_capability: compute_capability().map(str::to_owned) }
        }
        _ => build.into(),
    }
}

/// Returns whether this program may compute on GPUs: its kernels, or those that it loads, are made for them.
pub fn may_use_gpus() -> bool {
    compiled_build().is_for_gpus() || folder_builds().into_iter().any(KernelBuild::is_for_gpus)
}

/// Returns the kernels that this program was built with.
fn compiled_build() -> KernelBuild {
    if cfg!(feature = "cuda") {
        KernelBuild::Cuda
    } else if cfg!(feature = "vulkan") {
        KernelBuild::Vulkan
    } else if cfg!(feature = "metal") {
        KernelBuild::Metal
    } else if flag("GGML_AVX512", false) == "on" {
        KernelBuild::Avx512
    } else {
        KernelBuild::Baseline
    }
}

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
        flag("GGML_LLAMAFILE", true),
        flag("GGML_CPU_REPACK", true)
    )
}

/// Returns the state of a build switch. llama.cpp's build reads the same variables.
fn flag(name: &str, default: bool) -> &'static str {
    let set = match name {
        "GGML_LLAMAFILE" => option_env!("GGML_LLAMAFILE"),
        "GGML_CPU_REPACK" => option_env!("GGML_CPU_REPACK"),
        "GGML_AVX512" => option_env!("GGML_AVX512"),
        _ => option_env!("GGML_AVX512_VNNI"),
    };
    let is_on = set.map_or(default, |set| matches!(set, "ON" | "on" | "1" | "TRUE" | "YES"));
    if is_on { "on" } else { "off" }
}

fn built_for() -> String {
    if !cfg!(target_arch = "x86_64") {
        return std::env::consts::ARCH.to_owned();
    }
    let mut extensions = "AVX2, FMA, F16C, BMI2".to_owned();
    for (name, shown) in [("GGML_AVX512", ", AVX-512"), ("GGML_AVX512_VNNI", ", AVX-512 VNNI")] {
        if flag(name, false) == "on" {
            extensions.push_str(shown);
        }
    }
    extensions
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
