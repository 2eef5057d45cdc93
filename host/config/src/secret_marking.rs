//! Registers secrets as a document is read: see [`gage_secrets::register_secret`].

use crate::node::{Node, NodeValue};
use crate::placeholder::closing_brace;
use crate::problems::Problems;
use crate::secrets::{
    SecretContext, granted_names, is_plain, is_secret_name, literals, names_secret, secrets_in,
};
use gage_secrets::{SECRET_MARK, register_secret, register_variable_name};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Secrecy of a value, by the keys above it.
#[derive(Clone, Copy)]
struct SecretPosition<'k> {
    /// The nearest key.
    key: &'k str,
    /// True if the value is never recorded.
    is_secret: bool,
    /// True for a mapping of headers, whose names indicate which are secret. All are hidden when the document is
    /// shown.
    is_headers: bool,
    /// True if every other occurrence of the value is also redacted.
    is_known: bool,
}

/// Maximum number of secrets in the documents of a suite.
const MAX_SECRETS: usize = 1_000;
/// Maximum length of a text that holds a secret, in bytes.
const MAX_SECRET_BYTES: usize = 64 << 10;

/// Registers every secret of a document, with its span, whether or not its variables were replaced. Returns false, and
/// reports an error, if there are too many secrets or one is too long: then nothing of the document may be used.
pub(crate) fn note(root: &Node, problems: &mut Problems) -> bool {
    let place = SecretPosition { key: "", is_secret: false, is_headers: false, is_known: false };
    let granted = granted_names(root);
    granted.iter().for_each(|name| register_variable_name(name));
    let mut notes = SecretRegistration { path: Vec::new(), granted: &granted, problems };
    notes.walk(root, root.written.as_deref(), place).is_continue()
}

struct SecretRegistration<'p> {
    /// The keys above the current node.
    path: Vec<&'p str>,
    /// Names of variables, which are not secrets.
    granted: &'p BTreeSet<String>,
    problems: &'p mut Problems,
}

