//! Files of results. Only the position of each result is kept in memory.

use super::custom_id::CustomId;
use super::result_line::{BatchResult, read_head, read_result};
use super::{BatchError, TakenResults};
use gage_core::foreign_file::{self, FileLimit};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Maximum length of the `custom_id` of a result, in bytes. All are kept in memory; those of gage-host have at most 64.
const MAX_ID_BYTES: usize = 256;

/// Maximum number of results in all files.
const MAX_RESULTS: usize = 10_000_000;

/// Maximum length of a message about a failed request.
const MAX_MESSAGE_CHARACTERS: usize = 300;

/// Place of a result.
#[derive(Clone, Copy)]
struct ResultPosition {
    file: usize,
    start: u64,
    line: u64,
}

/// Results of a batch.
pub(super) struct ResponseFiles {
    paths: Vec<Arc<PathBuf>>,
    /// The samples that have a result, whatever their request was.
    samples: HashSet<Box<str>>,
    state: Mutex<TakingState>,
}

struct TakingState {
    /// Places of the results that are not taken yet, by their names.
    places: HashMap<Box<str>, ResultPosition>,
    report: TakenResults,
}

impl ResponseFiles {
    /// Reads the names of all results.
    pub(super) fn open(paths: &[PathBuf]) -> Result<ResponseFiles, BatchError> {
        let mut places = HashMap::new();
        for (file, path) in paths.iter().enumerate() {
            add_places(file, paths, path, &mut places)?;
        }
        let samples = places.keys().map(|id| CustomId::sample_of(id).into()).collect();
        let state = Mutex::new(TakingState { places, report: TakenResults::default() });
        Ok(ResponseFiles { paths: paths.iter().cloned().map(Arc::new).collect(), samples, state })
    }

    /// Returns the result of a request. If there is none, the request is counted as changed or missing.
    pub(super) async fn find(&self, id: &CustomId) -> Option<BatchResult> {
        let name = id.to_string();
        let place = {
            let mut state = self.state.lock();
            let place = state.places.remove(name.as_str());
            if place.is_none() && self.samples.contains(id.sample()) {
                state.report.changed += 1;
                state.report.first_changed.get_or_insert_with(|| name.clone());
            } else if place.is_none() {
                state.report.missing += 1;
            }
            place
        };
        let place = place?;
        let path = Arc::clone(self.paths.get(place.file)?);
        let wanted = name.clone();
        let read = tokio::task::spawn_blocking(move || read_at(&path, place, &wanted)).await;
        let read = read.unwrap_or_else(|error| Err(error.to_string()));
        Some(read.unwrap_or_else(BatchResult::Failed))
    }

    pub(super) fn note_taken(&self) {
        self.state.lock().report.taken += 1;
    }

    pub(super) fn note_failed(&self, id: &str, message: &str) {
        let mut state = self.state.lock();
        state.report.failed += 1;
        let shown = || format!("{id}: {}", gage_core::shortened(message, MAX_MESSAGE_CHARACTERS));
        state.report.first_failure.get_or_insert_with(shown);
    }

    /// Returns the counts. A result of a changed request is not unused.
    pub(super) fn report(&self) -> TakenResults {
        let state = self.state.lock();
        let unused = (state.places.len() as u64).saturating_sub(state.report.changed);
        TakenResults { unused, ..state.report.clone() }
    }
}

/// Adds the places of the results of a file.
fn add_places(
    file: usize,
    paths: &[PathBuf],
    path: &Path,
    places: &mut HashMap<Box<str>, ResultPosition>,
) -> Result<(), BatchError> {
    let file_error = |source| BatchError::file(path, source);
    let opened = foreign_file::open_named(path, FileLimit::NONE).map_err(file_error)?;
    let mut reader = BufReader::new(opened);
    let (mut start, mut number, mut line) = (0_u64, 0_u64, Vec::new());
    loop {
        line.clear();
        number += 1;
        let length = foreign_file::read_line(&mut reader, &mut line, MAX_LINE_BYTES).map_err(file_error)?;
        if length == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            let line_error =
                |message| BatchError::Line { path: path.display().to_string(), line: number, message };
            let id = read_head(&line).map_err(line_error)?;
            if id.len() > MAX_ID_BYTES {
                return Err(line_error(format!("its `custom_id` has more than {MAX_ID_BYTES} bytes")));
            }
            let place = ResultPosition { file, start, line: number };
            if let Some(earlier) = places.insert(id.clone().into_boxed_str(), place) {
                let id = gage_core::shown_name(&id);
                let other =
                    paths.get(earlier.file).map(|path| path.display().to_string()).unwrap_or_default();
                let message =
                    format!("the second result of `{id}`; the first is in {other}, line {}", earlier.line);
                return Err(line_error(message));
            }
            if places.len() > MAX_RESULTS {
                return Err(line_error(format!("there are more than {MAX_RESULTS} results")));
            }
        }
        start += length as u64;
    }
}

