//! A server that fails in every way at once.

use crate::lab::{Lab, Suite};
use crate::process::Terminal;
use crate::server::TimedServer;
use crate::table::{Table, percent, whole};
use gage_load_server::{Answer, FaultInjector, FaultShares};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const IN_FLIGHT: usize = 256;
/// Latency of an answer.
const LATENCY: Duration = Duration::from_millis(100);
/// Timeout for a hanging request, in seconds.
const TIMEOUT_SECONDS: f64 = 2.0;

/// Requests by the server's reaction.
#[derive(Default)]
struct Kinds {
    answered: AtomicU64,
    hung: AtomicU64,
    others: AtomicU64,
    /// Time when every sample had arrived once, and the number of answers until then. After that, only retried samples
    /// are left to fill slots.
    all_begun: OnceLock<(Instant, u64)>,
}

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let rows = lab.either(200_000, 15_000);
    let kinds: Arc<Kinds> = Arc::default();
    let faults = FaultInjector::new(FaultShares::DEFAULT, 7, 100);
    let server = TimedServer::start(LATENCY, {
        let kinds = Arc::clone(&kinds);
        move |request| {
            let fault = faults.fault(request);
            let kind = match &fault {
                None => &kinds.answered,
                Some(Answer::Hang) => &kinds.hung,
                Some(_) => &kinds.others,
            };
            kind.fetch_add(1, Ordering::Relaxed);
            if kinds.all_begun.get().is_none() && faults.distinct_requests() == rows {
                let _ = kinds.all_begun.set((Instant::now(), kinds.answered.load(Ordering::Relaxed)));
            }
            fault
        }
    })?;
    let finished = lab.run(&Suite {
        rows,
        url: &server.url(),
        in_flight: IN_FLIGHT,
        keys: &format!(", timeout: {TIMEOUT_SECONDS}, max_retries: 16, retry_base: 0.02"),
        arguments: &[],
        terminal: Terminal::Live,
        is_watched: false,
        output: None,
    })?;
    let arrivals = server.arrivals();
    let number = |kind: &AtomicU64| kind.load(Ordering::Relaxed) as f64;
    let (answered, hung, others) = (number(&kinds.answered), number(&kinds.hung), number(&kinds.others));
    // A slot is free again when its request was answered or has timed out.
    let busy = answered * LATENCY.as_secs_f64() + hung * TIMEOUT_SECONDS;
    let allowed = answered * IN_FLIGHT as f64 / busy;
    let goodput = answered / arrivals.lasted().as_secs_f64();
    let (Some(first), Some((all_begun, answered_by_then))) = (arrivals.first(), kinds.all_begun.get()) else {
        anyhow::bail!("not every sample was asked about");
    };
    let steady = *answered_by_then as f64 / (*all_begun - first).as_secs_f64();
    let mut table = Table::new(["what", "figure"]);
    table.row(["samples".to_owned(), whole(rows as f64)]);
    table.row([
        "lines of samples.jsonl, different ids".to_owned(),
        format!("{}, {}", finished.samples, finished.ids),
    ]);
    for (outcome, count) in finished.summary["samples"]["outcomes"].as_object().into_iter().flatten() {
        if count != 0 {
            table.row([format!("ended as {outcome}"), count.to_string()]);
        }
    }
    table.row([
        "requests: answered, left hanging, failed otherwise".to_owned(),
        format!("{}, {}, {}", whole(answered), whole(hung), whole(others)),
    ]);
    table.row(["answers a second that the slots allow".to_owned(), whole(allowed)]);
    for (what, rate) in [("until the last sample is begun", steady), ("until the last answer", goodput)] {
        table.row([format!("answers a second {what}"), whole(rate)]);
        table.row(["of what is allowed".to_owned(), percent(rate / allowed)]);
    }
    table.print("Fault storm");
    println!(
        "Of a hundred requests 20 are refused (429, wait 100 ms), 5 fail (500), 2 are reset, 1 gets garbage, 1 hangs until the \
         client gives up after {TIMEOUT_SECONDS} s; the others are answered after {} ms. {IN_FLIGHT} in flight. What the slots \
         allow: every slot busy all the time, with answers and with requests that hang. When the last sample is begun, some are \
         left that were refused or hang, and nothing else to fill the slots with.\n",
        LATENCY.as_millis()
    );
    Ok(())
}
