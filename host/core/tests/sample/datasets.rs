//! The small datasets of the repository: their standard rows are valid Samples, and their media exist.

use crate::schema::violations;
use gage_core::{ContentPart, Sample, TaskType};
use serde_json::Value;
use std::path::{Path, PathBuf};

const TASK_TYPES: [&str; 13] = [
    "multiple-choice",
    "short-answer",
    "dialogue",
    "audio-translation",
    "image-qa",
    "video-qa",
    "doc-qa",
    "text-to-image",
    "image-to-image",
    "text-to-audio",
    "text-to-video",
    "code-generation",
    "agent",
];

fn folder(task_type: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/datasets").join(task_type)
}

/// The rows of a JSONL file or a JSON array. Rows of a CSV file are not Samples.
fn rows(task_type: &str) -> Vec<Value> {
    let read = |name: &str| std::fs::read_to_string(folder(task_type).join(name)).ok();
    if let Some(text) = read("samples.json") {
        return serde_json::from_str(&text).expect("a JSON array");
    }
    if let Some(text) = read("samples.jsonl") {
        return text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect();
    }
    assert!(read("samples.csv").is_some(), "{task_type} has no rows");
    Vec::new()
}

fn urls(sample: &Sample) -> Vec<String> {
    let said = sample.messages.iter().flat_map(|message| &message.content);
    let wanted = sample.references.iter().flat_map(|reference| &reference.answer);
    said.chain(wanted)
        .filter_map(|part| match part {
            ContentPart::Media { url, .. } => Some(url.clone()),
            ContentPart::Text { .. } => None,
        })
        .collect()
}

#[test]
fn standard_rows_are_samples_and_their_media_are_there() {
    let mut read = 0;
    for task_type in TASK_TYPES {
        for row in rows(task_type).into_iter().filter(|row| row.get("schema_version").is_some()) {
            assert_eq!(violations(&row), Vec::<String>::new(), "{row}");
            let sample = Sample::from_value(row.clone()).expect("a Sample");
            assert_eq!(sample.task_type, Some(TaskType::from_name(task_type)));
            for url in urls(&sample) {
                let media = std::fs::metadata(folder(task_type).join(&url)).expect(&url);
                assert!(media.len() < 4096, "{url}");
            }
            read += 1;
        }
    }
    assert_eq!(read, 40);
}