/// Reads the result at a place. Blocks.
fn read_at(path: &Path, place: ResultPosition, wanted: &str) -> Result<BatchResult, String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = foreign_file::open_named(path, FileLimit::NONE)?;
        file.seek(SeekFrom::Start(place.start))?;
        let mut line = Vec::new();
        foreign_file::read_line(&mut BufReader::new(file), &mut line, MAX_LINE_BYTES)?;
        Ok(line)
    };
    let line =
        read().map_err(|error| format!("{}: {}", path.display(), gage_core::system_message(&error)))?;
    read_result(&line, wanted)
        .map_err(|message| format!("{}, line {}: {message}", path.display(), place.line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::SamplePlace;

    fn open(contents: &[&[u8]]) -> Result<(tempfile::TempDir, ResponseFiles), BatchError> {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<PathBuf> = contents
            .iter()
            .enumerate()
            .map(|(number, content)| {
                let path = folder.path().join(format!("{number}.jsonl"));
                std::fs::write(&path, content).expect("written");
                path
            })
            .collect();
        ResponseFiles::open(&paths).map(|files| (folder, files))
    }

    fn id(row: u64) -> CustomId {
        CustomId::new(&SamplePlace { task_id: "t".into(), row, repeat: 0 }, "/v1", b"{}")
    }

    #[tokio::test]
    async fn results_are_found_and_the_rest_is_counted() {
        let result = |id: &str| {
            format!(
                r#"{{"custom_id": "{id}", "response": {{"status_code": 200, "body": {{"x": 1}}}}, "error": null}}"#
            )
        };
        let first = format!("{}\n\n{}\n", result(&id(0).to_string()), result("t-1-0-0000000000000000"));
        let second = result("other-7-0-0000000000000000");
        let (_folder, files) = open(&[first.as_bytes(), second.as_bytes()]).expect("results");
        let found = files.find(&id(0)).await;
        assert!(matches!(found, Some(BatchResult::Reply { status: 200, .. })));
        files.note_taken();
        for row in [1, 2] {
            assert!(files.find(&id(row)).await.is_none(), "{row}");
        }
        files.note_failed("t-5-0", "status 500");
        let report = files.report();
        assert_eq!(report.first_changed, Some(id(1).to_string()));
        assert_eq!(report.first_failure.as_deref(), Some("t-5-0: status 500"));
        let TakenResults { taken, failed, changed, missing, unused, .. } = report;
        assert_eq!((taken, failed, changed, missing, unused), (1, 1, 1, 1, 1));
    }

    #[test]
    fn hostile_files_are_refused_with_the_line() {
        let twice = br#"{"custom_id": "a-1", "error": {"message": "no"}}"#;
        let twice = [&twice[..], b"\n", twice].concat();
        let long = format!("{{\"custom_id\": \"{}\", \"error\": {{}}}}", "x".repeat(MAX_ID_BYTES + 1));
        let wide = format!("{{\"custom_id\": \"a\", \"error\": [{}0]}}", "0,".repeat(2_000_000));
        for (content, part) in [
            (&b"not json\n"[..], "line 1: it is not the JSON"),
            (b"\n\n[]", "line 3: it is not the JSON"),
            (b"{\"custom_id\": 7, \"error\": {}}", "line 1: it is not the JSON"),
            (b"{\"error\": {}}", "custom_id"),
            (b"{\"custom_id\": \"\xff\", \"error\": {}}", "line 1: it is not the JSON"),
            (b"{\"custom_id\": \"a\", \"params\": {}}", "it is a request"),
            (b"{\"custom_id\": \"a\", \"body\": {}}", "it is a request"),
            (
                b"{\"custom_id\": \"a\", \"response\": null, \"error\": null}",
                "neither `response`, `error` nor `result`",
            ),
            (&twice, "the second result of `a-1`; the first is in"),
            (long.as_bytes(), "line 1: its `custom_id` has more than 256 bytes"),
            (wide.as_bytes(), "JSON values"),
        ] {
            let error = open(&[content]).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{part}"));
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn long_lines_and_folders_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("long.jsonl");
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(MAX_LINE_BYTES + 2).expect("a hole");
        let long = ResponseFiles::open(&[path]).err().map(|error| error.to_string());
        assert!(long.is_some_and(|error| error.contains("a line with more than 64 MiB")));
        let refused = ResponseFiles::open(&[folder.path().to_owned()]).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|error| error.contains("a folder")));
    }
}
