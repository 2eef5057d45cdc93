//! API keys and headers: their sources, and what they may contain. Their values are never shown.

use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::secrets::{is_secret_key, names_secret};
use crate::source::{Span, shown_path};
use gage_core::foreign_file::{self, FileLimit};
use gage_secrets::SecretString;
use std::path::PathBuf;

/// Maximum size of a key file.
const MAX_KEY_FILE_SIZE: FileLimit = FileLimit::new("a key", 64 << 10);

/// A header that is sent with every request.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value.
    pub value: SecretString,
    /// True if its name, or the name of a variable in it, indicates a secret.
    pub is_secret: bool,
}

/// Source of a key.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// No key is sent.
    Nobody,
    /// `api_key`: its value, and the text with the variables that it was built from.
    Given(SecretString, Option<String>),
    /// `api_key_env`, or an empty `api_key` for a server that needs a key: the name of an environment variable.
    Variable(String),
    /// `api_key_file`: a file that contains only the key.
    File(PathBuf),
}

/// The key of a backend.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Source of the key.
    pub source: KeySource,
    /// The configuration key that names the source.
    pub key: &'static str,
    /// True if the server is the provider's own, which answers no request without a key.
    pub is_needed: bool,
    /// Span of the source.
    pub span: Span,
}

/// A key that is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The configuration key at fault.
    pub key: &'static str,
    /// Span of that key.
    pub span: Span,
    /// The error message, without any part of the key.
    pub message: String,
    /// A hint for fixing it.
    pub help: String,
}

