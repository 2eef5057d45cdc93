//! `custom.chat_template`: how a suite wants its prompts to be sent, unless the model says otherwise.

use super::{MODEL_ROLE, is_missing, model_roles, set};
use crate::node::Node;
use crate::problems::Problems;

/// Types of backends with the key `chat_template`.
const TEMPLATED: [&str; 2] = ["openai_http", "llama_cpp"];

/// The value that sends prompts without a template.
const NONE: &str = "none";

/// Has the backends of the model under test apply no chat template if the suite wants none. A template of the backend itself
/// stays.
pub(super) fn apply(root: &mut Node, problems: &mut Problems) {
    let settings = ["custom", "builtin"].into_iter().find_map(|key| root.get(key)?.get("chat_template"));
    let Some(none) = settings.filter(|template| template.as_text() == Some(NONE)).cloned() else { return };
    let roles = root.get("role_adapters").and_then(Node::as_list).unwrap_or_default();
    let (models, others): (Vec<&Node>, Vec<&Node>) =
        roles.iter().partition(|role| role.text_of("role_type") == Some(MODEL_ROLE));
    let ids = |roles: Vec<&Node>| -> Vec<String> {
        roles.into_iter().filter_map(|role| role.text_of("backend_id").map(str::to_owned)).collect()
    };
    let (own, shared) = (ids(models), ids(others));
    for role in model_roles(root) {
        if let Some(backend) = role.get_mut("backend") {
            set_template(backend, &none);
        }
    }
    let backends = root.get_mut("backends").and_then(Node::items_mut);
    for backend in backends.into_iter().flatten() {
        let id = backend.text_of("backend_id").unwrap_or_default().to_owned();
        if !own.contains(&id) {
            continue;
        }
        if !shared.contains(&id) {
            set_template(backend, &none);
        } else if lacks_template(backend) {
            let message =
                format!("the backend `{id}` keeps its chat template: it answers for other roles, too");
            problems
                .warning(none.span, "custom.chat_template", message)
                .help("give the model under test a backend of its own, as `--model` does");
        }
    }
}

/// Returns whether a backend may have a chat template, and names none.
fn lacks_template(backend: &Node) -> bool {
    let is_templated = backend.text_of("type").is_some_and(|kind| TEMPLATED.contains(&kind));
    let config = backend.get("config").filter(|config| config.as_map().is_some());
    is_templated && config.is_some_and(|config| is_missing(config, "chat_template"))
}

fn set_template(backend: &mut Node, template: &Node) {
    if lacks_template(backend)
        && let Some(config) = backend.get_mut("config")
    {
        set(config, "chat_template", template.clone());
    }
}
