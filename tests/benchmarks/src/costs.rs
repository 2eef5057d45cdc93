//! Processor time of a run by part, and the cost of the journal and the live view. The server answers at once, so that
//! nothing else is the limit.

use crate::lab::{Lab, Suite};
use crate::process::Terminal;
use crate::server::TimedServer;
use crate::table::{Table, median, percent, whole};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Threads of a run by the prefix of their names, with their tasks.
const PARTS: [(&str, &str); 9] = [
    ("tokio-rt", "requests: prompts, HTTP, answers"),
    ("task", "handing samples to the runtime"),
    ("load", "reading rows"),
    ("rows", "handing rows over, ids"),
    ("prepare", "Samples, with the component `default`"),
    ("scorer", "scoring: two metrics, with their inputs and results"),
    ("recorder", "journal"),
    ("events", "events"),
    ("progress", "live view"),
];

/// A way to run the same suite.
struct Way {
    name: &'static str,
    arguments: &'static [&'static str],
    terminal: Terminal,
    output: Option<PathBuf>,
    rates: Vec<f64>,
    processor: Vec<f64>,
}

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let rows = lab.either(30_000, 10_000);
    let server = TimedServer::start(Duration::ZERO, |_| None)?;
    let url = server.url();
    // A file system in memory, in which syncing costs nothing.
    let in_memory = Path::new("/dev/shm").is_dir().then(|| tempfile::tempdir_in("/dev/shm")).transpose()?;
    let way = |name, arguments, terminal| Way {
        name,
        arguments,
        terminal,
        output: None,
        rates: Vec::new(),
        processor: Vec::new(),
    };
    let mut ways = vec![
        way("live view, journal on the disk", &[][..], Terminal::Live),
        way("the same, events of every sample", &["--observability"], Terminal::Live),
        way("without live view", &[], Terminal::Silent),
    ];
    if let Some(folder) = &in_memory {
        let journal =
            way("without live view, journal in memory (no disk to wait for)", &[][..], Terminal::Silent);
        ways.push(Way { output: Some(folder.path().join("runs")), ..journal });
    }
    let mut threads: BTreeMap<String, Duration> = BTreeMap::new();
    let (mut samples, mut total) = (0, Duration::ZERO);
    for round in 0..=lab.either(3, 1) {
        for (place, way) in ways.iter_mut().enumerate() {
            let suite = Suite {
                rows,
                url: &url,
                in_flight: 256,
                keys: "",
                arguments: way.arguments,
                terminal: way.terminal,
                is_watched: true,
                output: way.output.as_deref(),
            };
            let finished = lab.run(&suite)?;
            let arrivals = server.arrivals();
            // The first round only warms up.
            if round == 0 {
                continue;
            }
            way.rates.push(rows as f64 / finished.ran.wall.as_secs_f64());
            way.processor.push(finished.ran.processor.as_secs_f64() * 1e6 / rows as f64);
            if place == 0 {
                samples += arrivals.count();
                total += finished.ran.processor;
                for (name, spent) in finished.ran.threads {
                    *threads.entry(name).or_default() += spent;
                }
            }
        }
    }
    let mut table = Table::new(["run", "samples/s", "processor a sample"]);
    for way in ways {
        let processor = format!("{} µs", whole(median(way.processor)));
        table.row([way.name.to_owned(), whole(median(way.rates)), processor]);
    }
    table.print("A server that answers at once, 256 in flight");
    println!("{rows} samples, from the start of the process to its end, reports included.\n");
    print_parts(&threads, samples, total);
    Ok(())
}

fn print_parts(threads: &BTreeMap<String, Duration>, samples: usize, total: Duration) {
    let of = |prefix: &str| -> Duration {
        threads.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, spent)| *spent).sum()
    };
    let mut table = Table::new(["part", "processor a sample", "of all"]);
    let mut row = |name: &str, spent: Duration| {
        let share = spent.as_secs_f64() / total.as_secs_f64().max(1e-9);
        let each = spent.as_secs_f64() * 1e6 / samples.max(1) as f64;
        table.row([name.to_owned(), format!("{each:.1} µs"), percent(share)]);
    };
    let mut known = Duration::ZERO;
    for (prefix, what) in PARTS {
        known += of(prefix);
        row(what, of(prefix));
    }
    row("start, reports at the end, everything else", total.saturating_sub(known));
    table.print("Where the processor time goes, with live view");
}
