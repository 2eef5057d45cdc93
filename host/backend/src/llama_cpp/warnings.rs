//! Warnings about a model that runs with less than requested.

use gage_config::SplitMode;
use gage_model_protocol::{KernelBuild, LoadedModel, ModelOptions, Settings, to_usize};

/// Returns the keys about GPUs that have no effect: all that differ from their defaults, if no GPU is used.
fn without_effect(asked: &ModelOptions, settings: &Settings, build: KernelBuild) -> Vec<&'static str> {
    let wants_layers = asked.gpu_layers.is_some_and(|layers| layers > 0);
    let has_none = !build.is_for_gpus() || (wants_layers && settings.gpu_layers == 0);
    let keys = [
        ("gpu_layers", wants_layers),
        ("main_gpu", asked.main_gpu.is_some()),
        ("devices", !asked.devices.is_empty()),
        ("split_mode", asked.split_mode != SplitMode::default()),
    ];
    keys.into_iter().filter(|(_, is_said)| has_none && *is_said).map(|(key, _)| key).collect()
}

/// Warns if a model runs with less than requested, or with more than it was made for.
pub(super) fn warn_of_less(asked: &ModelOptions, loaded: &LoadedModel) {
    let Settings { slots, context_length, .. } = loaded.settings;
    let is_shorter = asked.context_length.is_some_and(|asked| context_length < to_usize(asked));
    if slots < to_usize(asked.slots) || is_shorter {
        tracing::warn!(
            "the model does not fit into memory as it is configured; it runs with {slots} slots and a \
             context of {context_length}"
        );
    }
    let build = loaded.build.variant.build;
    let unused = without_effect(asked, &loaded.settings, build);
    if !unused.is_empty() {
        let (keys, have) = match unused.as_slice() {
            [one] => (format!("`{one}`"), "has"),
            several => (format!("`{}`", several.join("`, `")), "have"),
        };
        tracing::warn!(
            "{keys} {have} no effect: the model runs on the CPU, with the kernels `{build}`. Remove these keys, or \
             install kernels for a GPU; `gage-host doctor` shows the kernels and why some are not used"
        );
    }
    let trained = to_usize(loaded.facts.training_context);
    if trained > 0 && context_length > trained {
        tracing::warn!(
            "a context of {context_length} is longer than the {trained} tokens that the model was trained for"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn what_is_said_about_gpus_has_no_effect_without_one() {
        let plain = ModelOptions::new(PathBuf::from("m.gguf"));
        let settings = Settings::resolve(&plain, 256, 640).expect("in bounds");
        for (options, expected) in [
            (plain.clone(), vec![]),
            (ModelOptions { main_gpu: Some(0), ..plain.clone() }, vec!["main_gpu"]),
            (ModelOptions { devices: vec![0], ..plain.clone() }, vec!["devices"]),
            (ModelOptions { split_mode: SplitMode::None, ..plain.clone() }, vec!["split_mode"]),
        ] {
            assert_eq!(without_effect(&options, &settings, KernelBuild::Avx512), expected, "{options:?}");
            assert!(without_effect(&options, &settings, KernelBuild::Cuda).is_empty(), "{options:?}");
        }
        // For these it is known in every build: the settings have none of the requested layers.
        let all = ModelOptions { gpu_layers: Some(9), main_gpu: Some(1), ..plain };
        assert_eq!(without_effect(&all, &settings, KernelBuild::Cuda), ["gpu_layers", "main_gpu"]);
    }
}
