//! The faults of a simulated server, drawn from a seed.

use std::collections::BTreeMap;
use std::time::Duration;

/// A small deterministic generator (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns true with a probability of `percent` in a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or(0)]
    }

    /// Returns a duration up to `most`.
    pub(crate) fn duration(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(most.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// What goes wrong with one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The connection is refused.
    Refused,
    /// The connection is reset before the answer.
    Reset,
    /// The answer breaks off.
    Torn,
    /// No answer arrives.
    Hang,
    /// The answer has this status.
    Status(u16),
    /// The answer arrives late.
    Late,
    /// The answer is sent once more.
    Surplus,
}

/// A time in which every attempt fails in the same way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    pub(crate) from: Duration,
    pub(crate) lasts: Duration,
    pub(crate) fault: Fault,
}

/// A limit of requests in each window of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimit {
    pub(crate) requests: u64,
    pub(crate) window: Duration,
    /// True if refusals say how long to wait.
    pub(crate) has_hint: bool,
}

/// The faults of one run.
#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) samples: u64,
    pub(crate) concurrency: usize,
    pub(crate) latency: Duration,
    /// Share of attempts with a fault of their own, in a hundred.
    pub(crate) noise: u64,
    pub(crate) noises: Vec<Fault>,
    pub(crate) outages: Vec<Outage>,
    pub(crate) limit: Option<RateLimit>,
    /// Every sample with this remainder by 10 is rejected for good (400).
    pub(crate) rejected: Option<u64>,
    /// Times at which the process is killed, each counted from its start.
    pub(crate) kills: Vec<Duration>,
    /// Numbers of the appends to the journal that fail.
    pub(crate) full_disks: Vec<u64>,
    /// True if answers have different ids.
    pub(crate) has_ids: bool,
}

impl FaultPlan {
    /// Draws the faults of a seed.
    pub(crate) fn draw(random: &mut Random) -> FaultPlan {
        let samples = 12 + random.below(30);
        let has_ids = random.percent(80);
        let kinds =
            [Fault::Reset, Fault::Torn, Fault::Status(500), Fault::Status(503), Fault::Late, Fault::Hang];
        let mut noises: Vec<Fault> = kinds.into_iter().filter(|_| random.percent(40)).collect();
        if has_ids && random.percent(40) {
            noises.push(Fault::Surplus);
        }
        let statuses = [500, 502, 503, 504].map(Fault::Status);
        let mut outages = Vec::new();
        for _ in 0..random.below(4) {
            let longest = Duration::from_secs(if random.percent(20) { 120 } else { 50 });
            let fault = match random.below(4) {
                0 => Fault::Refused,
                1 => Fault::Reset,
                _ => random.pick(&statuses),
            };
            let from = random.duration(Duration::from_secs(60));
            outages.push(Outage { from, lasts: random.duration(longest), fault });
        }
        let limit = random.percent(25).then(|| RateLimit {
            requests: 2 + random.below(20),
            window: Duration::from_secs(1 + random.below(20)),
            has_hint: random.percent(50),
        });
        FaultPlan {
            samples,
            concurrency: random.pick(&[1, 2, 4, 16, 64]),
            latency: random.duration(Duration::from_millis(400)),
            noise: if noises.is_empty() { 0 } else { random.below(25) },
            noises,
            outages,
            limit,
            rejected: random.percent(20).then(|| random.below(10)),
            kills: (0..random.below(3)).map(|_| random.duration(Duration::from_secs(20))).collect(),
            full_disks: (0..random.below(2)).map(|_| random.below(samples * 2)).collect(),
            has_ids,
        }
    }

    /// Returns the fault of all attempts at a time.
    pub(crate) fn outage_at(&self, time: Duration) -> Option<Fault> {
        let outage = self
            .outages
            .iter()
            .find(|outage| time >= outage.from && time < outage.from.saturating_add(outage.lasts));
        outage.map(|outage| outage.fault)
    }

    /// Returns the time in which the server may refuse to answer, and which a run may have to wait for.
    pub(crate) fn longest_wait(&self) -> Duration {
        let outages: Duration = self.outages.iter().map(|outage| outage.lasts).sum();
        let windows = self.limit.map_or(Duration::ZERO, |limit| {
            let needed = u32::try_from(self.samples.div_ceil(limit.requests.max(1)) + 1).unwrap_or(u32::MAX);
            limit.window * needed * 8
        });
        outages + windows
    }
}

/// Number of faults by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultCounts(BTreeMap<String, u64>);

impl FaultCounts {
    pub(crate) fn add(&mut self, kind: &str, count: u64) {
        if count > 0 {
            *self.0.entry(kind.to_owned()).or_insert(0) += count;
        }
    }

    pub(crate) fn merge(&mut self, other: &FaultCounts) {
        other.0.iter().for_each(|(kind, count)| self.add(kind, *count));
    }

    pub(crate) fn get(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }
}

impl std::fmt::Display for FaultCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts: Vec<String> = self.0.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        formatter.write_str(&counts.join(", "))
    }
}
