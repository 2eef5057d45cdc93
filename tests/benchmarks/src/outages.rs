//! Outages and rate limits of a server, and the samples that a run loses by them.

use crate::lab::Lab;
use crate::outage_server::{OutageFault, OutageServer};
use crate::rate_limit_server::{RateLimit, RateLimitServer};
use crate::suite_run::SuiteRun;
use crate::table::{Table, whole};
use anyhow::{Context as _, bail, ensure};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Requests in flight.
const IN_FLIGHT: usize = 64;
/// Samples of a run with an outage.
const OUTAGE_SAMPLES: usize = 4_000;
/// Answers before an outage.
const ANSWERS_BEFORE: usize = OUTAGE_SAMPLES / 4;
/// Interval at which the number of answers is checked before an outage.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// Default `outage_limit` of the program. It ends a run after a longer outage, and the run is resumed.
const OUTAGE_LIMIT_SECONDS: u64 = 60;
const FAULTS: [OutageFault; 5] = [
    OutageFault::Refused,
    OutageFault::Status(500),
    OutageFault::Status(502),
    OutageFault::Status(503),
    OutageFault::Status(504),
];
/// Faults of outages that last too long.
const LONG_FAULTS: [OutageFault; 2] = [OutageFault::Refused, OutageFault::Status(503)];
/// Runs with outages at the same time, beside those with rate limits. Both mostly wait.
const OUTAGES_AT_ONCE: usize = 4;
/// Runs with rate limits at the same time.
const RATE_LIMITS_AT_ONCE: usize = 2;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let (outages, limits) = (outage_cases(lab.is_quick), rate_limit_cases(lab.is_quick));
    let mut of_limits = Ok(Vec::new());
    let of_outages = std::thread::scope(|scope| {
        scope.spawn(|| of_limits = in_parallel(&limits, RATE_LIMITS_AT_ONCE, |case| case.measure(lab)));
        in_parallel(&outages, OUTAGES_AT_ONCE, |case| case.measure(lab))
    });
    let (of_outages, of_limits) = (of_outages?, of_limits?);
    let failures = [print_outages(&outages, &of_outages), print_rate_limits(&limits, &of_limits)].concat();
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    Ok(())
}

/// Calls a function for each case, from the last to the first, up to `at_once` at the same time. Returns the results in
/// the order of the cases.
fn in_parallel<C: Sync, F: Send + Sync>(
    cases: &[C],
    at_once: usize,
    measure: impl Fn(&C) -> anyhow::Result<F> + Sync,
) -> anyhow::Result<Vec<F>> {
    let results: Vec<OnceLock<anyhow::Result<F>>> = cases.iter().map(|_| OnceLock::new()).collect();
    let begun = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                let next = || cases.iter().zip(&results).rev().nth(begun.fetch_add(1, Ordering::Relaxed));
                while let Some((case, result)) = next() {
                    // Each case has one thread, so the result is not yet set.
                    let _ = result.set(measure(case));
                }
            });
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// A run whose server goes away and comes back.
struct OutageCase {
    fault: OutageFault,
    seconds: u64,
}

impl fmt::Display for OutageCase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} for {} s", self.fault, self.seconds)
    }
}

struct OutageFigures {
    lost: usize,
    requests: usize,
    /// Time from the server's return to the next request; `None` if none came.
    return_delay: Option<Duration>,
    /// Exit code of the run, and of the resumed run if the outage lasted too long.
    exit_codes: Vec<i32>,
}

/// Returns the outages, from short to long.
fn outage_cases(is_quick: bool) -> Vec<OutageCase> {
    let lengths: &[u64] = if is_quick { &[5] } else { &[5, 30, 55] };
    let case = |fault, seconds| OutageCase { fault, seconds };
    let mut cases: Vec<OutageCase> =
        lengths.iter().flat_map(|seconds| FAULTS.map(|fault| case(fault, *seconds))).collect();
    if !is_quick {
        cases.extend(LONG_FAULTS.map(|fault| case(fault, 70)));
    }
    cases
}

