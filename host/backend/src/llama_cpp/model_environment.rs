//! Environment of a model process: only what OpenMP, llama.cpp and the drivers of GPUs read, and no secret.

use super::omp_wait_policy::thread_environment;
use std::ffi::{OsStr, OsString};

/// Beginnings of the names of variables that a model process inherits: those of OpenMP, llama.cpp, CUDA and Vulkan.
const PREFIXES: [&str; 6] = ["OMP_", "GOMP_", "KMP_", "GGML_", "CUDA_", "VK_"];

/// Names of further variables that a model process inherits: the folders of shared libraries, and the precision of
/// cuBLAS.
const NAMES: &[&str] = &[
    "LD_LIBRARY_PATH",
    "NVIDIA_TF32_OVERRIDE",
    #[cfg(windows)]
    "PATH",
    #[cfg(windows)]
    "SystemRoot",
];

/// Variable with a shared library that llama.cpp would load.
const LIBRARY_VARIABLE: &str = "GGML_BACKEND_PATH";

/// Parts of the names of variables that hold secrets, in any case: `PASS` is part of `PASSWORD` and `PASSWD`.
const SECRETS: [&str; 6] = ["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// Returns the whole environment of a model process.
pub fn model_environment() -> Vec<(OsString, OsString)> {
    let inherited = std::env::vars_os().filter(|(name, _)| is_inherited(name));
    // A failed assertion must end the process with its own signal, and write nothing to the answer stream.
    let own = [("GGML_NO_BACKTRACE", "1")].into_iter().chain(thread_environment());
    inherited.chain(own.map(|(name, value)| (name.into(), value.into()))).collect()
}

fn is_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_known = NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let upper_case = name.to_ascii_uppercase();
    is_known && name != LIBRARY_VARIABLE && !SECRETS.iter().any(|part| upper_case.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_of_the_computation_are_inherited() {
        for (name, expected) in [
            ("OMP_NUM_THREADS", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("GGML_CUDA_FORCE_MMQ", true),
            ("LD_LIBRARY_PATH", true),
            ("GGML_BACKEND_PATH", false),
            ("LD_PRELOAD", false),
            ("HOME", false),
            ("OPENAI_API_KEY", false),
            ("NVIDIA_API_KEY", false),
            ("CUDA_MIRROR_TOKEN", false),
            ("CUDA_MIRROR_token", false),
            ("CUDA_MIRROR_PASSWD", false),
            ("CUDA_MIRROR_PASS", false),
            ("GGML_RPC_CREDENTIALS", false),
            ("VK_PROXY_AUTH", false),
            ("OMP_PROC_BIND", true),
            ("OMP_WAIT_POLICY", true),
            ("OMP_DISPLAY_AFFINITY", true),
            ("GOMP_CPU_AFFINITY", true),
            ("KMP_BLOCKTIME", true),
            ("CUDA_CACHE_PATH", true),
            ("VK_ICD_FILENAMES", true),
            ("http_proxy", false),
        ] {
            assert_eq!(is_inherited(OsStr::new(name)), expected, "{name}");
        }
    }
}
