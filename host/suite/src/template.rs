//! `BuiltinTemplate`: a suite with a digest.

use crate::document::{exact_json, listed};
use crate::parameters::{self, Parameter};
use crate::{SuiteError, files, yaml};
use gage_config::{API_VERSION, Entry, Node, NodeValue, Problems, Span, parse_document};
use gage_core::{Digest, printable_line};
use std::path::{Path, PathBuf};

/// The template that a RunConfig binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRef {
    /// The name.
    pub name: String,
    /// The version: `v1`.
    pub version: String,
    /// The digest of its definition.
    pub digest: Digest,
    /// The digest of its file's bytes.
    pub file_digest: Digest,
}

/// A template whose digest was verified.
#[derive(Clone, Debug)]
pub struct BuiltinTemplate {
    /// Name, version and digests.
    pub reference: TemplateRef,
    /// The unexpanded suite.
    pub definition: Node,
    /// The parameters that a RunConfig may set.
    pub parameters: Vec<Parameter>,
    /// Path of its file.
    pub path: PathBuf,
    /// The text.
    pub(crate) text: String,
}

const HEAD: &str = "\
# A frozen suite, made by `gage-host distill`. The digest is computed again whenever the template is used, and a
# template that was edited is refused: change the suite that it was made from, and distill a new version.
";

/// Computes the digest of an unexpanded definition. Comments and formatting do not count; the order of keys does.
pub(crate) fn digest_of(definition: &Node) -> Digest {
    Digest::of_json(&exact_json(definition))
}

/// Result of looking for a template that is not the bound one.
#[derive(Debug)]
pub(crate) enum OtherTemplate {
    /// A file with this digest.
    Digest(Digest),
    /// No file.
    Gone,
    /// An unreadable file, and the reason.
    Unreadable(String),
}

impl BuiltinTemplate {
    /// Composes the text of a template from a definition.
    pub(crate) fn compose(name: &str, version: &str, is_monolithic: bool, definition: &Node) -> String {
        let span = definition.span;
        let digest = digest_of(definition);
        let map = |entries| Node::new(NodeValue::Map(entries), span);
        let tasks: Vec<Node> =
            listed(definition, "tasks", "task_id").map(|(id, _)| Node::text(id, span)).collect();
        let metadata = map(vec![
            Entry::new("name", Node::text(name, span)),
            Entry::new("version", Node::text(version, span)),
            Entry::new("digest", Node::text(digest.to_string(), span)),
            Entry::new("source_tasks", Node::new(NodeValue::List(tasks), span)),
            Entry::new("monolithic", Node::new(NodeValue::Bool(is_monolithic), span)),
        ]);
        let document = map(vec![
            Entry::new("api_version", Node::text(API_VERSION, span)),
            Entry::new("kind", Node::text("BuiltinTemplate", span)),
            Entry::new("metadata", metadata),
            Entry::new("parameters", parameters::to_node(&parameters::infer(definition), span)),
            Entry::new("definition", definition.clone()),
        ]);
        format!("{HEAD}{}", yaml::of_node(&document))
    }

    /// Reads a template and verifies its digest.
    ///
    /// # Errors
    /// Fails if it cannot be read, is not a template, or was edited without updating its digest.
    pub fn read(path: &Path) -> Result<BuiltinTemplate, SuiteError> {
        let text = files::read(path)?;
        let mut problems = Problems::default();
        let template = read_text(path, text, &mut problems);
        template.ok_or_else(|| SuiteError::document(path, problems))
    }
}