impl OutageCase {
    fn is_too_long(&self) -> bool {
        self.seconds > OUTAGE_LIMIT_SECONDS
    }

    fn expected_exit_codes(&self) -> &'static [i32] {
        if self.is_too_long() { &[5, 0] } else { &[0] }
    }

    fn measure(&self, lab: &Lab) -> anyhow::Result<OutageFigures> {
        self.figures(lab).with_context(|| self.to_string())
    }

    fn figures(&self, lab: &Lab) -> anyhow::Result<OutageFigures> {
        let mut server = OutageServer::start()?;
        let suite = SuiteRun::new(lab, OUTAGE_SAMPLES, IN_FLIGHT, &server.url())?;
        let mut run = suite.start(&[])?;
        while server.answered() < ANSWERS_BEFORE {
            if run.has_ended()? {
                bail!("the run ended before the outage: {}", run.wait()?.messages);
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        server.go_away(self.fault);
        std::thread::sleep(Duration::from_secs(self.seconds));
        server.come_back()?;
        let mut end = run.wait()?;
        let mut exit_codes = vec![end.exit_code];
        if self.is_too_long() {
            end = suite.start(&["--resume"])?.wait()?;
            exit_codes.push(end.exit_code);
        }
        Ok(OutageFigures {
            lost: suite.lost(OUTAGE_SAMPLES, &end)?,
            requests: server.requests(),
            return_delay: server.return_delay(),
            exit_codes,
        })
    }
}

/// Prints the table. Returns what is not as it should be.
fn print_outages(cases: &[OutageCase], figures: &[OutageFigures]) -> Vec<String> {
    let mut table =
        Table::new(["fault", "outage", "samples", "lost", "requests", "first request after", "exit code"]);
    let mut failures = Vec::new();
    for (case, figures) in cases.iter().zip(figures) {
        let exit_codes: Vec<String> = figures.exit_codes.iter().map(i32::to_string).collect();
        let exit_codes = exit_codes.join(", ");
        let return_delay = match figures.return_delay {
            // The run had ended, and the resumed run was started then.
            _ if case.is_too_long() => String::new(),
            Some(delay) => format!("{:.1} s", delay.as_secs_f64()),
            None => "never".to_owned(),
        };
        if figures.lost > 0 {
            failures.push(format!("{case}: {} samples lost", figures.lost));
        }
        if figures.exit_codes != case.expected_exit_codes() {
            failures.push(format!("{case}: exit code {exit_codes}"));
        }
        table.row([
            case.fault.to_string(),
            format!("{} s", case.seconds),
            whole(OUTAGE_SAMPLES as f64),
            whole(figures.lost as f64),
            whole(figures.requests as f64),
            return_delay,
            exit_codes,
        ]);
    }
    table.print("Outages");
    println!(
        "A server that answers after 10 ms, {IN_FLIGHT} in flight. After {ANSWERS_BEFORE} answers it closes its port and all \
         connections, or gives every request this status at once. Then it answers again. Lost: not scored at the end. Requests: \
         all that reached the server. First request after: from the return of the server on. After more than \
         {OUTAGE_LIMIT_SECONDS} s the run ends with exit code 5, and is resumed when the server is back.\n"
    );
    failures
}

/// A run whose server has a rate limit.
struct RateLimitCase {
    limit: RateLimit,
    samples: usize,
}

impl fmt::Display for RateLimitCase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} per {} s", self.limit.requests, self.limit.window.as_secs())
    }
}

struct RateLimitFigures {
    lost: usize,
    requests: usize,
    exit_code: i32,
    lasted: Duration,
    /// `None` if there are too few answers.
    tail_ratio: Option<f64>,
}

