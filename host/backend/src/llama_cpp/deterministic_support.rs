//! Kernels on which deterministic results were measured.

use gage_model_protocol::{KernelBuild, Settings};

/// Checks that a model whose results must not depend on other requests runs on kernels on which that was measured.
///
/// # Errors
/// If it was never measured on these kernels.
pub(super) fn check_deterministic(settings: &Settings, build: KernelBuild) -> Result<(), String> {
    let kernels = match build {
        KernelBuild::Vulkan if settings.deterministic => "Vulkan",
        KernelBuild::Metal if settings.deterministic => "Metal",
        _ => return Ok(()),
    };
    Err(format!(
        "`deterministic: true` was not measured on {kernels}; its figures may depend on the other requests in \
         flight. Use `kernels: baseline`, or a GPU with CUDA, or leave `deterministic` out"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_model_protocol::ModelOptions;
    use gage_recorded_messages::RecordedError as _;
    use std::path::PathBuf;

    #[test]
    fn deterministic_is_refused_where_it_was_not_measured() {
        let settings = |deterministic| {
            let model = ModelOptions::new(PathBuf::from("m.gguf"));
            let options = ModelOptions { deterministic, threads: Some(1), ..model };
            Settings::resolve(&options, 256, 640).expect("in bounds")
        };
        for (build, refused) in [
            (KernelBuild::Baseline, None),
            (KernelBuild::Avx512, None),
            (KernelBuild::Cuda, None),
            (KernelBuild::Vulkan, Some("`deterministic: true` was not measured on Vulkan; ")),
            (KernelBuild::Metal, Some("`deterministic: true` was not measured on Metal; ")),
        ] {
            assert_eq!(check_deterministic(&settings(false), build), Ok(()), "{build}");
            let error = check_deterministic(&settings(true), build).err();
            let error = error.map(|error| error.recorded("model_files"));
            assert_eq!(error.is_some(), refused.is_some(), "{build}");
            if let (Some(error), Some(beginning)) = (error, refused) {
                assert!(error.starts_with(beginning), "{error}");
            }
        }
    }
}
