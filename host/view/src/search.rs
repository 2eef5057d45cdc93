//! Search in the texts of a run with many samples, bounded in time and in the number of samples that it finds.

use crate::refusal::Refusal;
use bytes::Bytes;
use futures::Stream;
use gage_core::parse_json;
use gage_record::format::{MAX_JSON_VALUES, SAMPLES_FILE};
use gage_record::open_run_file;
use memchr::memmem;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};

/// Maximum number of searches at the same time; further ones wait.
const MAX_CONCURRENT_SEARCHES: usize = 2;
/// Time after which a search ends.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(10);
/// Maximum number of samples that a search finds.
const MAX_SEARCH_RESULTS: usize = 50_000;
/// Maximum size of a searched text, in bytes.
const MAX_QUERY_BYTES: usize = 10_000;

/// Maximum length of a line of `samples.jsonl` that is searched, in bytes. A search holds such a line, and its lower case.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Number of bytes that are searched before the time is checked and the results are sent.
const CHECK_BYTES: usize = 1 << 20;
/// Maximum number of pieces of a result that wait for a slow reader.
const MAX_QUEUED_PIECES: usize = 8;

/// Keys of a line whose texts a page does not show among those of a sample.
const UNSEARCHED_KEYS: [&str; 2] = ["task_id", "outcome"];

/// A searched text. Upper and lower case are the same.
#[derive(Clone, Debug)]
pub(crate) struct SearchQuery {
    /// In lower case.
    text: String,
    /// The text as it is within JSON.
    raw: Vec<u8>,
}

impl SearchQuery {
    /// Prepares a text. `None` if it is empty or too long.
    pub(crate) fn new(text: &str) -> Option<SearchQuery> {
        let text = text.to_lowercase();
        if text.is_empty() || text.len() > MAX_QUERY_BYTES {
            return None;
        }
        let quoted = serde_json::to_string(&text).ok()?;
        let raw = quoted.strip_prefix('"')?.strip_suffix('"')?.as_bytes().to_vec();
        Some(SearchQuery { text, raw })
    }

    /// Returns whether a text of a line of `samples.jsonl` holds the searched text. `folded` is memory for the line in lower
    /// case. A line is only parsed if the searched text occurs in it.
    fn is_in(&self, line: &[u8], folded: &mut Vec<u8>) -> bool {
        folded.clear();
        folded.extend_from_slice(line);
        if self.text.is_ascii() {
            folded.make_ascii_lowercase();
        } else {
            *folded = String::from_utf8_lossy(line).to_lowercase().into_bytes();
        }
        if memmem::find(folded, &self.raw).is_none() {
            return false;
        }
        let Ok(Value::Object(members)) = parse_json(line, MAX_JSON_VALUES) else { return false };
        members.iter().any(|(key, value)| !UNSEARCHED_KEYS.contains(&key.as_str()) && self.is_held_by(value))
    }