impl ApiKey {
    /// Reads the key. `is_needed` is as in [`ApiKey::is_needed`].
    pub(super) fn read(table: &mut MappingReader<'_>, is_needed: bool, problems: &mut Problems) -> ApiKey {
        const KEYS: [&str; 3] = ["api_key", "api_key_env", "api_key_file"];
        let given: Vec<(&'static str, Span)> =
            KEYS.into_iter().filter_map(|key| table.entry(key).map(|entry| (key, entry.node.span))).collect();
        if let [(first, _), (second, span), ..] = given.as_slice() {
            problems
                .error(*span, &table.path_of(second), format!("both `{first}` and `{second}` are given"))
                .help("a backend has one key; leave one of them out");
        }
        let (key, span) = given.first().copied().unwrap_or(("api_key", table.span));
        let written = table.entry("api_key").and_then(|entry| entry.written.clone());
        let inline = table.text("api_key", problems).filter(|key| !key.is_empty());
        let variable = table.text("api_key_env", problems);
        let file = table.text("api_key_file", problems);
        let source = match (inline, variable, file) {
            (Some(key), ..) => KeySource::Given(SecretString::new("api_key", &key), written),
            (None, Some(name), _) => KeySource::Variable(name),
            (None, None, Some(path)) => KeySource::File(PathBuf::from(path)),
            // The variable of an empty `api_key` is reported like that of `api_key_env`.
            (None, None, None) => match written.as_deref().map(variables_in).as_deref() {
                Some([name]) if is_needed => KeySource::Variable((*name).to_owned()),
                _ => KeySource::Nobody,
            },
        };
        match &source {
            KeySource::Variable(name) if key == "api_key_env" => {
                table.uses("api_key_env", ResourceKind::Variable(name.clone()), problems);
            }
            KeySource::File(path) => table.uses_file("api_key_file", path, problems),
            KeySource::Nobody | KeySource::Given(..) | KeySource::Variable(_) => {}
        }
        // The variable's value may also occur elsewhere in the suite.
        if let KeySource::Variable(name) = &source
            && problems.resources.permissions().check_env(name).is_ok()
            && let Some(value) = gage_core::variable(name)
        {
            gage_secrets::register_secret(&value);
        }
        let key = ApiKey { source, key, is_needed, span };
        // Variables and files are only validated before the first request.
        if matches!(key.source, KeySource::Given(..))
            && let Err(error) = key.value()
        {
            problems.error(error.span, &table.path_of(error.key), error.message).help(error.help);
        }
        key
    }

    /// Returns the key itself, read from the environment or its file.
    ///
    /// # Errors
    /// Fails if a required key is missing, or cannot be sent in a header.
    pub fn value(&self) -> Result<Option<SecretString>, KeyError> {
        let fail = |key, message: String, help: &str| {
            Err(KeyError { key, span: self.span, message, help: help.to_owned() })
        };
        let checked = |key, value: &str| {
            if !value.chars().any(|character| character.is_control() || !character.is_ascii()) {
                return Ok(Some(SecretString::new(key, value)));
            }
            let message = if value.is_ascii() {
                format!("`{key}` contains a line break or another control character")
            } else {
                format!("`{key}` contains a character that is not ASCII, which no header can carry")
            };
            fail(key, message, "check the variable or the file that it comes from")
        };
        match &self.source {
            KeySource::Nobody => Ok(None),
            KeySource::Given(secret, _) => checked("api_key", secret.reveal()),
            KeySource::Variable(name) => {
                let (state, help) = match gage_core::variable(name) {
                    Some(value) if !value.trim().is_empty() => return checked(self.key, &value),
                    Some(_) => ("is empty", "put the key into it"),
                    None if std::env::var_os(name).is_some() => ("is not UTF-8", "keys are ASCII"),
                    None if self.is_needed => {
                        ("is not set", "set it, or write it into the file .env in the working folder")
                    }
                    None => (
                        "is not set",
                        "set it, or write it into the file .env in the working folder; if the server needs no key, leave \
                         `api_key_env` out",
                    ),
                };
                fail(self.key, format!("the environment variable {name} {state}"), help)
            }
            KeySource::File(path) => {
                const HELP: &str = "the file must contain only the key";
                let text = match foreign_file::read_named_text(path, MAX_KEY_FILE_SIZE) {
                    Ok(text) => text,
                    Err(error) => {
                        let message = format!("cannot read the key from {}: {error}", shown_path(path));
                        return fail("api_key_file", message, HELP);
                    }
                };
                // Editors end a file with a line break.
                let key = text.trim_end_matches(['\r', '\n']);
                if key.trim().is_empty() {
                    let message = format!("the file {} contains no key", shown_path(path));
                    return fail("api_key_file", message, HELP);
                }
                checked("api_key_file", key)
            }
        }
    }

    /// Checks that a key from outside the configuration is available.
    ///
    /// # Errors
    /// As for [`ApiKey::value`].
    pub fn outside(&self) -> Result<(), KeyError> {
        match self.source {
            KeySource::Nobody | KeySource::Given(..) => Ok(()),
            KeySource::Variable(_) | KeySource::File(_) => self.value().map(|_| ()),
        }
    }

    /// Describes the source of the key without naming any part of it.
    pub fn described(&self) -> String {
        match &self.source {
            KeySource::Nobody => "no key is sent; give one by `api_key_env` or `api_key_file`".to_owned(),
            // The variable's placeholder may contain a default.
            KeySource::Given(_, Some(written)) => match variables_in(written).as_slice() {
                [] => "the key is from `api_key`".to_owned(),
                names => format!("the key is from {} (`api_key`)", names.join(", ")),
            },
            KeySource::Given(_, None) => "the key is from `api_key`".to_owned(),
            KeySource::Variable(name) => {
                format!("the key is from the variable {name} (`{}`)", self.key)
            }
            KeySource::File(path) => {
                format!("the key is from the file {} (`api_key_file`)", path.display())
            }
        }
    }
}

/// Returns the variable names in the placeholders of a text.
fn variables_in(written: &str) -> Vec<&str> {
    let name =
        |rest: &'_ str| rest.find(|one: char| !one.is_ascii_alphanumeric() && !matches!(one, '_' | '.'));
    let names = written.split("${").skip(1).map(|rest| rest.split_at(name(rest).unwrap_or(rest.len())).0);
    names.filter(|name| !name.is_empty()).collect()
}

/// Headers that say where a request goes, where it ends, or what becomes of its connection. Only the HTTP client sets them.
const CLIENT_HEADERS: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns true if only the HTTP client may set a header.
fn is_client_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CLIENT_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-")
}

