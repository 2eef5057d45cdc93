//! The requests of a batch, to be written to one file in the order of the samples.

use super::custom_id::CustomId;
use super::{BatchError, BatchReport, BatchRequest};
use crate::api::SamplePlace;
use gage_config::HttpKind;
use gage_core::foreign_file::{FileLimit, check_target, create_anew, open_named};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum length of all requests, in bytes. They are kept in memory until the file is written.
const MAX_REQUEST_BYTES: usize = 1 << 30;

/// Number of bytes at the beginning of an existing file that tell whether it holds requests.
const HEAD_BYTES: u64 = 256;

/// Keys after the name of a request, by which a request is not a result.
const KEYS_AFTER_ID: [&str; 2] = [",\"params\":", ",\"method\":"];

/// Ending of the file while it is written.
const UNFINISHED_ENDING: &str = ".part";

/// A sample, in the order of the file: its task, row and repeat.
type Position = (Arc<str>, u64, u64);

/// Collects the requests of a run.
pub(super) struct RequestCollector {
    path: PathBuf,
    /// The file until it is whole.
    unfinished: PathBuf,
    requests: Mutex<Requests>,
}

#[derive(Default)]
struct Requests {
    /// The line of each request.
    lines: BTreeMap<Position, Vec<u8>>,
    bytes: usize,
    is_too_large: bool,
}

impl RequestCollector {
    /// Checks that the file can be written, and creates it under a temporary name. An existing file is replaced only if it
    /// holds requests.
    pub(super) fn open(path: &Path) -> Result<RequestCollector, BatchError> {
        let file_error = |source| BatchError::file(path, source);
        let name = path.file_name().ok_or_else(|| {
            file_error(io::Error::new(ErrorKind::InvalidInput, "it is not the name of a file"))
        })?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        check_target(folder.unwrap_or(Path::new(".")), name).map_err(file_error)?;
        let mut unfinished = OsString::from(name);
        unfinished.push(UNFINISHED_ENDING);
        let unfinished = path.with_file_name(unfinished);
        for replaced in [path, unfinished.as_path()] {
            check_replaceable(replaced).map_err(|source| BatchError::file(replaced, source))?;
        }
        create_anew(&unfinished).map_err(file_error)?;
        Ok(RequestCollector { path: path.to_owned(), unfinished, requests: Mutex::default() })
    }

    /// Adds a request.
    pub(super) fn add(&self, place: &SamplePlace, id: &CustomId, request: &BatchRequest<'_>) {
        let line = line_of(id, request);
        let mut requests = self.requests.lock();
        requests.bytes = requests.bytes.saturating_add(line.len());
        if requests.bytes > MAX_REQUEST_BYTES {
            requests.is_too_large = true;
            requests.lines.clear();
            return;
        }
        requests.lines.insert((Arc::clone(&place.task_id), place.row, place.repeat), line);
    }

    /// Writes the file, unless there is no request.
    pub(super) fn finish(&self) -> Result<BatchReport, BatchError> {
        let requests = std::mem::take(&mut *self.requests.lock());
        let count = requests.lines.len() as u64;
        if requests.is_too_large {
            return Err(BatchError::TooLarge { max_bytes: MAX_REQUEST_BYTES });
        }
        if count > 0 {
            self.write(&requests).map_err(|source| BatchError::file(&self.path, source))?;
        }
        Ok(BatchReport::Written { path: self.path.clone(), requests: count, bytes: requests.bytes as u64 })
    }

