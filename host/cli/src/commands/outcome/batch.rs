//! Prints what became of the requests that are answered in bulk.

use crate::commands::next_command::live_command;
use crate::terminal::{self, count_of};
use gage_runner::{BatchReport, RunOutcome, TakenResults};
use serde_json::{Value, json};

/// Maximum number of requests in a file that every provider takes.
const MAX_BATCH_REQUESTS: u64 = 50_000;

/// Maximum length of a file that every provider takes, in bytes.
const MAX_BATCH_BYTES: u64 = 200_000_000;

/// Prints the counts of a batch.
pub(super) fn print(outcome: &RunOutcome) {
    let lines = match &outcome.batch {
        None => return,
        Some(BatchReport::Written { path, requests: 0, .. }) => {
            vec![format!("requests: there are none, so {} was not written", path.display())]
        }
        Some(BatchReport::Written { path, requests, bytes }) => {
            let written = count_of(*requests, "request");
            let mut lines =
                vec![format!("requests: {written} written to {}; nothing was sent", path.display())];
            if *requests > MAX_BATCH_REQUESTS || *bytes > MAX_BATCH_BYTES {
                let (most, megabytes) = (MAX_BATCH_REQUESTS, MAX_BATCH_BYTES / 1_000_000);
                lines.push(format!(
                    "note: some providers take at most {most} requests or {megabytes} MB in a file; split it by lines, \
                     and give each file of results by its own --responses"
                ));
            }
            lines
                .push("have the provider answer the file, then take its results with --responses".to_owned());
            lines
        }
        Some(BatchReport::Taken(taken)) => taken_lines(taken, &outcome.run_id),
    };
    lines.iter().for_each(|line| terminal::eprint_line(gage_core::printable_line(line)));
}

fn taken_lines(results: &TakenResults, run_id: &str) -> Vec<String> {
    let TakenResults { taken, failed, first_failure, changed, first_changed, missing, unused } = results;
    let first =
        |first: &Option<String>| first.as_ref().map(|text| format!(" (first: {text})")).unwrap_or_default();
    let mut lines = vec![format!("responses: {} taken", count_of(*taken, "result"))];
    if *failed > 0 {
        lines.push(format!("warning: {} with an error{}", count_of(*failed, "result"), first(first_failure)));
    }
    if *changed > 0 {
        lines.push(format!(
            "warning: {} of another request than the suite would send now{}; the suite, the prompt or the data has changed",
            count_of(*changed, "result"),
            first(first_changed)
        ));
    }
    if *missing > 0 {
        lines.push(format!("warning: {} without a result", count_of(*missing, "request")));
    }
    if *unused > 0 {
        lines.push(format!("warning: {} of no open request of this run", count_of(*unused, "result")));
    }
    if results.open() > 0 {
        lines.push(format!(
            "incomplete: {} open; ask them live with {}",
            count_of(results.open(), "request"),
            live_command(run_id)
        ));
    }
    lines
}

/// Returns the report of a batch as JSON; null if there is none.
pub(super) fn json_of(report: Option<&BatchReport>) -> Value {
    match report {
        None => Value::Null,
        Some(BatchReport::Written { path, requests, bytes }) => {
            json!({"written": {"file": path.display().to_string(), "requests": requests, "bytes": bytes}})
        }
        Some(BatchReport::Taken(results)) => json!({"taken": {
            "results": results.taken, "failed": results.failed, "changed": results.changed,
            "missing": results.missing, "unused": results.unused,
        }}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_has_its_line_and_open_requests_a_command() {
        let all = TakenResults { taken: 2, ..TakenResults::default() };
        assert_eq!(taken_lines(&all, "r"), ["responses: 2 results taken"]);
        let some = TakenResults {
            taken: 1,
            failed: 1,
            first_failure: Some("t-0-0-ab: status 500".to_owned()),
            changed: 2,
            first_changed: Some("t-1-0-cd".to_owned()),
            missing: 3,
            unused: 4,
        };
        let lines = taken_lines(&some, "r").join("\n");
        for part in [
            "1 result taken",
            "1 result with an error (first: t-0-0-ab: status 500)",
            "2 results of another request than the suite would send now (first: t-1-0-cd)",
            "3 requests without a result",
            "4 results of no open request",
            "6 requests open",
        ] {
            assert!(lines.contains(part), "{part}\n{lines}");
        }
    }
}
