//! Answers that were made elsewhere, which `--answers` reads: JSON Lines, JSON, CSV, and logs of other tools.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_config::{AnswersConfig, BackendKind, Environment, load};
use gage_data::AnswersFile;
use proptest::strategy::BoxedStrategy;
use std::path::Path;

/// Files of answers.
pub const TARGET: Target = Target { name: "answers_files", cases: 400, seeds, inputs, check };

/// Endings of the files, each of a format.
const ENDINGS: [&str; 3] = ["jsonl", "json", "csv"];

/// Maximum length of a message about a file, in bytes.
const MAX_ERROR_BYTES: usize = 16 << 10;

const TOKENS: &[&str] = &[
    "\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "\"id\":",
    "\"answer\":",
    "\"output\":",
    "\"response\":",
    "\"model_output\":",
    "\"doc_id\":",
    "\"resps\":",
    "\"samples\":",
    "\"choices\":",
    "\"message\":",
    "\"content\":",
    "\"finish_reason\":\"length\"",
    "\\ud800",
    "\u{feff}",
    "\u{0}",
    "é",
];

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "{\"id\": \"a\", \"answer\": \"x\"}\n{\"id\": 7, \"output\": {\"choices\": [{\"message\": {\"content\": \"y\"}}]}}\n",
        "\"x\"\n\"y\"\n",
        "{\"doc_id\": 0, \"resps\": [[\"x\", \"y\"]]}\n",
        "{\"task_id\": \"t\", \"sample_id\": \"a\", \"model_output\": {\"answer\": \"x\", \"finish_reason\": \"length\"}}\n",
        "{\"samples\": [{\"id\": 1, \"output\": {\"choices\": [{\"message\": {\"content\": [{\"type\": \"text\", \"text\": \"x\"}]}}]}}]}",
        "[\"x\", {\"response\": \"y\"}]",
        "id,completion\na,\"x, y\"\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

/// Returns the configuration of a file of answers.
fn config(path: &Path) -> Result<AnswersConfig, String> {
    let path = serde_json::Value::from(path.display().to_string());
    let text = format!("datasets: rows.jsonl\nanswers: {path}\n");
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("fuzz.yaml", &text, &[], &environment);
    let backend = config.as_ref().and_then(|config| config.backends.first());
    match backend.map(|backend| &backend.kind) {
        Some(BackendKind::Answers(answers)) => Ok(answers.clone()),
        _ => Err(problems.render(false)),
    }
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut verdict = Verdict::Refused;
    for ending in ENDINGS {
        let path = folder.path().join(format!("answers.{ending}"));
        std::fs::write(&path, input).map_err(|error| error.to_string())?;
        let read = AnswersFile::read(&config(&path)?);
        if let Err(error) = &read
            && error.to_string().len() > MAX_ERROR_BYTES
        {
            return Err(format!("an error has {} bytes", error.to_string().len()));
        }
        if let Ok(file) = &read
            && file.answers.len() as u64 != file.unanswered + file.answered().count() as u64
        {
            return Err("an entry counts neither as answered nor as unanswered".to_owned());
        }
        verdict = verdict.or(Verdict::of(&read));
    }
    Ok(verdict)
}
