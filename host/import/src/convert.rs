//! Converts a whole suite: each submodule does one of its sections.

mod backends;
mod datasets;
mod head;
mod judges;
mod metrics;
mod old_keys;
mod prompts;
mod roles;
mod runtime;
mod sampling;
mod steps;
mod tasks;

use crate::note::{Note, NoteSeverity, Notes};
use crate::tables::keys::{OLD_TOP_KEYS, TOP_KEYS};
use crate::tree::{Mapping, Tree};
use crate::{variables, yaml};
use gage_config::{Problems, parse_document};

/// A suite that was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The new suite, as YAML with comments.
    pub suite: String,
    /// Every change, in the order in which it was made.
    pub notes: Vec<Note>,
    /// Further files of the suite, which lie beside it: their names and texts.
    pub files: Vec<(String, String)>,
}

impl Import {
    /// Returns true if a person has to do something before the suite can run.
    pub fn needs_work(&self) -> bool {
        self.notes.iter().any(|note| note.severity == NoteSeverity::NeedsWork)
    }
}

/// Converts a suite of the older program. `name` is the name of its file, for messages.
///
/// # Errors
/// The problems of a text that is not one YAML mapping.
pub fn import_gage(name: &str, text: &str) -> Result<Import, Box<Problems>> {
    let mut problems = Problems::default();
    let Some(root) = parse_document(name, text, None, &mut problems).filter(|_| !problems.has_errors())
    else {
        return Err(Box::new(problems));
    };
    let Tree::Map(mut document) = Tree::of(&root) else {
        problems
            .error(root.span, "", format!("a suite is a mapping; this is {}", root.kind()))
            .help("give the YAML file of a suite of the older program");
        return Err(Box::new(problems));
    };
    let mut notes = Notes::default();
    variables::convert(&mut document, &mut notes);
    if head::convert(&mut document, &mut notes) {
        convert_sections(&mut document, &mut notes);
    }
    let suite = yaml::write(&head_comments(name), &document);
    Ok(Import { suite, notes: notes.into_list(), files: Vec::new() })
}

fn convert_sections(document: &mut Mapping, notes: &mut Notes) {
    runtime::convert(document, notes);
    old_keys::settle(document, "", &[TOP_KEYS], OLD_TOP_KEYS, notes);
    // Texts that prompts may use are read before the preprocessors lose them.
    let texts = prompts::texts_of_datasets(document);
    datasets::convert(document, notes);
    prompts::convert(document, &texts, notes);
    roles::convert(document, notes);
    backends::convert(document, notes);
    tasks::convert(document, notes);
    steps::convert(document, notes);
    judges::convert(document, notes);
    metrics::convert(document, notes);
}

fn head_comments(name: &str) -> Vec<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    vec![
        format!("Converted from {name} by `gage-host import gage`. Comments say what changed."),
        "Check it with `gage-host validate`, and look at `gage-host data preview` before the first run."
            .to_owned(),
    ]
}
