//! Measurement of a call in rounds, as in `host/plugin/src/microbench.rs`.

use std::time::{Duration, Instant};

/// Minimum time of a round.
const ROUND: Duration = Duration::from_millis(2);

/// Duration of a call.
pub(crate) struct Timing {
    /// Median round, in seconds per call.
    pub(crate) median: f64,
    /// Fastest round.
    pub(crate) least: f64,
}

/// Calls again and again for about the given time. `prepare` returns the arguments of a call, and is not measured.
pub(crate) fn measure<A, R>(time: Duration, prepare: impl Fn() -> A, call: impl Fn(A) -> R) -> Timing {
    let timed_call = || {
        let arguments = prepare();
        let began = Instant::now();
        drop(call(arguments));
        began.elapsed()
    };
    // The first call pays for lazy initialization.
    timed_call();
    let mut repetitions = 1_u32;
    let mut rounds: Vec<f64> = Vec::new();
    let began = Instant::now();
    while rounds.len() < 5 || began.elapsed() < time {
        let took: Duration = (0..repetitions).map(|_| timed_call()).sum();
        if took < ROUND && rounds.is_empty() && repetitions < 1 << 20 {
            repetitions *= 2;
            continue;
        }
        rounds.push(took.as_secs_f64() / f64::from(repetitions));
    }
    rounds.sort_by(f64::total_cmp);
    Timing {
        median: rounds.get(rounds.len() / 2).copied().unwrap_or_default(),
        least: rounds.first().copied().unwrap_or_default(),
    }
}
