//! Tests of a configuration: their variables and assertions.

use super::checks::Check;
use super::variables::{self, MAX_ADDED_BYTES};
use crate::note::Notes;
use crate::source_folder::SourceFolder;
use crate::tree::{Mapping, Tree};
use gage_config::{Problems, parse_document};

/// Maximum number of tests, with every combination of variables that are lists.
const MAX_TESTS: usize = 10_000;
/// Maximum number of assertions of a test, with those of sets.
const MAX_ASSERTIONS: usize = 1_000;
/// Beginning of a value that names a file.
pub(super) const FILE: &str = "file://";
/// Beginning of columns with what a test expects.
const EXPECTED_COLUMN: &str = "__expected";

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) vars: Mapping,
    pub(super) checks: Vec<Check>,
}

/// Reads the tests of a configuration, with the variables and assertions of `defaultTest`.
pub(super) fn read(
    config: &Mapping,
    folder: &dyn SourceFolder,
    notes: &mut Notes,
    comments: &mut Vec<String>,
) -> Vec<Test> {
    let mut reader = Reader { config, folder, notes, comments };
    let entries = match config.get("tests") {
        Some(tests) => reader.entries("tests", tests),
        None => Vec::new(),
    };
    let usual = match config.get("defaultTest") {
        Some(Tree::Map(usual)) => usual.clone(),
        Some(other) => {
            let found = reader.entries("defaultTest", other);
            found.into_iter().next().unwrap_or_default()
        }
        None => Mapping::default(),
    };
    let entries = if entries.is_empty() { vec![Mapping::default()] } else { entries };
    let mut tests = Vec::new();
    for entry in entries {
        let checks: Vec<Check> = reader.checks(&usual).into_iter().chain(reader.checks(&entry)).collect();
        reader.note_keys(&entry);
        let mut vars = section(&usual, "vars");
        section(&entry, "vars").entries.into_iter().for_each(|var| vars.set(&var.key, var.value));
        for mut vars in combinations(vars) {
            if tests.len() >= MAX_TESTS {
                let message = format!("only the first {MAX_TESTS} tests are converted");
                reader.notes.needs_work("tests".to_owned(), message, reader.comments);
                return tests;
            }
            reader.read_files(&mut vars);
            if !variables::resolve(&mut vars) {
                let message =
                    format!("variables add more than {} KiB to variables of a test", MAX_ADDED_BYTES >> 10);
                reader.work("tests.vars", message, "write the whole text into the row");
            }
            reader.note_structures(&vars, &checks);
            let checks = checks.iter().map(|check| check.filled(&vars)).collect();
            tests.push(Test { vars, checks });
        }
    }
    reader.note_keys(&usual);
    tests
}

fn section(test: &Mapping, key: &str) -> Mapping {
    test.get(key).and_then(Tree::as_map).cloned().unwrap_or_default()
}

/// Returns every combination of the values of variables that are lists.
fn combinations(vars: Mapping) -> Vec<Mapping> {
    let mut found = vec![Mapping::default()];
    for entry in vars.entries {
        let values = match entry.value {
            Tree::List(items) if !items.is_empty() => items,
            other => vec![other],
        };
        let mut longer = Vec::new();
        for before in &found {
            for value in &values {
                if longer.len() >= MAX_TESTS {
                    break;
                }
                let mut vars = before.clone();
                vars.set(&entry.key, value.clone());
                longer.push(vars);
            }
        }
        found = longer;
    }
    found
}

struct Reader<'r> {
    config: &'r Mapping,
    folder: &'r dyn SourceFolder,
    notes: &'r mut Notes,
    comments: &'r mut Vec<String>,
}

