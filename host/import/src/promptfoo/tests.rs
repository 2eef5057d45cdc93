//! Tests of a configuration: their variables and assertions.

use super::checks::Check;
use super::variables::{self, MAX_ADDED_BYTES};
use super::{FILE, cells, prompts};
use crate::note::Notes;
use crate::source_folder::SourceFolder;
use crate::tree::{Mapping, Tree};
use gage_config::{Problems, parse_document};

/// Maximum number of tests, with every combination of variables that are lists.
const MAX_TESTS: usize = 10_000;
/// Maximum number of assertions of a test, with those of sets.
const MAX_ASSERTIONS: usize = 1_000;
/// Types of assertions whose value may be the name of a file with code.
const CODE_TYPES: [&str; 4] = ["javascript", "python", "ruby", "webhook"];

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) vars: Mapping,
    pub(super) checks: Vec<Check>,
}

/// Reads the tests of a configuration, with the variables and assertions of `defaultTest`.
pub(super) fn read(
    config: &Mapping,
    prompts: &[Mapping],
    folder: &dyn SourceFolder,
    notes: &mut Notes,
    comments: &mut Vec<String>,
) -> Vec<Test> {
    let mut reader = Reader { config, prompts, folder, notes, comments };
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
    let usual_vars = reader.vars_of(&usual);
    let question = prompts::first_text(prompts);
    let mut tests = Vec::new();
    for entry in entries {
        let checks: Vec<Check> = reader.checks(&usual).into_iter().chain(reader.checks(&entry)).collect();
        reader.note_keys(&entry);
        if section(&entry, "options").has("provider") {
            let message = "`options.provider` of a test is left out: one judge checks all tests";
            reader.work("tests.options.provider", message.to_owned(), JUDGE_HELP);
        }
        let mut vars = usual_vars.clone();
        reader.vars_of(&entry).entries.into_iter().for_each(|var| vars.set(&var.key, var.value));
        let combined = if keeps_lists(&usual, &entry) { vec![vars] } else { combinations(vars) };
        for mut vars in combined {
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
            reader.note_expressions(&vars, &checks);
            if checks.iter().any(|check| check.is_about_prompt(&vars)) {
                reader.note_question(&question, &vars);
            }
            let checks = checks.iter().map(|check| check.filled(&vars, &question)).collect();
            tests.push(Test { vars, checks });
        }
    }
    reader.note_keys(&usual);
    tests
}

fn section(test: &Mapping, key: &str) -> Mapping {
    test.get(key).and_then(Tree::as_map).cloned().unwrap_or_default()
}

