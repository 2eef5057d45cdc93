//! Checks of a suite's backends without opening them.

use super::granted_roles;
use super::model_capabilities::check_purpose;
use super::model_files::{REFERENCE_HELP, files_of, reference_of};
use super::plugin_use::PluginUse;
use super::templates::check_chat_template;
use gage_backend::check_http_files;
use gage_backend::gguf::{Gguf, Purpose};
use gage_config::{
    BackendKind, BackendSpec, LoraConfig, Node, PipelineConfig, Problems, RequestKind, TaskSpec, shown_path,
};
use gage_core::foreign_file::{self, FileLimit};
use gage_plugin::{BackendKind as BackendPlugins, Registry};
use serde_json::Value;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// Checks the settings of all backends, and the files they refer to.
pub(super) fn check_backends(config: &PipelineConfig, registry: &Registry, problems: &mut Problems) {
    check_cycles(config, problems);
    for backend in &config.backends {
        match &backend.kind {
            BackendKind::Http(http) => {
                // Only a warning, because a replayed run needs no key. Opening the backend makes it an error.
                if let Err(wrong) = http.key.outside() {
                    problems.warning(wrong.span, wrong.key, wrong.message).help(wrong.help);
                }
                if let Err(wrong) = check_http_files(http) {
                    problems.error(wrong.span, "ca_certificate", wrong.message).help = wrong.help;
                }
            }
            BackendKind::LlamaCpp(llama) => {
                check_chat_template(llama, registry, problems);
                for (key, name, span) in files_of(llama) {
                    match reference_of(name) {
                        Some(Ok(_)) => {}
                        Some(Err(message)) => {
                            problems.error(span, key, message).help(REFERENCE_HELP);
                        }
                        None => match read_model_file("the model", name) {
                            Ok(gguf) => check_purpose(key, name, span, &gguf, problems),
                            Err(message) => drop(problems.error(span, key, message)),
                        },
                    }
                }
                if let Some(lora) = &llama.lora {
                    check_adapter(lora, problems);
                }
            }
            BackendKind::Answers(answers) => {
                if let Err(error) = foreign_file::open_named(&answers.path, FileLimit::NONE) {
                    let (path, error) = (shown_path(&answers.path), gage_core::system_message(&error));
                    let message = format!("the answers {path} cannot be read: {error}");
                    problems.error(answers.path_span, "path", message);
                }
            }
            BackendKind::CustomScript(script) => {
                let used = PluginUse {
                    reference: &script.component,
                    params: script.config.as_ref(),
                    span: script.component_span,
                    key: "component",
                    params_key: "config",
                };
                let Some((component, _)) = used.find::<BackendPlugins>(registry, problems) else { continue };
                let json = script.config.as_ref().map_or(Value::Null, Node::to_json);
                if let Err(found) = component.configure(None, json) {
                    used.report_params(found, problems);
                }
            }
        }
    }
}

/// Reads the metadata of a model file. Fails if the file is missing, truncated or not a GGUF file.
fn read_model_file(what: &str, path: &Path) -> Result<Gguf, String> {
    let describe = |how: String| format!("{what} {} {how}", shown_path(path));
    let opened = foreign_file::open_named(path, FileLimit::NONE);
    let mut file = opened.map_err(|error| describe(format!("cannot be read: {error}")))?;
    let mut magic = [0_u8; 4];
    match file.read_exact(&mut magic) {
        Ok(()) if &magic == b"GGUF" => Gguf::read(path).map_err(|error| error.to_string()),
        Ok(()) => Err(describe("is not a GGUF file".to_owned())),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(describe("is empty or cut off".to_owned()))
        }
        Err(error) => Err(describe(format!("cannot be read: {error}"))),
    }
}

/// Checks that an adapter file exists and is an adapter.
fn check_adapter(lora: &LoraConfig, problems: &mut Problems) {
    if reference_of(&lora.path).is_some() {
        let message = "an adapter must be a local file; references to a hub are for models";
        problems
            .error(lora.path_span, "lora.path", message)
            .help("fetch it with `gage-host model fetch`, and write the path that this prints");
        return;
    }
    match read_model_file("the adapter", &lora.path) {
        Ok(gguf) if gguf.purpose() == Purpose::Adapter => {}
        Ok(_) => {
            let message = format!("{} is not an adapter, but a file of another kind", shown_path(&lora.path));
            problems.error(lora.path_span, "lora.path", message);
        }
        Err(message) => drop(problems.error(lora.path_span, "lora.path", message)),
    }
}

/// Reports components that may ask a role that leads back to themselves, because they would deadlock.
fn check_cycles(config: &PipelineConfig, problems: &mut Problems) {
    for backend in &config.backends {
        let mut seen: Vec<&str> = Vec::new();
        let mut roles = granted_roles(config, backend);
        while let Some(role) = roles.pop() {
            if role.backend_id == backend.backend_id {
                let message = format!(
                    "the component of `{}` may ask the role `{}`, which leads back to `{0}`",
                    backend.backend_id, role.adapter_id
                );
                problems.error(backend.span, "backends", message).help("grant it another role");
                break;
            }
            if let Some(next) =
                config.backend_of(role).filter(|next| !seen.contains(&next.backend_id.as_str()))
            {
                seen.push(&next.backend_id);
                roles.extend(granted_roles(config, next));
            }
        }
    }
}

/// Checks that the backend of a task supports its request, as far as is known before the backend is opened.
pub(super) fn check_request(task: &TaskSpec, backend: &BackendSpec, problems: &mut Problems) {
    let step = &task.steps.inference;
    if step.request == RequestKind::Loglikelihood
        && let BackendKind::Http(http) = &backend.kind
        && let Some((message, help)) = http.lacks_loglikelihood()
    {
        problems.error(step.span, "request", message).help(help);
    }
    if step.request != RequestKind::Generate && matches!(backend.kind, BackendKind::Answers(_)) {
        let message = format!("answers from a file are texts, and give no `{}`", step.request.name());
        problems.error(step.span, "request", message).help("use `request: generate`");
        return;
    }
    let scores_texts = match &backend.kind {
        BackendKind::LlamaCpp(_) => true,
        BackendKind::Http(http) => http.lacks_loglikelihood().is_none(),
        BackendKind::CustomScript(_) | BackendKind::Answers(_) => false,
    };
    if step.request == RequestKind::RollingLoglikelihood && !scores_texts {
        let message = format!(
            "the backend `{}` gives no log-likelihoods of whole texts (`rolling_loglikelihood`)",
            backend.backend_id
        );
        problems
            .error(step.span, "request", message)
            .help("use a backend of the type `llama_cpp`, or a server with `loglikelihood: echo`");
    }
}
