//! Environment of a model process: only what OpenMP, llama.cpp and the drivers of GPUs read, and no secret.

use super::omp_wait_policy::thread_environment;
use std::ffi::{OsStr, OsString};

/// Beginnings of the names of variables that a model process inherits: those of OpenMP, llama.cpp, CUDA and Vulkan.
const PREFIXES: [&str; 6] = ["OMP_", "GOMP_", "KMP_", "GGML_", "CUDA_", "VK_"];

/// Variable with the folders in which the dynamic linker looks for shared libraries.
const LIBRARY_FOLDERS_VARIABLE: &str = "LD_LIBRARY_PATH";

/// Names of further variables that a model process inherits: the folders of shared libraries, and the precision of
/// cuBLAS.
const NAMES: &[&str] = &[
    LIBRARY_FOLDERS_VARIABLE,
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
    let inherited = std::env::vars_os()
        .filter(|(name, _)| is_inherited(name))
        .filter_map(|(name, value)| inherited_value(&name, value).map(|value| (name, value)));
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

/// Returns the value that a model process inherits of a variable.
fn inherited_value(name: &OsStr, value: OsString) -> Option<OsString> {
    if name == LIBRARY_FOLDERS_VARIABLE { absolute_folders(&value) } else { Some(value) }
}

/// Returns the absolute folders of a list of the dynamic linker, whose entries end with a colon or a semicolon.
///
/// An empty entry means the working directory, where a stranger may have put libraries.
fn absolute_folders(list: &OsStr) -> Option<OsString> {
    let entries = list.to_str()?.split([':', ';']);
    let folders: Vec<&str> = entries.filter(|folder| folder.starts_with('/')).collect();
    (!folders.is_empty()).then(|| folders.join(":").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_folders_of_libraries_are_inherited() {
        for (list, expected) in [
            ("/x", Some("/x")),
            ("/x:/y z", Some("/x:/y z")),
            ("/x:", Some("/x")),
            (":/x", Some("/x")),
            ("/x::/y", Some("/x:/y")),
            ("/x;", Some("/x")),
            ("/x;lib;/y", Some("/x:/y")),
            ("/x:.:lib:../lib:$ORIGIN", Some("/x")),
            ("", None),
            (":", None),
            ("lib", None),
        ] {
            let inherited = inherited_value(OsStr::new("LD_LIBRARY_PATH"), list.into());
            assert_eq!(inherited.as_deref(), expected.map(OsStr::new), "{list}");
        }
        let other = inherited_value(OsStr::new("OMP_PLACES"), "{0:4}".into());
        assert_eq!(other.as_deref(), Some(OsStr::new("{0:4}")), "other values are kept as they are");
    }

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