impl Reader<'_> {
    fn work(&mut self, key: &str, message: String, help: &str) {
        let note = self.notes.needs_work(key.to_owned(), message, self.comments);
        note.help(help);
    }

    /// Returns the tests of a list, or of a file that it names.
    fn entries(&mut self, key: &str, value: &Tree) -> Vec<Mapping> {
        match value {
            Tree::Map(test) if test.has("path") => {
                let path = test.get("path").map(Tree::plain_text).unwrap_or_default();
                self.entries(key, &Tree::text(path))
            }
            Tree::Map(test) => vec![test.clone()],
            Tree::List(items) => items.iter().flat_map(|item| self.entries(key, item)).collect(),
            scalar => self.file(key, &scalar.plain_text()),
        }
    }

    fn file(&mut self, key: &str, name: &str) -> Vec<Mapping> {
        let path = name.strip_prefix(FILE).unwrap_or(name);
        let help = "write the tests as rows of the file of rows";
        let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if path.contains("://") || path.contains('*') || !TEST_ENDINGS.contains(&ending.as_str()) {
            self.work(key, format!("the tests of `{name}` are not in a file that is read here"), help);
            return Vec::new();
        }
        let text = match self.folder.read(path) {
            Ok(text) => text,
            Err(reason) => {
                self.work(key, format!("cannot read the tests `{path}`: {reason}"), help);
                return Vec::new();
            }
        };
        if ending == "csv" || ending == "tsv" {
            return self.table(key, path, &text, if ending == "csv" { b',' } else { b'\t' });
        }
        let documents: Vec<&str> = if ending == "jsonl" {
            text.lines().filter(|line| !line.trim().is_empty()).collect()
        } else {
            vec![&text]
        };
        let mut tests = Vec::new();
        for document in documents.into_iter().take(MAX_TESTS) {
            let mut problems = Problems::default();
            match parse_document(path, document, None, &mut problems).map(|root| Tree::of_foreign(&root)) {
                // A file may not name further files.
                Some(Tree::List(items)) => tests.extend(items.iter().filter_map(Tree::as_map).cloned()),
                Some(Tree::Map(test)) => tests.push(test),
                _ => self.work(key, format!("the tests of `{path}` cannot be read"), help),
            }
        }
        tests
    }

    /// Reads a table: a column for each variable, and columns with what is expected.
    fn table(&mut self, key: &str, path: &str, text: &str, delimiter: u8) -> Vec<Mapping> {
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text.as_bytes());
        let names = reader.headers().cloned().unwrap_or_default();
        let mut tests = Vec::new();
        for row in reader.records().take(MAX_TESTS) {
            let Ok(row) = row else {
                let message = format!("a row of `{path}` cannot be read; the tests end before it");
                self.work(key, message, "correct the table");
                break;
            };
            let (mut vars, mut asserts) = (Mapping::default(), Vec::new());
            for (name, value) in names.iter().zip(row.iter()) {
                let name = name.trim();
                if name.starts_with(EXPECTED_COLUMN) {
                    asserts.extend((!value.trim().is_empty()).then(|| assertion_of(value)));
                } else if !name.starts_with("__") && !name.is_empty() {
                    vars.set(name, Tree::text(value));
                }
            }
            let mut test = Mapping::default();
            test.set("vars", Tree::Map(vars));
            test.set("assert", Tree::List(asserts));
            tests.push(test);
        }
        tests
    }

    /// Returns the assertions of a test; those of a set are its own.
    fn checks(&mut self, test: &Mapping) -> Vec<Check> {
        let mut checks = Vec::new();
        let mut open: Vec<Tree> = test.get("assert").and_then(Tree::as_list).unwrap_or_default().to_vec();
        open.reverse();
        let mut count = 0_usize;
        while let Some(item) = open.pop() {
            count += 1;
            if count > MAX_ASSERTIONS {
                let message = format!("only the first {MAX_ASSERTIONS} assertions of a test are converted");
                self.work("assert", message, "remove the others, or a set that names itself");
                break;
            }
            let Some(assertion) = item.as_map() else {
                self.work(
                    "assert",
                    format!("the assertion `{}` is not a mapping", item.shown()),
                    "write its `type`",
                );
                continue;
            };
            let reference = assertion.text("$ref");
            let named = reference.map_or(Some(assertion), |reference| referred(self.config, reference));
            let Some(assertion) = named else {
                let reference = reference.unwrap_or_default();
                let message = format!("`$ref: {reference}` names no assertion of this file");
                self.work("assert.$ref", message, "write the assertion in its place");
                continue;
            };
            if assertion.has("transform") {
                let message = "`transform` of an assertion changes answers by code, and has no counterpart";
                self.work("assert.transform", message.to_owned(), EXTRACTOR_HELP);
            }
            if assertion.text("type") == Some("assert-set") {
                let message = "the assertions of a set are checked one by one; its threshold has no effect";
                self.notes.changed("assert.assert-set".to_owned(), message.to_owned(), self.comments);
                let inner = assertion.get("assert").and_then(Tree::as_list).unwrap_or_default();
                open.extend(inner.iter().rev().cloned());
                continue;
            }
            checks.push(Check::of(assertion));
        }
        if checks.iter().any(|check| check.has_weight) {
            let message = "weights have no effect: each assertion is a metric with a figure of its own";
            self.notes.dropped("assert.weight".to_owned(), message.to_owned(), self.comments);
        }
        checks
    }

    fn note_keys(&mut self, test: &Mapping) {
        for key in ["threshold", "assertScoringFunction"] {
            if test.has(key) {
                let message =
                    format!("`{key}` of a test has no effect: each assertion has a figure of its own");
                self.notes.dropped(format!("tests.{key}"), message, self.comments);
            }
        }
        let options = section(test, "options");
        for key in ["transform", "transformVars", "postprocess", "storeOutputAs"] {
            if options.has(key) {
                let message = format!("`options.{key}` changes answers by code, and has no counterpart");
                self.work(&format!("tests.options.{key}"), message, EXTRACTOR_HELP);
            }
        }
        if options.has("rubricPrompt") {
            let message = "`options.rubricPrompt` is left out: the judge has the prompt `judge`";
            self.work("tests.options.rubricPrompt", message.to_owned(), "change `template` of that prompt");
        }
        for key in ["prefix", "suffix"] {
            if options.has(key) {
                let message = format!("`options.{key}` is left out; write it into the prompt");
                self.work(&format!("tests.options.{key}"), message, "change `template` of the prompt");
            }
        }
    }

    /// Puts the text of files into the variables that name them.
    fn read_files(&mut self, vars: &mut Mapping) {
        for entry in &mut vars.entries {
            let Some(path) =
                entry.value.as_text().and_then(|text| text.strip_prefix(FILE)).map(str::to_owned)
            else {
                continue;
            };
            let text = match variables::is_read_as_text(&path) {
                true => self.folder.read(&path).map(|text| variables::text_of_file(&path, &text)),
                false => Err("promptfoo does not send its text".to_owned()),
            };
            match text {
                Ok(text) => entry.value = Tree::text(text),
                Err(reason) => {
                    let message = format!("cannot read `{path}` of the variable `{}`: {reason}", entry.key);
                    let note = self.notes.needs_work("tests.vars".to_owned(), message, self.comments);
                    note.help("write the text into the row");
                }
            }
        }
    }

    /// Notes lists and mappings that variables or assertions put into their texts.
    fn note_structures(&mut self, vars: &Mapping, checks: &[Check]) {
        for var in vars.entries.iter().filter(|var| matches!(var.value, Tree::List(_) | Tree::Map(_))) {
            let is_read = vars.entries.iter().any(|other| variables::reads(&other.value, &var.key))
                || checks.iter().any(|check| check.reads(&var.key));
            if is_read {
                let message = format!("`{}` is a list or a mapping, and cannot be part of a text", var.key);
                self.work("tests.vars", message, "write the text that stands there into the row");
            }
        }
    }
}

