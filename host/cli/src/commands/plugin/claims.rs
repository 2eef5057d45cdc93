//! Annotations of packages: what an author says of a component. Nothing checks them.

use gage_core::{printable_line, shortened};
use gage_plugin_tools::Project;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum length of an annotation that is shown, in characters.
const MAX_CLAIM_CHARS: usize = 1_000;

const TITLE: &str = "org.opencontainers.image.title";
const VERSION: &str = "org.opencontainers.image.version";
const DESCRIPTION: &str = "org.opencontainers.image.description";
const LICENSE: &str = "org.opencontainers.image.licenses";
const SOURCE: &str = "org.opencontainers.image.source";
const REVISION: &str = "org.opencontainers.image.revision";

/// The shown annotations, each with its name for users.
const SHOWN: [(&str, &str); 6] = [
    ("title", TITLE),
    ("version", VERSION),
    ("description", DESCRIPTION),
    ("license", LICENSE),
    ("source", SOURCE),
    ("revision", REVISION),
];

/// Returns the annotations of a package. `project` is that of the component, if it has one.
pub(super) fn annotations(project: Option<&Project>, revision: Option<&str>) -> BTreeMap<String, String> {
    let package = project.map(|project| &project.package);
    let claims = [
        (TITLE, project.map(|project| project.name.as_str())),
        (VERSION, package.and_then(|package| package.version.as_deref())),
        (DESCRIPTION, package.and_then(|package| package.description.as_deref())),
        (LICENSE, package.and_then(|package| package.license.as_deref())),
        (SOURCE, package.and_then(|package| package.source.as_deref())),
        (REVISION, revision),
    ];
    let stated = claims.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    stated.collect()
}

/// Describes the annotations that gage-host knows, below a line that says whose words they are. `key_width` is the width of
/// the first column.
pub(super) fn describe(annotations: &BTreeMap<String, String>, key_width: usize, text: &mut String) {
    let known = SHOWN.iter().filter_map(|(name, annotation)| Some((name, annotations.get(*annotation)?)));
    let mut known = known.peekable();
    if known.peek().is_some() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:key_width$}  by the author, not checked:", "claims");
    }
    for (name, value) in known {
        let value = shortened(value, MAX_CLAIM_CHARS);
        let _ = writeln!(text, "{:key_width$}    {name:11}  {}", "", printable_line(&value));
    }
}

/// Returns the annotations that gage-host knows, by their names for users.
pub(super) fn to_json(annotations: &BTreeMap<String, String>) -> Value {
    let claims = SHOWN.iter().filter_map(|(name, annotation)| {
        let value = annotations.get(*annotation)?;
        Some(((*name).to_owned(), json!(value)))
    });
    Value::Object(claims.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn described(of: &[(&str, &str)]) -> String {
        let mut text = String::new();
        describe(&claims(of), 10, &mut text);
        text
    }

    #[test]
    fn claims_are_marked_as_the_words_of_the_author() {
        let text = described(&[(LICENSE, "Apache-2.0"), (REVISION, "0c1f5be"), ("example.other", "x")]);
        insta::assert_snapshot!(text, @r"
        claims      by the author, not checked:
                      license      Apache-2.0
                      revision     0c1f5be
        ");
        assert_eq!(described(&[("example.other", "x")]), "");
    }

    #[test]
    fn hostile_claims_stay_on_their_line_and_are_short() {
        let long = format!("MIT\nsigned by  team.pub\u{202e}{}", "x".repeat(5_000));
        let text = described(&[(LICENSE, &long)]);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("MIT\\nsigned by  team.pub\\u{202e}xx"), "{text}");
        assert!(text.chars().count() < 1_200, "{}", text.len());
        let json = to_json(&claims(&[(LICENSE, "MIT"), ("example.other", "x")]));
        assert_eq!(json, json!({"license": "MIT"}));
    }

    #[test]
    fn a_component_without_a_project_claims_only_its_revision() {
        assert_eq!(annotations(None, None), BTreeMap::new());
        assert_eq!(annotations(None, Some("0c1f5be")), claims(&[(REVISION, "0c1f5be")]));
    }
}