    /// Returns whether a text of a JSON value holds the searched text. Keys do not count.
    fn is_held_by(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => text.to_lowercase().contains(&self.text),
            Value::Array(items) => items.iter().any(|item| self.is_held_by(item)),
            Value::Object(members) => members.values().any(|member| self.is_held_by(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
struct SearchLimits {
    time: Duration,
    results: usize,
    line_bytes: u64,
}

/// Searches texts of runs, a few runs at a time.
#[derive(Debug)]
pub(crate) struct Searches(Arc<Semaphore>);

impl Default for Searches {
    fn default() -> Searches {
        Searches(Arc::new(Semaphore::new(MAX_CONCURRENT_SEARCHES)))
    }
}

impl Searches {
    /// Searches the samples of a run. Returns the pieces of the result: lines of JSON. A number is the row of a sample in
    /// `samples.jsonl`; an object says how many samples were searched so far, whether that is the end, which limit ended the
    /// search, and how many samples were too long for it. The search ends when the reader disconnects.
    pub(crate) async fn start(
        &self,
        folder: PathBuf,
        query: SearchQuery,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + 'static, Refusal> {
        let turn = Arc::clone(&self.0).acquire_owned().await;
        let turn = turn.map_err(|error| Refusal::Failed(error.to_string()))?;
        let (pieces, received) = mpsc::channel(MAX_QUEUED_PIECES);
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let send = |piece: Vec<u8>| pieces.blocking_send(Ok(Bytes::from(piece))).is_ok();
            let limits = SearchLimits {
                time: MAX_SEARCH_TIME,
                results: MAX_SEARCH_RESULTS,
                line_bytes: MAX_LINE_BYTES,
            };
            if let Err(error) = search_run(&folder, &query, limits, send) {
                let problem = json!({"problem": format!("cannot read {SAMPLES_FILE}: {error}")});
                send(format!("{problem}\n").into_bytes());
            }
        });
        Ok(futures::stream::unfold(received, |mut received| async {
            received.recv().await.map(|piece| (piece, received))
        }))
    }
}

fn search_run(
    folder: &Path,
    query: &SearchQuery,
    limits: SearchLimits,
    send: impl FnMut(Vec<u8>) -> bool,
) -> io::Result<()> {
    let file = open_run_file(folder, SAMPLES_FILE)?;
    search(&mut BufReader::with_capacity(1 << 18, file), query, limits, send)
}

/// Searches lines of `samples.jsonl`, and sends the rows of those that hold the text. Ends early if `send` returns false.
fn search(
    samples: &mut impl BufRead,
    query: &SearchQuery,
    limits: SearchLimits,
    mut send: impl FnMut(Vec<u8>) -> bool,
) -> io::Result<()> {
    let began = Instant::now();
    let (mut line, mut folded, mut piece) = (Vec::<u8>::new(), Vec::new(), Vec::<u8>::new());
    let (mut row, mut found, mut too_long, mut unchecked_bytes) = (0_u64, 0_usize, 0_u64, 0_usize);
    let mut is_cut = false;
    let ended_by = loop {
        if found >= limits.results {
            break Some("results");
        }
        line.clear();
        let length =
            samples.by_ref().take(limits.line_bytes.saturating_add(1)).read_until(b'\n', &mut line)?;
        if length == 0 {
            row += u64::from(is_cut);
            break None;
        }
        let is_long = length as u64 > limits.line_bytes;
        // The rest of a long line is read piece by piece, and is not searched either.
        let is_rest = std::mem::replace(&mut is_cut, is_long && !line.ends_with(b"\n"));
        if !is_rest && is_long {
            too_long += 1;
        } else if !is_rest && query.is_in(&line, &mut folded) {
            found += 1;
            writeln!(piece, "{row}")?;
        }
        row += u64::from(!is_cut);
        unchecked_bytes += line.len();
        if unchecked_bytes < CHECK_BYTES {
            continue;
        }
        unchecked_bytes = 0;
        if began.elapsed() >= limits.time {
            break Some("time");
        }
        writeln!(piece, "{}", json!({"searched": row, "is_end": false}))?;
        if !send(std::mem::take(&mut piece)) {
            return Ok(());
        }
    };
    let end = json!({"searched": row, "is_end": true, "ended_by": ended_by, "too_long": too_long});
    writeln!(piece, "{end}")?;
    send(piece);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SearchLimits =
        SearchLimits { time: MAX_SEARCH_TIME, results: 2, line_bytes: MAX_LINE_BYTES };

    fn found(samples: &str, query: &str, limits: SearchLimits) -> Vec<Value> {
        let query = SearchQuery::new(query).expect("a query");
        let mut text = Vec::new();
        let send = |piece: Vec<u8>| {
            text.extend(piece);
            true
        };
        search(&mut samples.as_bytes(), &query, limits, send).expect("searched");
        let text = String::from_utf8(text).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn end(searched: u64, ended_by: Option<&str>) -> Value {
        json!({"searched": searched, "is_end": true, "ended_by": ended_by, "too_long": 0})
    }

    #[test]
    fn texts_are_found_and_keys_and_names_are_not() {
        let line = |sample_id: &str, answer: &str| {
            let line = json!({"task_id": "river", "sample_id": sample_id, "outcome": "scored",
                "sample": {"river": 1}, "model_output": {"answer": [{"text": answer}]}});
            format!("{line}\n")
        };
        let samples =
            [line("a", "The \"River\"\nÉlan <b>"), line("River", "x"), "no JSON river\n".to_owned()];
        let samples = samples.concat();
        for (query, rows) in [
            ("RIVER", vec![0, 1]),
            ("\"river\"\n", vec![0]),
            ("élan", vec![0]),
            ("<B>", vec![0]),
            ("scored", vec![]),
            ("answer", vec![]),
        ] {
            let mut expected: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
            let is_full = rows.len() == LIMITS.results;
            expected.push(if is_full { end(2, Some("results")) } else { end(3, None) });
            assert_eq!(found(&samples, query, LIMITS), expected, "{query}");
        }
    }

    #[test]
    fn search_ends_when_its_time_is_over() {
        let lines = "{\"sample_id\":\"none\"}\n".repeat(2 * CHECK_BYTES / 20);
        let limits = SearchLimits { time: Duration::ZERO, results: 1, ..LIMITS };
        let ended = found(&lines, "river", limits);
        assert_eq!((ended.len(), &ended[0]["ended_by"]), (1, &json!("time")));
        let whole = found(&lines, "river", LIMITS);
        assert!(whole.len() > 1 && whole[0]["is_end"] == json!(false), "{whole:?}");
    }

    /// Such lines were once held twice.
    #[test]
    fn long_lines_are_counted_and_not_searched() {
        let line = |length: usize| format!("{}\n", json!({"answer": format!("{}river", "x".repeat(length))}));
        let limits = SearchLimits { results: 9, line_bytes: 100, ..LIMITS };
        for (lengths, rows, too_long) in [
            (&[1][..], vec![0], 0),
            (&[1, 500, 2, 250, 3], vec![0, 2, 4], 2),
            // One byte too long, and exactly as long as is allowed.
            (&[82, 81], vec![1], 1),
            (&[900], vec![], 1),
        ] {
            let samples: String = lengths.iter().map(|length| line(*length)).collect();
            for samples in [samples.as_str(), samples.trim_end()] {
                let mut expected: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
                let searched = lengths.len();
                expected.push(
                    json!({"searched": searched, "is_end": true, "ended_by": null, "too_long": too_long}),
                );
                assert_eq!(found(samples, "river", limits), expected, "{lengths:?}");
            }
        }
    }

    #[test]
    fn empty_and_endless_texts_are_not_searched() {
        assert!(SearchQuery::new("").is_none());
        assert!(SearchQuery::new(&"x".repeat(MAX_QUERY_BYTES + 1)).is_none());
    }
}
