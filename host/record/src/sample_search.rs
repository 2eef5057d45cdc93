//! Finds one sample in `samples.jsonl` without reading the rest of the file.

use crate::SampleLine;
use crate::format::{MAX_JSON_VALUES, SAMPLES_FILE};
use crate::run_files::{MAX_LINE_BYTES, open_run_file};
use gage_core::{foreign_file, parse_json};
use serde::Deserialize;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::path::Path;

/// Number of bytes that are read at once. Most lines are shorter.
const BLOCK_BYTES: usize = 8 << 10;

/// The place of a line in the order of the file.
#[derive(Deserialize)]
struct LinePlace<'a> {
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    index: u64,
}

/// Returns the line of a sample in the `samples.jsonl` of a run whose tasks have this order. The lines are sorted by task and
/// index, so the file is searched by bisection. `None` if it has no such line, or a line on the way is damaged.
pub(crate) fn find_sample(
    run: &Path,
    task_order: &[&str],
    task_id: &str,
    index: u64,
) -> io::Result<Option<SampleLine>> {
    let rank = |task_id: &str| task_order.iter().position(|known| *known == task_id);
    let Some(task) = rank(task_id) else { return Ok(None) };
    let file = open_run_file(run, SAMPLES_FILE)?;
    // The line begins in this range, which begins with a line.
    let (mut low, mut high) = (0, file.metadata()?.len());
    let mut lines = BufReader::with_capacity(BLOCK_BYTES, file);
    let mut line = Vec::new();
    while low < high {
        let middle = low + (high - low) / 2;
        let start = seek_line(&mut lines, low, middle, &mut line)?;
        if start >= high {
            high = middle;
            continue;
        }
        line.clear();
        let bytes = foreign_file::read_line(&mut lines, &mut line, MAX_LINE_BYTES)?;
        let Ok(LinePlace { task_id, index: found }) = serde_json::from_slice(&line) else { return Ok(None) };
        let Some(found_task) = rank(&task_id) else { return Ok(None) };
        match (found_task, found).cmp(&(task, index)) {
            Ordering::Less => low = start + bytes as u64,
            Ordering::Greater => high = start,
            Ordering::Equal => return Ok(parse_json(&line, MAX_JSON_VALUES).ok()),
        }
    }
    Ok(None)
}

/// Moves to the first line that begins at `middle` or later, and returns its position. A line begins at `low`.
fn seek_line(lines: &mut BufReader<File>, low: u64, middle: u64, line: &mut Vec<u8>) -> io::Result<u64> {
    if middle == low {
        return lines.seek(SeekFrom::Start(low));
    }
    // If the byte before `middle` ends a line, only that byte is skipped.
    lines.seek(SeekFrom::Start(middle - 1))?;
    line.clear();
    let skipped = foreign_file::read_line(lines, line, MAX_LINE_BYTES)?;
    Ok(middle - 1 + skipped as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    const TASKS: [&str; 2] = ["b", "a"];

    /// Returns a line whose length depends on its index.
    fn line(task_id: &str, index: u64) -> String {
        let row = "x".repeat(usize::try_from(index * index % 97).unwrap() * 300);
        let line = json!({
            "task_id": task_id, "index": index, "sample_id": format!("{task_id}-{index}"),
            "outcome": "invalid_sample", "sample": null, "row": row, "metrics": [],
        });
        format!("{line}\n")
    }

    fn found(run: &Path, task_id: &str, index: u64) -> Option<String> {
        find_sample(run, &TASKS, task_id, index).unwrap().map(|line| line.sample_id)
    }

    #[test]
    fn each_line_is_found_and_no_other() {
        let run = tempfile::tempdir().unwrap();
        for count in [0, 1, 2, 3, 60] {
            // Every third index is missing.
            let indices = || (0..count).filter(|index| index % 3 != 1);
            let lines = TASKS.iter().flat_map(|task_id| indices().map(move |index| line(task_id, index)));
            fs::write(run.path().join(SAMPLES_FILE), lines.collect::<String>()).unwrap();
            for task_id in TASKS {
                for index in 0..count + 2 {
                    let expected =
                        indices().any(|known| known == index).then(|| format!("{task_id}-{index}"));
                    assert_eq!(found(run.path(), task_id, index), expected, "{task_id} {index} of {count}");
                }
            }
            assert_eq!(found(run.path(), "other", 0), None);
        }
    }

    #[test]
    fn damaged_and_absent_files_have_no_sample() {
        let run = tempfile::tempdir().unwrap();
        assert!(find_sample(run.path(), &TASKS, "b", 0).is_err());
        for text in
            ["", "{", "[]\n", "{\"task_id\":\"c\",\"index\":0}\n", "{\"task_id\":\"b\",\"index\":0}\n"]
        {
            fs::write(run.path().join(SAMPLES_FILE), text).unwrap();
            assert_eq!(found(run.path(), "b", 0), None, "{text}");
        }
    }
}
