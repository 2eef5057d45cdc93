//! Eight processes that share a server with a limit, and one process that has it alone.

use crate::lab::Lab;
use crate::limited_server::{LimitedServer, LimitedService, ProcessLog, ServerLimit};
use crate::process::BackgroundRun;
use crate::suite_run::SuiteRun;
use crate::table::{Table, percent, whole};
use anyhow::{Context as _, ensure};
use std::time::{Duration, Instant};

/// Processes that share a server.
const PROCESSES: usize = 8;
/// Requests in flight of each process.
const IN_FLIGHT: usize = 64;
/// Time in which the server could answer all samples.
const RUN_SECONDS: usize = 36;
/// The same in quick mode.
const QUICK_RUN_SECONDS: usize = 12;
/// Time at the beginning in which answers are not counted: the limits of the processes are not yet found.
const WARM_UP: Duration = Duration::from_secs(4);

/// Servers with a limit per second, with a limit of requests at once, and with a queue.
const SERVICES: [LimitedService; 7] = [
    LimitedService { limit: ServerLimit::Rate(200), status: 429, has_retry_after: false },
    LimitedService { limit: ServerLimit::Rate(200), status: 429, has_retry_after: true },
    LimitedService { limit: ServerLimit::Slots(20), status: 429, has_retry_after: false },
    LimitedService { limit: ServerLimit::Slots(20), status: 503, has_retry_after: false },
    LimitedService { limit: ServerLimit::Slots(20), status: 503, has_retry_after: true },
    LimitedService { limit: ServerLimit::Slots(4), status: 503, has_retry_after: false },
    LimitedService { limit: ServerLimit::Queue(20), status: 429, has_retry_after: false },
];

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let seconds = lab.either(RUN_SECONDS, QUICK_RUN_SECONDS);
    let mut table = Table::new([
        "server",
        "processes",
        "of the limit",
        "least share",
        "greatest share",
        "Jain's index",
        "retries per answer",
        "failed",
        "share of each",
    ]);
    let mut failures = Vec::new();
    for service in SERVICES {
        for processes in [1, PROCESSES] {
            let figures = SharedRun { service, processes, seconds }.measure(lab)?;
            if figures.failed > 0 {
                failures.push(format!("{service}, {processes} processes: {} samples failed", figures.failed));
            }
            figures.print(&mut table, service, processes);
        }
    }
    table.print("Shared server");
    println!(
        "Processes with {IN_FLIGHT} in flight each, started together, on a server that answers after 50 ms and refuses requests above \
         its limit. One process has as many samples as {PROCESSES} together. Of the limit: answers until the first process has ended, \
         of those that the limit allows. Shares: answers of a process in the time when all run, 1 if all have the same number. The first \
         {} seconds are not counted.\n",
        WARM_UP.as_secs()
    );
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

/// Processes on one server.
struct SharedRun {
    service: LimitedService,
    processes: usize,
    /// Time in which the server could answer all samples.
    seconds: usize,
}

impl SharedRun {
    fn measure(&self, lab: &Lab) -> anyhow::Result<SharedFigures> {
        self.figures(lab).with_context(|| self.service.to_string())
    }

    fn figures(&self, lab: &Lab) -> anyhow::Result<SharedFigures> {
        let server = LimitedServer::start(self.service, self.processes)?;
        let samples = self.service.limit.answers_per_second() * self.seconds / self.processes;
        let suites = (0..self.processes)
            .map(|process| SuiteRun::new(lab, samples, IN_FLIGHT, &server.url(process)))
            .collect::<anyhow::Result<Vec<SuiteRun>>>()?;
        // All are started before the first one is awaited.
        let runs =
            suites.iter().map(|suite| suite.start(&[])).collect::<anyhow::Result<Vec<BackgroundRun>>>()?;
        let (mut failed, mut retries) = (0, 0);
        for (suite, run) in suites.iter().zip(runs) {
            let end = run.wait()?;
            failed += suite.lost(samples, &end)?;
            retries += suite.retries(&end)?;
        }
        let answers = (samples * self.processes) as f64;
        let common = common_time(&server.processes(), WARM_UP)
            .context("no time in which all processes were running")?;
        Ok(SharedFigures { failed, retries_per_answer: retries as f64 / answers, common })
    }
}