/// Returns true if variables that are lists stay lists (`disableVarExpansion`).
fn keeps_lists(usual: &Mapping, test: &Mapping) -> bool {
    const KEY: &str = "disableVarExpansion";
    let (own, usual) = (section(test, "options"), section(usual, "options"));
    own.get(KEY).or_else(|| usual.get(KEY)) == Some(&Tree::Scalar(true.into()))
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
    prompts: &'r [Mapping],
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
        for name in names.iter().filter(|name| name.trim().starts_with(cells::SETTING_COLUMN)) {
            let message = format!("the column `{name}` of `{path}` sets up assertions, and is left out");
            self.work(key, message, "write the setting into the metric");
        }
        let mut tests = Vec::new();
        for row in reader.records().take(MAX_TESTS) {
            let Ok(row) = row else {
                let message = format!("a row of `{path}` cannot be read; the tests end before it");
                self.work(key, message, "correct the table");
                break;
            };
            tests.push(cells::test_of(names.iter().zip(row.iter())));
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
            self.note_settings(assertion);
            if assertion.text("type") == Some("assert-set") {
                let message = "the assertions of a set are checked one by one; its threshold has no effect";
                self.notes.changed("assert.assert-set".to_owned(), message.to_owned(), self.comments);
                let inner = assertion.get("assert").and_then(Tree::as_list).unwrap_or_default();
                open.extend(inner.iter().rev().cloned());
                continue;
            }
            checks.push(Check::of(&self.with_files(assertion)));
        }
        if checks.iter().any(|check| check.has_weight) {
            let message = "weights have no effect: each assertion is a metric with a figure of its own";
            self.notes.dropped("assert.weight".to_owned(), message.to_owned(), self.comments);
        }
        checks
    }

    /// Notes settings of an assertion that have no counterpart.
    fn note_settings(&mut self, assertion: &Mapping) {
        for (key, message, help) in [
            ("transform", "changes answers by code, and has no counterpart", EXTRACTOR_HELP),
            ("provider", "is left out: one model serves all assertions", JUDGE_HELP),
            ("rubricPrompt", "is left out: the judge has the prompt `judge`", PROMPT_HELP),
        ] {
            if assertion.has(key) {
                self.work(&format!("assert.{key}"), format!("`{key}` of an assertion {message}"), help);
            }
        }
    }

    /// Returns an assertion with the content of the files that its value names.
    fn with_files(&mut self, assertion: &Mapping) -> Mapping {
        let mut read = assertion.clone();
        let kind = assertion.text("type").unwrap_or_default();
        let kind = kind.strip_prefix("not-").unwrap_or(kind);
        if let Some(value) = read.get_mut("value").filter(|_| !CODE_TYPES.contains(&kind)) {
            self.read_expected(&format!("assert.{kind}"), value);
        }
        read
    }

    /// Puts the content of a file into the value that names it.
    fn read_expected(&mut self, key: &str, value: &mut Tree) {
        if let Tree::List(items) = value {
            items.iter_mut().for_each(|item| self.read_expected(key, item));
            return;
        }
        let path = value.as_text().and_then(|text| text.strip_prefix(FILE)).map(str::to_owned);
        let Some(path) = path else { return };
        let found = match variables::ending_of(&path).as_str() {
            "json" | "yaml" | "yml" => self.document(&path),
            _ if !variables::is_read_as_text(&path) => Err("it is code, or not a text".to_owned()),
            _ => self.folder.read(&path).map(|text| Tree::text(text.trim())),
        };
        match found {
            Ok(found) => *value = found,
            Err(reason) => {
                let message = format!("cannot read `{path}`, which an assertion expects: {reason}");
                self.work(key, message, "write the text in the place of the name of the file");
            }
        }
    }

    /// Returns the variables of a test, or those of the files that it names.
    fn vars_of(&mut self, test: &Mapping) -> Mapping {
        let named = match test.get("vars") {
            Some(Tree::Map(vars)) => return vars.clone(),
            Some(Tree::List(items)) => items.clone(),
            Some(scalar) => vec![scalar.clone()],
            None => Vec::new(),
        };
        let mut vars = Mapping::default();
        for name in named.iter().map(Tree::plain_text) {
            let path = name.strip_prefix(FILE).unwrap_or(&name);
            let found = self.document(path).and_then(|found| match found {
                Tree::Map(found) => Ok(found.entries),
                _ => Err("it is not a mapping".to_owned()),
            });
            match found {
                Ok(found) => found.into_iter().for_each(|var| vars.set(&var.key, var.value)),
                Err(reason) => {
                    let message = format!("cannot read the variables `{path}`: {reason}");
                    self.work("tests.vars", message, "write the variables into the rows");
                }
            }
        }
        vars
    }

    /// Reads a file of YAML or JSON.
    fn document(&self, path: &str) -> Result<Tree, String> {
        let text = self.folder.read(path)?;
        let mut problems = Problems::default();
        let root = parse_document(path, &text, None, &mut problems).filter(|_| !problems.has_errors());
        root.map(|root| Tree::of_foreign(&root)).ok_or_else(|| "it is not YAML or JSON".to_owned())
    }

    fn note_keys(&mut self, test: &Mapping) {
        if test.has("providerOutput") {
            let message = "`providerOutput` of a test is an answer, and is left out";
            let help = "give the answers as a file: gage-host run SUITE --answers FILE";
            self.work("tests.providerOutput", message.to_owned(), help);
        }
        for key in ["metadata", "description"] {
            if test.has(key) {
                let message = format!("`{key}` of a test is left out: no figure depends on it");
                self.notes.dropped(format!("tests.{key}"), message, self.comments);
            }
        }
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
            self.work("tests.options.rubricPrompt", message.to_owned(), PROMPT_HELP);
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

    /// Notes expressions in values of assertions, which stay as they are.
    fn note_expressions(&mut self, vars: &Mapping, checks: &[Check]) {
        for (kind, expression) in checks.iter().filter_map(|check| check.unknown_expression(vars)) {
            let message = format!("`{kind}` has `{expression}`, which is not a variable of the test");
            self.work(&format!("assert.{kind}"), message, "write the text that it stands for");
        }
    }

    /// Notes parts of the prompt that a judge does not get as the model does.
    fn note_question(&mut self, question: &Tree, vars: &Mapping) {
        const KEY: &str = "assert.answer-relevance";
        if let Some(expression) = variables::first_expression(question, vars) {
            let message = match variables::looped_over(&expression, vars) {
                Some(name) => format!(
                    "`answer-relevance` reads the prompt, which loops over the items of `{name}`; the judge \
                     gets the loop as it is written"
                ),
                None => format!(
                    "`answer-relevance` reads the prompt, and its `{}` is not a variable of the test",
                    Tree::text(expression).shown()
                ),
            };
            self.work(KEY, message, QUERY_HELP);
        }
        if self.prompts.len() > 1 {
            let message =
                "`answer-relevance` without a variable `query` reads the first prompt for all prompts";
            let note = self.notes.changed(KEY.to_owned(), message.to_owned(), self.comments);
            note.help(QUERY_HELP);
        }
    }

    /// Notes lists and mappings that variables, assertions or prompts put into their texts.
    fn note_structures(&mut self, vars: &Mapping, checks: &[Check]) {
        for var in vars.entries.iter().filter(|var| matches!(var.value, Tree::List(_) | Tree::Map(_))) {
            let is_list = matches!(var.value, Tree::List(_));
            let is_read = vars.entries.iter().any(|other| variables::reads(&other.value, &var.key))
                || checks.iter().any(|check| check.reads(&var.key))
                || is_list && prompts::reads(self.prompts, &var.key);
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
/// Next step for a model that checks some assertions.
const JUDGE_HELP: &str = "change the backend of the role `judge` or `embedder` in `role_adapters`";
/// Next step for a judge that reads the prompt.
const QUERY_HELP: &str = "add the question to the test as the variable `query`";
/// Next step for the prompt of a judge.
const PROMPT_HELP: &str = "change `template` of that prompt";
/// Endings of files with tests.
const TEST_ENDINGS: [&str; 6] = ["csv", "tsv", "yaml", "yml", "json", "jsonl"];
