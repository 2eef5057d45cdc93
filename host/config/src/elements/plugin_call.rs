//! A plugin with its parameters, in the short forms that metrics have too: a name, a call, or a name with a
//! mapping.

use crate::elements::PluginReference;
use crate::elements::metric_call::parse_call;
use crate::node::{Entry, Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;

/// A plugin with its parameters.
#[derive(Clone, Debug)]
pub struct PluginCall {
    /// The plugin.
    pub reference: PluginReference,
    /// The parameters: a mapping, with the spans of its values.
    pub params: Node,
    /// Span of the entry.
    pub span: Span,
}

impl PluginCall {
    /// Reads an entry; `noun` names the kind of plugin in messages.
    pub(crate) fn read(node: &Node, path: &str, noun: &str, problems: &mut Problems) -> Option<PluginCall> {
        let (name, params, span) = match &node.value {
            NodeValue::Text(text) => match parse_call(text, node.span) {
                Ok((name, params)) => (name, params, node.span),
                Err(message) => {
                    problems.error(node.span, path, message).help("write it like name(key='a,b', other=1)");
                    return None;
                }
            },
            NodeValue::Map(entries) if entries.len() == 1 => {
                let entry = entries.first()?;
                (entry.key.clone(), params_of(entry, path, problems)?, entry.key_span)
            }
            _ => {
                let message =
                    format!("expected the name of a plugin of the kind `{noun}`, found {}", node.kind());
                problems
                    .error(node.span, path, message)
                    .help("write name, name(key=value), or {name: {key: value}}");
                return None;
            }
        };
        let reference = PluginReference::read(node.span, path, &name, noun, problems)?;
        Some(PluginCall { reference, params, span })
    }

    /// Creates a call without parameters.
    pub(crate) fn plain(name: &str, span: Span) -> PluginCall {
        let reference = PluginReference::Name(name.to_owned());
        PluginCall { reference, params: Node::empty_map(span), span }
    }
}

/// Returns the parameters of `{name: {key: value}}`, or an empty mapping if nothing follows the name.
pub(crate) fn params_of(entry: &Entry, path: &str, problems: &mut Problems) -> Option<Node> {
    match &entry.node.value {
        NodeValue::Null => Some(Node::empty_map(entry.node.span)),
        NodeValue::Map(_) => Some(entry.node.clone()),
        _ => {
            let found = entry.node.kind();
            let message = format!("the parameters of `{}` must be a mapping, found {found}", entry.key);
            problems.error(entry.node.span, path, message);
            None
        }
    }
}
