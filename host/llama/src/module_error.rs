//! Reasons why a kernel module cannot be loaded, from the lines that llama.cpp logs.

/// Packages with the libraries of the CUDA toolkit, by the names that NVIDIA gives them on PyPI.
const TOOLKIT_PACKAGES: &str = "nvidia-cuda-runtime and nvidia-cublas";

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

/// Explains a message of the dynamic linker, if a library of NVIDIA is missing.
fn explained(reason: &str) -> String {
    let is_missing = reason.contains("No such file or directory");
    let library = reason.split(':').next().unwrap_or_default();
    if is_missing && library.starts_with(DRIVER_LIBRARY) {
        return format!(
            "the NVIDIA driver is missing ({library}); install it, or give the container access to the GPUs"
        );
    }
    if is_missing && TOOLKIT_LIBRARIES.iter().any(|known| library.starts_with(known)) {
        return format!(
            "the libraries of the CUDA toolkit are missing ({library}); install the packages {TOOLKIT_PACKAGES}, or \
             add the folder of these libraries to LD_LIBRARY_PATH"
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
                 nvidia-cuda-runtime and nvidia-cublas",
            ),
            (format!("{failed}libcublasLt.so.13: {missing}"), "toolkit are missing (libcublasLt.so.13)"),
            (format!("{failed}libcuda.so.1: {missing}"), "the NVIDIA driver is missing (libcuda.so.1)"),
            (
                format!(
                    "load_backend: {failed}libcuda.so.1: cannot open shared object file: Permission denied"
                ),
                "libcuda.so.1: cannot open shared object file: Permission denied",
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