/// Returns the rate limits, from short runs to long ones.
fn rate_limit_cases(is_quick: bool) -> Vec<RateLimitCase> {
    let case = |requests, seconds, samples| RateLimitCase {
        limit: RateLimit { requests, window: Duration::from_secs(seconds) },
        samples,
    };
    let mut cases = vec![case(50, 1, 1_000), case(5, 1, 100)];
    if !is_quick {
        cases.extend([case(200, 10, 900), case(500, 60, 1_500)]);
    }
    cases
}

impl RateLimitCase {
    /// Returns the shortest time in which the server can answer all samples, without the latency of the last answer.
    fn ideal_seconds(&self) -> f64 {
        let full_windows = self.samples.div_ceil(self.limit.requests).saturating_sub(1);
        full_windows as f64 * self.limit.window.as_secs_f64()
    }

    fn measure(&self, lab: &Lab) -> anyhow::Result<RateLimitFigures> {
        self.figures(lab).with_context(|| self.to_string())
    }

    fn figures(&self, lab: &Lab) -> anyhow::Result<RateLimitFigures> {
        let server = RateLimitServer::start(self.limit)?;
        let suite = SuiteRun::new(lab, self.samples, IN_FLIGHT, &server.url())?;
        let end = suite.start(&[])?.wait()?;
        Ok(RateLimitFigures {
            lost: suite.lost(self.samples, &end)?,
            requests: server.requests(),
            exit_code: end.exit_code,
            lasted: server.lasted(),
            tail_ratio: tail_ratio(&server.answers()),
        })
    }
}

/// Returns the time of the last 5 % of answers, divided by 5/95 of the time of the others; `None` if there are too few.
fn tail_ratio(answers: &[Instant]) -> Option<f64> {
    let last_of_others = (answers.len() * 95 / 100).checked_sub(1)?;
    let (first, middle, last) = (answers.first()?, answers.get(last_of_others)?, answers.last()?);
    let (others, tail) = (middle.saturating_duration_since(*first), last.saturating_duration_since(*middle));
    (!others.is_zero()).then(|| tail.as_secs_f64() / (others.as_secs_f64() * 5.0 / 95.0))
}

/// Prints the table. Returns what is not as it should be.
fn print_rate_limits(cases: &[RateLimitCase], figures: &[RateLimitFigures]) -> Vec<String> {
    let mut table = Table::new(["rate limit", "samples", "lost", "requests", "time", "ideal", "tail ratio"]);
    let mut failures = Vec::new();
    for (case, figures) in cases.iter().zip(figures) {
        if figures.lost > 0 {
            failures.push(format!("{case}: {} samples lost", figures.lost));
        }
        if figures.exit_code != 0 {
            failures.push(format!("{case}: exit code {}", figures.exit_code));
        }
        table.row([
            case.to_string(),
            whole(case.samples as f64),
            whole(figures.lost as f64),
            whole(figures.requests as f64),
            format!("{:.1} s", figures.lasted.as_secs_f64()),
            format!("{:.1} s", case.ideal_seconds()),
            figures.tail_ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.print("Rate limits");
    println!(
        "A server that answers up to this number of requests in each window of time after 10 ms; {IN_FLIGHT} in flight. The others \
         get 429 without a time to wait. Lost: not scored at the end. Time: from the first request to the last answer, as the server \
         saw it. Ideal: a client that fills each window at once. Tail ratio: the time of the last 5 % of answers, divided by 5/95 \
         of the time of the others.\n"
    );
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_ratio_is_one_for_even_answers() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let even: Vec<Instant> = (0..100).map(at).collect();
        let ratio = tail_ratio(&even).expect("enough answers");
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        // The last five take ten seconds.
        let late: Vec<Instant> = (0..95).chain([96, 98, 100, 102, 104]).map(at).collect();
        let ratio = tail_ratio(&late).expect("enough answers");
        assert!((ratio - 2.0).abs() < 0.04, "{ratio}");
        assert_eq!(tail_ratio(&[start]), None);
    }
}
