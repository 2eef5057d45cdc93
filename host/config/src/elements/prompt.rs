//! `prompts[]`: templates that render a request from a Sample.

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::Role;

/// One message of a prompt.
#[derive(Clone, Debug)]
pub struct PromptMessage {
    /// Role of the message.
    pub role: Role,
    /// A minijinja template.
    pub template: String,
    /// Span of the template.
    pub span: Span,
}

/// A prompt.
#[derive(Clone, Debug)]
pub struct PromptSpec {
    /// The name within the configuration.
    pub prompt_id: String,
    /// The messages; at least one.
    pub messages: Vec<PromptMessage>,
    /// Defaults for `params`.
    pub params: gage_core::Object,
    /// Span of the entry.
    pub span: Span,
}

const ROLES: [(&str, Role); 3] =
    [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];

impl PromptSpec {
    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<PromptSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let prompt_id = table.required_id("prompt_id", problems).unwrap_or_default();
        let params = table.free_map("params", problems).map(Node::to_json);
        let mut messages = Vec::new();
        for (key, role) in [("system_prompt", Role::System), ("template", Role::User)] {
            let template = table.text(key, problems);
            if let (Some(template), Some(node)) = (template, table.get(key)) {
                messages.push(PromptMessage { role, template, span: node.span });
            }
        }
        let listed = table.list("messages", problems);
        if !listed.is_empty() && !messages.is_empty() {
            problems.error(
                node.span,
                &table.path,
                "a prompt has either `messages` or `template` (with `system_prompt`)",
            );
        }
        for (node, path) in listed {
            let Some(mut inner) = MappingReader::open(node, path, problems) else { continue };
            inner.required("role", problems);
            let role = inner.choice("role", &ROLES, problems);
            let template = inner.required_text("content", problems);
            let span = inner.get("content").map_or(node.span, |node| node.span);
            inner.finish(problems);
            if let (Some(role), Some(template)) = (role, template) {
                messages.push(PromptMessage { role, template, span });
            }
        }
        if messages.is_empty() {
            problems.error(node.span, &table.path, "a prompt needs a `template` or `messages`");
        }
        table.finish(problems);
        let params = match params {
            Some(serde_json::Value::Object(object)) => object,
            _ => gage_core::Object::new(),
        };
        Some(PromptSpec { prompt_id, messages, params, span: node.span })
    }
}