    fn write(&self, requests: &Requests) -> io::Result<()> {
        let mut file = BufWriter::new(create_anew(&self.unfinished)?);
        for line in requests.lines.values() {
            file.write_all(line)?;
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        std::fs::rename(&self.unfinished, &self.path)
    }
}

impl Drop for RequestCollector {
    fn drop(&mut self) {
        // It is there only if the file was not written.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

/// Checks that an existing file is empty, or holds requests that an earlier run wrote. Other files are not replaced.
fn check_replaceable(path: &Path) -> io::Result<()> {
    let file = match open_named(path, FileLimit::NONE) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    if head.is_empty() || begins_with_request(&String::from_utf8_lossy(&head)) {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "it exists and holds something else than requests"))
}

/// Returns whether a text begins with a line that [`line_of`] wrote.
fn begins_with_request(text: &str) -> bool {
    let id_and_rest = text.strip_prefix("{\"custom_id\":\"").and_then(|text| text.split_once('"'));
    id_and_rest.is_some_and(|(_, rest)| KEYS_AFTER_ID.iter().any(|key| rest.starts_with(key)))
}

/// Returns the line of a request. Its body is what a server would receive.
fn line_of(id: &CustomId, request: &BatchRequest<'_>) -> Vec<u8> {
    let head = match request.kind {
        HttpKind::Anthropic => format!("{{\"custom_id\":\"{id}\",\"params\":"),
        _ => {
            let path = serde_json::Value::from(request.path);
            format!("{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":{path},\"body\":")
        }
    };
    [head.as_bytes(), request.body, b"}\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    fn request(kind: HttpKind, body: &[u8]) -> BatchRequest<'_> {
        BatchRequest { backend_id: "b", kind, place: None, path: "/v1/chat/completions", body }
    }

    #[test]
    fn requests_are_written_in_the_order_of_the_samples() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests.jsonl");
        let collector = RequestCollector::open(&path).expect("a collector");
        for (row, repeat) in [(2, 0), (0, 1), (0, 0)] {
            let place = SamplePlace { task_id: "t".into(), row, repeat };
            let request = request(HttpKind::OpenAi, br#"{"model":"m"}"#);
            collector.add(&place, &CustomId::new(&place, request.path, request.body), &request);
        }
        let bytes = match collector.finish().expect("written") {
            BatchReport::Written { requests: 3, bytes, .. } => bytes,
            other => panic!("{other:?}"),
        };
        let text = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(text.len() as u64, bytes);
        let samples: Vec<String> = text
            .lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                assert_eq!((&line["method"], &line["url"]), (&"POST".into(), &"/v1/chat/completions".into()));
                assert_eq!(line["body"], serde_json::json!({"model": "m"}));
                CustomId::sample_of(line["custom_id"].as_str().expect("a name")).to_owned()
            })
            .collect();
        assert_eq!(samples, ["t-0-0", "t-0-1", "t-2-0"]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn requests_to_anthropic_have_params() {
        let place = SamplePlace { task_id: "t".into(), row: 0, repeat: 0 };
        let request = request(HttpKind::Anthropic, br#"{"model":"m"}"#);
        let id = CustomId::new(&place, request.path, request.body);
        let line = String::from_utf8(line_of(&id, &request)).expect("UTF-8");
        assert_eq!(line, format!("{{\"custom_id\":\"{id}\",\"params\":{{\"model\":\"m\"}}}}\n"));
    }

    #[test]
    fn limit_of_requests_is_named() {
        let error = BatchError::TooLarge { max_bytes: MAX_REQUEST_BYTES }.recorded("server");
        assert!(error.starts_with("the requests take more than 1024 MiB; write them in parts"), "{error}");
    }

    #[test]
    fn only_files_of_requests_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests.jsonl");
        let unfinished = folder.path().join("requests.jsonl.part");
        let place = SamplePlace { task_id: "t".into(), row: 0, repeat: 0 };
        let id = CustomId::new(&place, "/v1", b"{}");
        let line = |kind| line_of(&id, &request(kind, b"{}"));
        for allowed in [Vec::new(), line(HttpKind::OpenAi), line(HttpKind::Anthropic)] {
            std::fs::write(&path, &allowed).expect("written");
            assert!(RequestCollector::open(&path).is_ok(), "{}", String::from_utf8_lossy(&allowed));
        }
        std::fs::remove_file(&path).expect("removed");
        for kept in [
            &b"{\"question\": \"2 + 2?\"}\n"[..],
            b"{\"custom_id\":\"t-0-0-1\",\"result\":{\"type\":\"expired\"}}\n",
            b"\xff",
        ] {
            for replaced in [&path, &unfinished] {
                std::fs::write(replaced, kept).expect("written");
                let error = RequestCollector::open(&path).err().map(|error| error.to_string());
                let error = error.unwrap_or_default();
                assert!(error.ends_with("it exists and holds something else than requests"), "{error}");
                assert_eq!(std::fs::read(replaced).expect("a file"), kept);
                std::fs::remove_file(replaced).expect("removed");
            }
        }
    }

    #[test]
    fn without_requests_there_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests.jsonl");
        let report = RequestCollector::open(&path).expect("a collector").finish().expect("nothing");
        assert_eq!(report, BatchReport::Written { path, requests: 0, bytes: 0 });
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
        for path in
            [folder.path().join("no/such/folder.jsonl"), folder.path().to_owned(), PathBuf::from("..")]
        {
            assert!(RequestCollector::open(&path).is_err(), "{}", path.display());
        }
    }
}