impl<'p> SecretRegistration<'p> {
    fn walk(&mut self, node: &'p Node, written: Option<&str>, place: SecretPosition<'_>) -> ControlFlow<()> {
        match &node.value {
            NodeValue::Map(entries) => {
                let beside = SecretContext::new(entries, &self.path);
                for entry in entries {
                    let key = entry.key.as_str();
                    let is_own = beside.is_secret(entry);
                    let is_headers = matches!(key.to_lowercase().as_str(), "headers" | "extra_headers");
                    // Headers are only redacted elsewhere if their own name indicates a secret: `application/json`
                    // is not one.
                    let is_known = !is_headers && (is_own || place.is_known && !place.is_headers);
                    let is_secret = place.is_secret || is_own;
                    let below = SecretPosition { key, is_secret, is_headers, is_known };
                    self.path.push(key);
                    self.walk(&entry.node, entry.written.as_deref(), below)?;
                    self.path.pop();
                }
            }
            NodeValue::List(items) => {
                self.path.push("");
                for item in items {
                    self.walk(item, item.written.as_deref(), place)?;
                }
                self.path.pop();
            }
            NodeValue::Null | NodeValue::Bool(_) => {}
            NodeValue::Int(_) | NodeValue::Float(_) => {
                if let Some(text) = node.plain.as_deref().filter(|_| place.is_secret) {
                    if place.is_known {
                        register_secret(text);
                    }
                    self.problems.hide(node.span, text, true);
                }
            }
            NodeValue::Text(text) if self.granted.contains(text) => {}
            NodeValue::Text(text) => {
                if !note_text(node, text, written, place, self.problems) {
                    let message = format!("a text with a secret is longer than {MAX_SECRET_BYTES} bytes");
                    self.problems.error(node.span, "", message);
                    return ControlFlow::Break(());
                }
            }
        }
        if self.problems.hidden_count() > MAX_SECRETS {
            self.problems.error(node.span, "", format!("there are more than {MAX_SECRETS} secrets"));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Registers the secrets of a text. Returns false if it has one and is too long.
fn note_text(
    node: &Node,
    text: &str,
    written: Option<&str>,
    place: SecretPosition<'_>,
    problems: &mut Problems,
) -> bool {
    // A parameter of a RunConfig was already registered when it was inserted.
    if text.is_empty() || text.contains(SECRET_MARK) || text.contains('\u{1}') {
        return true;
    }
    let is_named = written.is_some_and(names_secret);
    let addresses = secrets_in(place.key, text);
    if text.len() > MAX_SECRET_BYTES && (place.is_secret || is_named || !addresses.is_empty()) {
        return false;
    }
    if place.is_secret || is_named {
        problems.hide(node.span, text, place.is_secret);
    }
    let is_bearer = place.is_secret
        && ["bearer ", "basic ", "token "]
            .iter()
            .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    if place.is_known || is_bearer {
        literals(text).into_iter().for_each(register_secret);
    }
    note_defaults(text);
    for place in addresses {
        let secret = &text[place];
        problems.hide(node.span, secret, false);
        if secret.contains("${") {
            literals(secret).into_iter().for_each(register_secret);
            continue;
        }
        register_secret(secret);
        if let Some((_, password)) = secret.split_once(':') {
            problems.hide(node.span, password, false);
            register_secret(password);
        }
    }
    true
}

/// Registers the value of a variable whose name indicates a secret. Numbers and booleans are exempt: the value of
/// `${MAX_KEYS}` must stay visible.
pub(crate) fn note_variable(name: &str, value: &str) {
    if is_secret_name(name) && !is_plain(value) && !value.contains('\u{1}') {
        register_secret(value);
    }
}

/// Registers the users and the secret parameters of addresses with a scheme in external text: an argument, a
/// variable.
pub fn keep_addresses(text: &str) {
    // `model=name:tag@revision` is not an address.
    for place in secrets_in("model", text) {
        register_secret(&text[place.clone()]);
        if let Some((_, password)) = text[place].split_once(':') {
            register_secret(password);
        }
    }
}

/// Registers the defaults of unexpanded variables whose names indicate secrets.
fn note_defaults(text: &str) {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let inner = &rest[start + 2..];
        let Some(length) = closing_brace(inner) else { return };
        if let Some((name, default)) = inner[..length].split_once(":-") {
            match is_secret_name(name) && !is_plain(default) {
                true => literals(default).into_iter().for_each(register_secret),
                false => note_defaults(default),
            }
        }
        rest = &inner[length + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Environment, parse_document};
    use gage_secrets::redact;

    #[test]
    fn values_under_secret_names_are_marked_and_others_are_not() {
        let variable = |name: &str| match name {
            "NOTED_TOKEN" => Some("of-a-variable-1".to_owned()),
            "NOTED_KEY" => Some("123456789".to_owned()),
            "PATIENCE" => Some("innocent-value-1".to_owned()),
            "HIDDEN" => Some("hidden-value-1".to_owned()),
            _ => None,
        };
        let text = r#"
api_key: literal-value-1
other: {token: "quoted\u00e9value-1", password: 987604321}
block:
  private_key: |
    first-line-1
    second-line-1
headers: {X-Kind: ordinary-kind-1, Authorization: Bearer bearer-value-1, X-Api-Key: '${HIDDEN}'}
url: http://me:pass%2Cword-1@host/v1?access_token=parameter-1
proxy: you:no-scheme-1@host
user: a/${NOTED_TOKEN}/b
limit: ${NOTED_KEY}
patience: ${PATIENCE}
max_tokens: 123456789
anchored: &a anchored-value-1
secret: *a
"#;
        for expanded in [true, false] {
            let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
            let mut problems = Problems::default();
            let root = parse_document("x", text, expanded.then_some(&environment), &mut problems);
            assert!(root.is_some() && !problems.has_errors(), "{}", problems.render(false));
        }
        for secret in [
            "literal-value-1",
            "quotedévalue-1",
            "987604321",
            "first-line-1",
            "second-line-1",
            "bearer-value-1",
            "hidden-value-1",
            "pass,word-1",
            "pass%2Cword-1",
            "me:pass%2Cword-1",
            "parameter-1",
            "no-scheme-1",
            "of-a-variable-1",
            "anchored-value-1",
        ] {
            assert_eq!(redact(secret), SECRET_MARK, "{secret}");
        }
        for ordinary in ["ordinary-kind-1", "innocent-value-1", "123456789", "host"] {
            assert_eq!(redact(ordinary), ordinary);
        }
    }
}