/// Returns the assertion that a reference names, such as `#/assertionTemplates/short`.
fn referred<'c>(config: &'c Mapping, reference: &str) -> Option<&'c Mapping> {
    reference.strip_prefix("#/")?.split('/').try_fold(config, |map, key| map.get(key)?.as_map())
}

/// Next step for code that changes an answer.
const EXTRACTOR_HELP: &str = "an extractor may find the answer: `gage-host list extractors`";
/// Endings of files with tests.
const TEST_ENDINGS: [&str; 6] = ["csv", "tsv", "yaml", "yml", "json", "jsonl"];

/// Reads what a cell expects: `TYPE: VALUE`, or the answer itself.
fn assertion_of(cell: &str) -> Tree {
    let cell = cell.trim();
    let mut assertion = Mapping::default();
    let is_type = |kind: &str| {
        !kind.is_empty() && kind.chars().all(|one| one.is_ascii_lowercase() || "-()0123456789.".contains(one))
    };
    match cell.split_once(':').filter(|(kind, _)| is_type(kind) && super::checks::is_known(kind)) {
        Some((kind, value)) => {
            let (kind, threshold) = match kind.split_once('(') {
                Some((kind, rest)) => (kind, rest.strip_suffix(')')),
                None => (kind, None),
            };
            assertion.set("type", Tree::text(kind));
            let value = value.trim();
            let is_list = kind.ends_with("-any") || kind.ends_with("-all");
            match is_list {
                true => {
                    let items = value.split(',').map(|item| Tree::text(item.trim())).collect();
                    assertion.set("value", Tree::List(items));
                }
                false => assertion.set("value", Tree::text(value)),
            }
            if let Some(threshold) = threshold.and_then(|text| text.parse::<f64>().ok()) {
                assertion.set("threshold", Tree::Scalar(threshold.into()));
            }
        }
        None => {
            assertion.set("type", Tree::text("equals"));
            assertion.set("value", Tree::text(cell));
        }
    }
    Tree::Map(assertion)
}