fn read_text(path: &Path, text: String, problems: &mut Problems) -> Option<BuiltinTemplate> {
    let root = parse_document(&path.display().to_string(), &text, None, problems)?;
    if problems.has_errors() {
        return None;
    }
    let start = Span { start: 0, end: 0, ..root.span };
    if root.text_of("api_version") != Some(API_VERSION) || root.text_of("kind") != Some("BuiltinTemplate") {
        let message =
            format!("this is no template: it needs `api_version: {API_VERSION}` and `kind: BuiltinTemplate`");
        problems.error(root.get("kind").map_or(start, |kind| kind.span), "kind", message);
        return None;
    }
    let empty = Node::new(NodeValue::Null, start);
    let metadata = root.get("metadata").unwrap_or(&empty);
    let (name, version) = (metadata.text_of("name"), metadata.text_of("version"));
    let written = metadata.text_of("digest").and_then(|digest| digest.parse::<Digest>().ok());
    let definition = root.get("definition").filter(|node| node.as_map().is_some());
    let (Some(name), Some(version), Some(written), Some(definition)) = (name, version, written, definition)
    else {
        problems
            .error(
                start,
                "",
                "the template is not whole: it needs `metadata` with `name`, `version`, \
                `digest`, and `definition`",
            )
            .help("restore it, or create it again with `gage-host distill`");
        return None;
    };
    if !check_names(metadata, name, version, problems) {
        return None;
    }
    let found = digest_of(definition);
    let span = metadata.get("digest").map_or(start, |node| node.span);
    if found != written {
        problems
            .error(
                span,
                "metadata.digest",
                format!(
                    "the definition does not match the digest, so one of the two was edited: it has {found}"
                ),
            )
            .help(EDITED);
        return None;
    }
    let parameters = parameters::infer(definition);
    let expected = parameters::to_node(&parameters, start);
    let listed = root.get("parameters");
    if listed.is_none_or(|node| exact_json(node) != exact_json(&expected)) {
        let span = listed.map_or(start, |node| node.span);
        problems.error(span, "parameters", "the parameters are not those of the definition").help(EDITED);
        return None;
    }
    Some(BuiltinTemplate {
        reference: TemplateRef {
            name: name.to_owned(),
            version: version.to_owned(),
            digest: found,
            file_digest: Digest::of_bytes(text.as_bytes()),
        },
        definition: definition.clone(),
        parameters,
        path: path.to_owned(),
        text,
    })
}

/// Checks the name and the version of a template, which become parts of file names.
fn check_names(metadata: &Node, name: &str, version: &str, problems: &mut Problems) -> bool {
    let span = |key: &str| metadata.get(key).map_or(metadata.span, |node| node.span);
    if let Err(message) = gage_core::check_name(name) {
        problems
            .error(span("name"), "metadata.name", format!("the name {message}"))
            .help("write it like piqa_suite");
    }
    if number_of(version).is_none() {
        let message = format!("`{}` is not a version", printable_line(version));
        problems.error(span("version"), "metadata.version", message).help("versions are v1, v2 and so on");
    }
    !problems.has_errors()
}

const EDITED: &str = "restore the template, or make a new version of it: `gage-host init --mode \
    pipeline-config`, edit, `gage-host distill`";

/// Returns the number of a version: 3 of `v3`.
pub(crate) fn number_of(version: &str) -> Option<u64> {
    let digits = version.strip_prefix(['v', 'V']).unwrap_or(version);
    (!digits.starts_with(['+', '0'])).then(|| digits.parse().ok()).flatten()
}

/// Returns the versions of a suite in a folder of templates, oldest first.
pub(crate) fn versions(folder: &Path) -> Vec<u64> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> = names
        .filter_map(|file| {
            let name = file.file_name();
            let stem = name.to_str()?.strip_suffix(".yaml")?;
            stem.starts_with('v').then(|| number_of(stem)).flatten()
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_lead_to_no_other_folder() {
        let mut parsing = Problems::default();
        let definition = parse_document("definition", "metrics: [exact_match]", None, &mut parsing).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("template.yaml");
        for (name, version, refused) in [
            ("t", "v1", None),
            ("../t", "v1", Some("metadata.name")),
            ("/t", "v1", Some("metadata.name")),
            ("..", "v1", Some("metadata.name")),
            ("t", "v1/../../t", Some("metadata.version")),
            ("t", "v1\nkind: RunConfig", Some("metadata.version")),
        ] {
            std::fs::write(&path, BuiltinTemplate::compose(name, version, false, &definition)).unwrap();
            let found = match BuiltinTemplate::read(&path) {
                Err(SuiteError::Document { problems, .. }) => {
                    problems.sorted().first().map(|problem| (problem.key.clone(), problem.span.is_some()))
                }
                _ => None,
            };
            assert_eq!(found, refused.map(|key: &str| (key.to_owned(), true)), "{name} {version}");
        }
    }

    #[test]
    fn versions_are_numbers_after_an_optional_letter() {
        for (version, number) in [
            ("v1", Some(1)),
            ("V12", Some(12)),
            ("3", Some(3)),
            ("v0", None),
            ("v01", None),
            ("v+1", None),
            ("v", None),
            ("1.0", None),
            ("version1", None),
        ] {
            assert_eq!(number_of(version), number, "{version}");
        }
    }
}