/// Figures of the processes on one server.
struct SharedFigures {
    failed: usize,
    retries_per_answer: f64,
    common: CommonTime,
}

impl SharedFigures {
    fn print(&self, table: &mut Table, service: LimitedService, processes: usize) {
        let shares = self.common.shares();
        let rate = self.common.answers.iter().sum::<f64>() / self.common.time.as_secs_f64();
        let ratio = |share: f64| format!("{share:.2}");
        table.row([
            service.to_string(),
            whole(processes as f64),
            percent(rate / service.limit.answers_per_second() as f64),
            ratio(shares.iter().copied().fold(f64::INFINITY, f64::min)),
            ratio(shares.iter().copied().fold(0.0, f64::max)),
            ratio(jain_index(&self.common.answers)),
            ratio(self.retries_per_answer),
            whole(self.failed as f64),
            shares.iter().copied().map(ratio).collect::<Vec<_>>().join(" "),
        ]);
    }
}

/// The time in which all processes were running.
#[derive(Debug, PartialEq)]
struct CommonTime {
    time: Duration,
    /// Number of answers of each process in this time.
    answers: Vec<f64>,
}

impl CommonTime {
    /// Returns the answers of each process as a ratio to the mean.
    fn shares(&self) -> Vec<f64> {
        let mean = self.answers.iter().sum::<f64>() / self.answers.len() as f64;
        self.answers.iter().map(|answers| answers / mean).collect()
    }
}

/// Returns the time from a while after the last first request of a process to the first last answer of one, and the answers
/// in it; `None` if there is no such time.
fn common_time(processes: &[ProcessLog], warm_up: Duration) -> Option<CommonTime> {
    let begin = processes.iter().map(|process| process.began).collect::<Option<Vec<Instant>>>()?;
    let begin = begin.into_iter().max()? + warm_up;
    let ends = processes.iter().map(|process| process.answers.iter().max().copied());
    let end = ends.collect::<Option<Vec<Instant>>>()?.into_iter().min()?;
    let within = |process: &ProcessLog| {
        process.answers.iter().filter(|answer| (begin..=end).contains(*answer)).count() as f64
    };
    let time = end.checked_duration_since(begin).filter(|time| !time.is_zero())?;
    Some(CommonTime { time, answers: processes.iter().map(within).collect() })
}

/// Returns Jain's index of fairness: 1 if all values are equal, and one divided by their number if only one is not 0.
fn jain_index(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_one_for_equal_shares_only() {
        let cases: [(&[f64], f64); 4] = [
            (&[5.0, 5.0, 5.0, 5.0], 1.0),
            (&[8.0, 0.0, 0.0, 0.0], 0.25),
            (&[3.0, 3.0, 0.0, 0.0], 0.5),
            (&[7.0], 1.0),
        ];
        for (values, expected) in cases {
            assert!((jain_index(values) - expected).abs() < 1e-9, "{values:?}");
        }
    }

    #[test]
    fn answers_count_only_while_all_processes_run() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let process = |began, answers: &[u64]| ProcessLog {
            began: Some(at(began)),
            answers: answers.iter().copied().map(at).collect(),
        };
        let processes = [process(0, &[1, 2, 3, 4, 5]), process(2, &[4, 9])];
        for (warm_up, expected) in [
            (0, Some(CommonTime { time: Duration::from_secs(3), answers: vec![4.0, 1.0] })),
            (1, Some(CommonTime { time: Duration::from_secs(2), answers: vec![3.0, 1.0] })),
            (3, None),
        ] {
            assert_eq!(common_time(&processes, Duration::from_secs(warm_up)), expected, "{warm_up} s");
        }
        assert_eq!(common_time(&[process(0, &[1]), process(2, &[4])], Duration::ZERO), None);
        assert_eq!(common_time(&[ProcessLog::default()], Duration::ZERO), None);
    }
}
