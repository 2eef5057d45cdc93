//! Reasons why a kernel module cannot be loaded, from the lines that llama.cpp logs.

/// Packages with the libraries of the CUDA toolkit, by the names that NVIDIA gives them on PyPI.
const TOOLKIT_PACKAGES: &str = "nvidia-cuda-runtime and nvidia-cublas";

/// Folder of the libraries of these packages, below `site-packages`.
const PACKAGES_FOLDER: &str = "nvidia/cu13/lib";

/// Libraries of the CUDA toolkit that llama.cpp's kernels need.
const TOOLKIT_LIBRARIES: [&str; 3] = ["libcudart.so", "libcublas.so", "libcublasLt.so"];

/// Library of the NVIDIA driver.
const DRIVER_LIBRARY: &str = "libcuda.so";

/// Returns why a module cannot be loaded, from the log of the attempt. `suffix` ends the names of modules.
pub fn reason_in(log: &[String], suffix: &str) -> String {
    let of_linker = log.iter().find_map(|line| {
        let (_, failed) = line.split_once("failed to load ")?;
        failed.split_once(&format!("{suffix}: ")).map(|(_, reason)| reason)
    });
    match of_linker {
        Some(reason) => explained(reason),
        None if log.iter().any(|line| line.ends_with("is not supported on this system")) => {
            "this processor lacks instructions that it needs".to_owned()
        }
        None => log.last().cloned().unwrap_or_else(|| "llama.cpp gives no reason".to_owned()),
    }
}

/// Explains a message of the dynamic linker, if a library of NVIDIA is missing or cannot be read.
fn explained(reason: &str) -> String {
    let is_missing = reason.contains("No such file or directory");
    let is_forbidden = reason.contains("Permission denied");
    let library = reason.split(':').next().unwrap_or_default();
    let is_of_driver = library.starts_with(DRIVER_LIBRARY);
    let is_of_toolkit = TOOLKIT_LIBRARIES.iter().any(|known| library.starts_with(known));
    if is_forbidden && (is_of_driver || is_of_toolkit) {
        return format!(
            "gage-model may not read {library} in its folder; add the folder to LD_LIBRARY_PATH, and check that your \
             user can read the file"
        );
    }
    if is_missing && is_of_driver {
        return format!(
            "the NVIDIA driver is missing ({library}); install it, or give the container access to the GPUs"
        );
    }
    if is_missing && is_of_toolkit {
        return format!(
            "the libraries of the CUDA toolkit are missing ({library}); install the packages {TOOLKIT_PACKAGES}, and \
             add their folder ({PACKAGES_FOLDER} below site-packages) to LD_LIBRARY_PATH; or build the kernels with \
             `make cuda CUDA_LIBRARIES=copy`"
        );
    }
    reason.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_libraries_of_nvidia_are_explained() {
        let failed = "failed to load /opt/a: b/kernels/cuda/libggml-cuda.so: ";
        let missing = "cannot open shared object file: No such file or directory";
        for (line, expected) in [
            (
                format!("{failed}libcudart.so.13: {missing}"),
                "the libraries of the CUDA toolkit are missing (libcudart.so.13); install the packages \
                 nvidia-cuda-runtime and nvidia-cublas, and add their folder (nvidia/cu13/lib below site-packages) \
                 to LD_LIBRARY_PATH; or build the kernels with `make cuda CUDA_LIBRARIES=copy`",
            ),
            (format!("{failed}libcublasLt.so.13: {missing}"), "toolkit are missing (libcublasLt.so.13)"),
            (format!("{failed}libcuda.so.1: {missing}"), "the NVIDIA driver is missing (libcuda.so.1)"),
            (
                format!(
                    "load_backend: {failed}libcuda.so.1: cannot open shared object file: Permission denied"
                ),
                "gage-model may not read libcuda.so.1 in its folder; add the folder to LD_LIBRARY_PATH",
            ),
            (
                format!("{failed}libcublas.so.13: cannot open shared object file: Permission denied"),
                "gage-model may not read libcublas.so.13 in its folder; add the folder to LD_LIBRARY_PATH",
            ),
            (
                format!("{failed}libother.so.1: cannot open shared object file: Permission denied"),
                "libother.so.1: cannot open shared object file: Permission denied",
            ),
            (format!("{failed}undefined symbol: cuMemCreate"), "undefined symbol: cuMemCreate"),
            (
                "backend /k/avx512/libggml-cpu-cascadelake.so is not supported on this system".to_owned(),
                "this processor lacks instructions that it needs",
            ),
            ("failed to find ggml_backend_init in /k/x.so".to_owned(), "failed to find ggml_backend_init"),
        ] {
            let reason = reason_in(&["an earlier line".to_owned(), line.clone()], ".so");
            assert!(reason.starts_with(expected) || reason.contains(expected), "{line}: {reason}");
        }
        assert_eq!(reason_in(&[], ".so"), "llama.cpp gives no reason");
    }
}