/// Reads `headers`.
pub(super) fn read_headers(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<Header> {
    let mut headers = Vec::new();
    for entry in table.free_map("headers", problems).and_then(Node::as_map).unwrap_or_default() {
        let text = match (&entry.node.value, &entry.node.plain) {
            (NodeValue::Text(text), _) | (_, Some(text)) => text,
            _ => {
                let message = format!("the header `{}` must be a string", entry.key);
                problems.error(entry.node.span, &entry.key, message);
                continue;
            }
        };
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character);
        let is_good =
            !entry.key.is_empty() && entry.key.chars().all(is_name) && !text.chars().any(char::is_control);
        if !is_good {
            let message = format!(
                "`{}` is not a valid header: its name or its value contains an invalid character",
                entry.key
            );
            problems.error(entry.key_span, &entry.key, message);
            continue;
        }
        if is_client_header(&entry.key) {
            let key = format!("{}.{}", table.path_of("headers"), entry.key);
            problems
                .error(entry.key_span, &key, format!("the header `{}` cannot be set", entry.key))
                .help("leave it out: the HTTP client sets it for each request; a proxy is named by `proxy`");
            continue;
        }
        let is_secret = is_secret_key(&entry.key) || entry.written.as_deref().is_some_and(names_secret);
        let value = match is_secret {
            true => SecretString::new(&entry.key, text),
            false => SecretString::unmarked(&entry.key, text),
        };
        headers.push(Header { name: entry.key.clone(), value, is_secret });
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, load};

    #[test]
    fn headers_of_the_client_are_refused() {
        let problems_of = |header: &str| {
            let text = format!(
                "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
                 datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
                 backends:\n  - backend_id: b\n    type: openai_http\n    config:\n      base_url: http://127.0.0.1:9\n\
                 \x20     model: m\n      headers:\n        {header}: x\n\
                 role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
                 custom: {{steps: [{{step: inference}}]}}\n"
            );
            let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
            let (_, problems) = load("test.yaml", &text, &[], &environment);
            let of_headers = problems.sorted().into_iter().filter(|problem| problem.key.contains("headers"));
            of_headers.cloned().collect::<Vec<_>>()
        };
        for header in ["Host", "transfer-encoding", "TE", "Proxy-Authorization", "PROXY-Connection"] {
            let found = problems_of(header);
            let [problem] = found.as_slice() else { panic!("{header}: {found:?}") };
            assert_eq!(problem.key, format!("backends[0].config.headers.{header}"));
            assert_eq!(problem.message, format!("the header `{header}` cannot be set"));
            assert!(problem.span.is_some() && problem.help.is_some(), "{problem:?}");
        }
        for header in ["X-Host", "Hosts", "Authorization", "OpenAI-Organization"] {
            assert_eq!(problems_of(header), [], "{header}");
        }
    }

    #[test]
    fn where_a_key_is_from_is_said_without_any_of_it() {
        for (written, expected) in [
            ("${KEY}", "the key is from KEY (`api_key`)"),
            ("${KEY:-sk-1}", "the key is from KEY (`api_key`)"),
            ("sk-${KEY:-sk-${OTHER}}-2", "the key is from KEY, OTHER (`api_key`)"),
            ("sk-1", "the key is from `api_key`"),
        ] {
            let source =
                KeySource::Given(SecretString::unmarked("api_key", "sk-1"), Some(written.to_owned()));
            let span = Span { source: 0, start: 0, end: 0 };
            let key = ApiKey { source, key: "api_key", is_needed: false, span };
            assert_eq!(key.described(), expected, "{written}");
        }
    }
}
