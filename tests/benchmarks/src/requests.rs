//! Requests per second, compared with a loop that only sends the same bodies.

use crate::bare;
use crate::lab::{Lab, Suite};
use crate::process::Terminal;
use crate::server::{Arrivals, TimedServer};
use crate::table::{Table, median, percent, whole};
use std::time::Duration;

/// A server, and the load on it.
struct Case {
    latency: Duration,
    in_flight: usize,
    rows: usize,
    rounds: usize,
}

/// Measurements of one side.
#[derive(Default)]
struct Side {
    rates: Vec<f64>,
    occupancies: Vec<f64>,
    /// Occupancies from the time when all slots were first busy.
    occupancies_then: Vec<f64>,
    full_after: Vec<f64>,
    /// Microseconds per request.
    processor: Vec<f64>,
}

impl Side {
    fn add(&mut self, arrivals: &Arrivals, in_flight: usize, processor: Duration) {
        self.processor.push(processor.as_secs_f64() * 1e6 / arrivals.count().max(1) as f64);
        self.rates.push(arrivals.rate());
        self.occupancies.push(arrivals.occupancy(in_flight, Duration::ZERO));
        let full = arrivals.full_after(in_flight);
        self.occupancies_then.push(full.map_or(f64::NAN, |full| arrivals.occupancy(in_flight, full)));
        self.full_after.push(full.map_or(f64::INFINITY, |full| full.as_secs_f64() * 1e3));
    }

    fn row(self, table: &mut Table, name: String, ratio: String) {
        let processor = format!("{} µs", whole(median(self.processor)));
        let full = median(self.full_after);
        let full = if full.is_finite() { format!("{} ms", whole(full)) } else { "never".to_owned() };
        let then = median(self.occupancies_then);
        let then = if then.is_finite() { percent(then) } else { String::new() };
        table.row([
            name,
            whole(median(self.rates)),
            ratio,
            percent(median(self.occupancies)),
            full,
            then,
            processor,
        ]);
    }
}

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let mut table = Table::new([
        "server, in flight",
        "requests/s",
        "of the loop",
        "slots busy",
        "all busy after",
        "busy from then on",
        "processor a request",
    ]);
    let rounds = lab.either(5, 1);
    let milliseconds = Duration::from_millis;
    let cases = [
        Case { latency: milliseconds(10), in_flight: 256, rows: lab.either(30_000, 10_000), rounds },
        Case {
            latency: milliseconds(100),
            in_flight: 256,
            rows: lab.either(20_000, 10_000),
            rounds: rounds.min(3),
        },
        Case { latency: milliseconds(1_000), in_flight: 4_096, rows: lab.either(32_768, 16_384), rounds: 1 },
    ];
    for case in cases {
        side_by_side(lab, &case, &mut table)?;
    }
    table.print("Requests: a bare loop of reqwest, and gage-host with journal, events and live view");
    println!(
        "Both sides in turns, the server on the same cores; medians. From the first request to the last answer, as the server saw \
         it. A slot is busy while the server works on its request.\n"
    );
    Ok(())
}

fn side_by_side(lab: &Lab, case: &Case, table: &mut Table) -> anyhow::Result<()> {
    let server = TimedServer::start(case.latency, |_| None)?;
    let (url, folder) = (server.url(), lab.folder.path());
    let suite = Suite {
        rows: case.rows,
        url: &url,
        in_flight: case.in_flight,
        keys: "",
        arguments: &[],
        terminal: Terminal::Live,
        is_watched: false,
        output: None,
    };
    // The loop sends its bodies, and the components are compiled now.
    server.keep_bodies();
    lab.run(&suite)?;
    let bodies = server.bodies();
    server.arrivals();
    let (mut program, mut bare) = (Side::default(), Side::default());
    let mut ratios = Vec::new();
    for _ in 0..case.rounds {
        let processor = bare::send(&url, &bodies, case.in_flight, folder)?;
        let of_bare = server.arrivals();
        let finished = lab.run(&suite)?;
        let of_program = server.arrivals();
        ratios.push(of_program.rate() / of_bare.rate());
        bare.add(&of_bare, case.in_flight, processor);
        program.add(&of_program, case.in_flight, finished.ran.processor);
    }
    let name = format!("{} ms, {}", case.latency.as_millis(), whole(case.in_flight as f64));
    bare.row(table, format!("{name}: loop"), String::new());
    let ratio = format!("{:.2}", median(ratios));
    program.row(table, format!("{name}: gage-host"), ratio);
    Ok(())
}
