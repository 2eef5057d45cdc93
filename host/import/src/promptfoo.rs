//! Converts configurations of promptfoo. Tests become rows of a file, and their assertions become metrics.

mod cells;
mod checks;
mod javascript_pattern;
mod negated;
mod options;
mod prompts;
mod providers;
mod suite;
mod tests;
mod variables;

use crate::convert::Import;
use crate::note::Notes;
use crate::source_folder::SourceFolder;
use crate::tree::{Mapping, Tree};
use crate::yaml;
use gage_config::{Problems, parse_document};
use std::collections::BTreeSet;

/// Beginning of a value that names a file.
const FILE: &str = "file://";
/// Keys of a configuration that are converted.
const KNOWN_KEYS: &[&str] =
    &["description", "prompts", "providers", "targets", "tests", "defaultTest", "assertionTemplates"];
/// Keys without an effect on figures, each with the reason.
const DROPPED_KEYS: &[(&str, &str)] = &[
    ("sharing", "nothing is uploaded"),
    ("outputPath", "every run writes its results into its folder"),
    ("writeLatestResults", "every run writes its results into its folder"),
    ("tags", "`metadata` of the suite is for people"),
    ("metadata", "`metadata` of the suite is for people"),
];

/// Converts a configuration of promptfoo. `name` is the name of its file in `folder`, and `rows` the name of the file that
/// gets the tests.
///
/// # Errors
/// The problems of a text that is not one YAML mapping.
pub fn import_promptfoo(
    name: &str,
    text: &str,
    folder: &dyn SourceFolder,
    rows: &str,
) -> Result<Import, Box<Problems>> {
    let mut problems = Problems::default();
    let Some(root) = parse_document(name, text, None, &mut problems).filter(|_| !problems.has_errors())
    else {
        return Err(Box::new(problems));
    };
    let Tree::Map(config) = Tree::of_foreign(&root) else {
        problems
            .error(root.span, "", format!("a configuration is a mapping; this is {}", root.kind()))
            .help("give the promptfooconfig.yaml of promptfoo");
        return Err(Box::new(problems));
    };
    let mut notes = Notes::default();
    let mut comments = Vec::new();
    note_keys(&config, &mut notes, &mut comments);
    let prompts = prompts::convert(&config, folder, &mut notes);
    let models = providers::convert(&config, &mut notes);
    let tests = tests::read(&config, &prompts, folder, &mut notes, &mut comments);
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let suite::SuiteDocument { mut document, lines } =
        suite::document(&config, name, rows, prompts, models, tests, &mut notes);
    let mut known = BTreeSet::new();
    comments.retain(|comment| known.insert(comment.clone()));
    document.comments.extend(comments);
    document.escape_variables();
    let head = vec![
        format!("Converted from {name} of promptfoo by `gage-host import promptfoo`."),
        format!("The tests are rows of {rows}; what they expect is their field `expected`."),
    ];
    Ok(Import {
        suite: yaml::write(&head, &document),
        notes: notes.into_distinct(),
        files: vec![(rows.to_owned(), lines)],
    })
}

fn note_keys(config: &Mapping, notes: &mut Notes, comments: &mut Vec<String>) {
    for key in config.keys() {
        let is_known = KNOWN_KEYS.contains(&key.as_str()) || options::SECTIONS.contains(&key.as_str());
        if is_known || key.starts_with('$') {
            continue;
        }
        match DROPPED_KEYS.iter().find(|(dropped, _)| *dropped == key) {
            Some((_, reason)) => {
                // These are of no interest in the suite.
                notes.dropped(key.clone(), format!("`{key}` is left out: {reason}"), &mut Vec::new());
            }
            None => {
                notes.needs_work(key.clone(), format!("`{key}` has no counterpart"), comments);
            }
        }
    }
}
