//! Warnings about a suite that is to run in shards.

use gage_config::{BackendKind, BackendSpec, Kernels, PipelineConfig};

/// Returns warnings about running a suite in shards. `is_locked` is true if every shard checks the lock.
pub(super) fn shard_warnings(config: &PipelineConfig, is_locked: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let backends = || config.backends.iter().map(AsRef::as_ref);
    let choosing = backends().filter(|backend| chooses_kernels(backend));
    let names: Vec<String> = choosing.map(|backend| format!("`{}`", backend.backend_id)).collect();
    if !names.is_empty() && !is_locked {
        warnings.push(format!(
            "each machine chooses the kernels of {}, and shards with different kernels cannot be merged: set \
             `kernels` of the backend, such as `kernels: baseline`, or lock the suite and use --locked",
            names.join(", ")
        ));
    }
    if backends().next().is_some() && backends().all(|backend| !backend.is_local()) {
        warnings.push(
            "all models are on HTTP servers, and one process sends them thousands of requests a second: use \
             shards only if scoring takes longer than the answers"
                .to_owned(),
        );
    }
    warnings
}

/// Returns true if the machine decides which kernels of llama.cpp run a model.
fn chooses_kernels(backend: &BackendSpec) -> bool {
    matches!(&backend.kind, BackendKind::LlamaCpp(llama) if llama.kernels == Kernels::Auto)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::Environment;

    #[test]
    fn kernels_and_servers_are_warned_about() {
        let llama = |id: &str, extra: &str| {
            format!("{{backend_id: {id}, type: llama_cpp, config: {{model_path: m.gguf{extra}}}}}")
        };
        let http =
            "{backend_id: server, type: openai_http, config: {model: m, base_url: 'http://127.0.0.1:9/v1'}}";
        let (auto, baseline) = (llama("one", ""), llama("two", ", kernels: baseline"));
        for (backends, is_locked, expected) in [
            (vec![&*auto], false, vec!["kernels of `one`, and"]),
            (vec![&*auto], true, vec![]),
            (vec![&*baseline], false, vec![]),
            (vec![&*auto, http], false, vec!["kernels of `one`, and"]),
            (vec![http], false, vec!["on HTTP servers"]),
            (vec![http], true, vec!["on HTTP servers"]),
            (vec![&*baseline, http], false, vec![]),
        ] {
            let first = if backends[0] == http { "server" } else { &backends[0][13..16] };
            let text = format!(
                "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
                 datasets: [{{dataset_id: d, loader: jsonl, params: {{path: d.jsonl}}}}]\nbackends: [{}]\n\
                 role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: {first}}}]\n\
                 custom: {{steps: [{{step: inference}}]}}\n",
                backends.join(", ")
            );
            let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
            let (config, problems) = gage_config::load("suite.yaml", &text, &[], &environment);
            let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
            let warnings = shard_warnings(&config, is_locked);
            assert_eq!(warnings.len(), expected.len(), "{backends:?}: {warnings:?}");
            for (warning, part) in warnings.iter().zip(expected) {
                assert!(warning.contains(part), "{backends:?}: {warning}");
            }
        }
    }
}
