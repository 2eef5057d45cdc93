//! `prompt`: the prompt of the model under test.

use super::model::wrong_form;
use super::prompt_name::{EXAMPLE, is_name, refuse_name};
use super::{choice, model_roles, push, set};
use crate::node::{Entry, Node, NodeValue};
use crate::problems::Problems;

/// Id of a prompt that has none.
const PROMPT_ID: &str = "prompt";

/// Has the roles of the model under test use the prompt: a template, the id of an entry of `prompts`, or a mapping with the
/// keys of such an entry.
pub(super) fn expand(root: &mut Node, entry: Entry, problems: &mut Problems) {
    let known = choice::prompt_ids(root);
    let mut prompt = entry.node;
    let span = prompt.span;
    let id = match &prompt.value {
        NodeValue::Text(id) if known.contains(id) => id.clone(),
        NodeValue::Text(text) if is_name(text) => {
            refuse_name(text, &known, span, problems);
            return;
        }
        NodeValue::Text(template) => {
            let template =
                Entry { written: entry.written, ..Entry::new("template", Node::text(template, span)) };
            let id = Entry::new("prompt_id", Node::text(PROMPT_ID, span));
            push(root, "prompts", Node::map(vec![id, template], span));
            PROMPT_ID.to_owned()
        }
        NodeValue::Map(_) => {
            if prompt.get("prompt_id").is_none() {
                set(&mut prompt, "prompt_id", Node::text(PROMPT_ID, span));
            }
            let id = prompt.text_of("prompt_id").unwrap_or(PROMPT_ID).to_owned();
            push(root, "prompts", prompt);
            id
        }
        _ => {
            problems
                .error(span, "prompt", wrong_form("prompt", &prompt))
                .help(format!("write a template: {EXAMPLE}"));
            return;
        }
    };
    for role in model_roles(root) {
        set(role, "prompt_id", Node::text(id.as_str(), span));
    }
}
