//! The keys in the files of a run folder.

use crate::judging::{judged_question, prompt_of};
use crate::server::{Server, completion, question_number};
use crate::support::{Workspace, judged_suite, rows};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Objects whose keys are ids or names.
const BY_NAME: &[&str] =
    &["backends", "datasets", "files", "plugins", "prompt_versions", "prompts", "sub_scores"];

/// Keys whose values come from a suite, a Sample, a plugin or a backend.
const FOREIGN: &[&str] = &["config", "detail", "limits", "payload", "sample", "sampling_params"];

/// Returns the documents in the files of a run with judges, slices and clusters, each with the name of its file.
pub(super) fn documents() -> Vec<(String, Value)> {
    let model = Server::start(|request| completion(&format!("answer {}", question_number(request) % 7)));
    let judge = Server::start(|request| {
        let score = if judged_question(&prompt_of(request)).is_multiple_of(2) { "1.0" } else { "0.5" };
        completion(&format!("Fine.\nCORRECT: yes\nSCORE: {score}"))
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(12));
    let suite = judged_suite(
        &model.backend(""),
        &judge.backend(""),
        ", prompt_id: ask",
        "[exact_match, judge_score, list_overlap]",
        "[{step: inference}, {step: judge}, {step: extract, extractors: [last_number]}, {step: auto_eval}]",
        "  slices: [metadata.level]
  cluster_by: metadata.level
prompts:
  - {prompt_id: ask, template: '{{ sample.messages[0].content[0].text }}'}
",
    );
    workspace.write("suite.yaml", suite);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let mut documents: Vec<(String, Value)> = ["manifest.json", "summary.json", "timings.json"]
        .map(|file| (file.to_owned(), workspace.json("r", file)))
        .into();
    documents.extend(workspace.samples("r").into_iter().map(|sample| ("samples.jsonl".to_owned(), sample)));
    let journal = workspace.read("runs/r/journal/000001.jsonl");
    documents.extend(journal.lines().map(|line| {
        let (_, json) = line.split_once(' ').expect("a checksum");
        ("journal".to_owned(), serde_json::from_str(json).expect("JSON"))
    }));
    let events = workspace.read("runs/r/events.jsonl");
    documents.extend(
        events.lines().map(|line| ("events.jsonl".to_owned(), serde_json::from_str(line).expect("JSON"))),
    );
    documents
}

/// Returns the keys of a document, each with its path in the file. Keys that are ids or names are left out.
pub(super) fn keys(file: &str, document: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    add(document, file, &mut found);
    found
}

fn add(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    let name = path.rsplit('/').next().unwrap_or_default();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let path = format!("{path}/{key}");
                if !BY_NAME.contains(&name) {
                    found.entry(key.clone()).or_insert_with(|| path.clone());
                }
                if !FOREIGN.contains(&key.as_str()) {
                    add(member, &path, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add(item, path, found)),
        _ => {}
    }
}

/// Returns the names that a page writes between backticks.
pub(super) fn names(page: &str) -> BTreeSet<&str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(|letter: char| !is_of_name(letter)))
        .collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
