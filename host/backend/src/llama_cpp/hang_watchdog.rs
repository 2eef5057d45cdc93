//! Watchdog of a model process: a pure state machine that is passed the current time.
//!
//! The process sends a message after each call of the model and each tensor that it loads, unless it has sent one less
//! than half a second before. All messages come from the thread that computes. So a process that has requests and sends
//! nothing is in one call, which may be slow, or hang.

use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two checks of a process.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum time that counts between two checks. After a pause of this whole program, the next check comes late, and may
/// come before the messages of the pause are read.
const MAX_COUNTED_STEP: Duration = Duration::from_millis(500);

/// Minimum silence after which a stopped run no longer waits for the requests of a process.
const MIN_SILENCE: Duration = Duration::from_secs(3);

/// Multiple of the longest call so far that a call may take before the process counts as silent.
const SLOW_CALL_FACTOR: u32 = 2;

/// Multiple of the time that the first load took by which a later load may exceed the time limit of a call.
const LOAD_TIME_FACTOR: u32 = 2;

/// Minimum speed at which model files are expected to be read, in bytes per second: that of a slow network.
const MIN_LOAD_SPEED: u64 = 50_000_000;

/// Maximum time by which the first load may exceed the time limit of a call.
const MAX_LOAD_ALLOWANCE: Duration = Duration::from_secs(3_600);

/// Time that a killed process may take to exit.
const MAX_KILL_TIME: Duration = Duration::from_secs(10);

/// Phase of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessPhase {
    /// It loads its model for the first time.
    Loading,
    /// It loads its model after a crash or a hang.
    LoadingAgain {
        /// Duration of the first load.
        first_load: Duration,
    },
    /// It answers requests.
    Serving,
}

/// Time limits of a process.
#[derive(Clone, Copy, Debug)]
pub struct WatchdogLimits {
    hang_timeout: Duration,
    /// Additional time for the first load.
    load_allowance: Duration,
}

impl WatchdogLimits {
    /// Creates the limits of a model in files of this size. It hangs after this time without a computed batch.
    pub fn new(hang_timeout: Duration, file_bytes: u64) -> WatchdogLimits {
        let load_allowance = Duration::from_secs(file_bytes / MIN_LOAD_SPEED).min(MAX_LOAD_ALLOWANCE);
        WatchdogLimits { hang_timeout, load_allowance }
    }

    /// Returns the time by which the silence of a process in this phase may exceed that of a call.
    fn allowance(&self, phase: ProcessPhase) -> Duration {
        match phase {
            ProcessPhase::Loading => self.load_allowance,
            ProcessPhase::LoadingAgain { first_load } => first_load * LOAD_TIME_FACTOR,
            ProcessPhase::Serving => Duration::ZERO,
        }
    }
}

/// State of a process at the time of a check.
#[derive(Clone, Copy, Debug)]
pub struct ProcessActivity {
    /// True if there is a process.
    pub is_running: bool,
    /// True if requests have no answer, or the model is awaited.
    pub has_requests: bool,
    /// Number of messages of all processes, and of starts of processes.
    pub messages: u64,
    /// Phase of the process.
    pub phase: ProcessPhase,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessHealth {
    /// The process computes, or has nothing to do.
    Responsive,
    /// The process has sent nothing for a while. A stopped run does not wait for it.
    Silent,
    /// The process has sent nothing for longer than its limit. It must be killed.
    Hung(Hang),
    /// The process was to be killed, and does not exit.
    Unkillable(Hang),
}

/// A hang of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hang {
    /// Time without a computed batch.
    pub silence: Duration,
}

impl fmt::Display for Hang {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.silence.as_secs_f64();
        write!(
            formatter,
            "the model hung: it computed nothing for {seconds:.0} s, more than `hang_timeout` allows"
        )
    }
}

/// Watchdog of the processes of one model.
#[derive(Debug)]
pub struct HangWatchdog {
    limits: WatchdogLimits,
    checked_at: Option<Instant>,
    messages: u64,
    /// Time without a message while there were requests.
    silence: Duration,
    /// Longest call so far, as far as its silence shows.
    longest_silence: Duration,
    /// True if the process was loading its model at the last check.
    was_loading: bool,
}

impl HangWatchdog {
    /// Creates the watchdog of a model with these limits.
    pub fn new(limits: WatchdogLimits) -> HangWatchdog {
        HangWatchdog {
            limits,
            checked_at: None,
            messages: 0,
            silence: Duration::ZERO,
            longest_silence: Duration::ZERO,
            was_loading: false,
        }
    }

    /// Checks the process.
    pub fn check(&mut self, now: Instant, activity: &ProcessActivity) -> ProcessHealth {
        let step = self.checked_at.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.checked_at = Some(now);
        if activity.messages != self.messages {
            self.messages = activity.messages;
            // A hang is not a slow call.
            if !self.was_loading && self.silence < self.limits.hang_timeout {
                self.longest_silence = self.longest_silence.max(self.silence);
            }
            self.silence = Duration::ZERO;
        } else if !activity.is_running {
            self.silence = Duration::ZERO;
        } else if activity.has_requests {
            self.silence += step.min(MAX_COUNTED_STEP);
        }
        self.was_loading = activity.phase != ProcessPhase::Serving;
        self.health(self.limits.allowance(activity.phase))
    }

    fn health(&self, allowance: Duration) -> ProcessHealth {
        let limit = self.limits.hang_timeout + allowance;
        let silent_after = MIN_SILENCE.max(self.longest_silence * SLOW_CALL_FACTOR) + allowance;
        let hang = Hang { silence: self.silence };
        match self.silence {
            silence if silence >= limit + MAX_KILL_TIME => ProcessHealth::Unkillable(hang),
            silence if silence >= limit => ProcessHealth::Hung(hang),
            silence if silence >= silent_after => ProcessHealth::Silent,
            _ => ProcessHealth::Responsive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: ProcessActivity =
        ProcessActivity { is_running: true, has_requests: true, messages: 1, phase: ProcessPhase::Serving };

    /// A watchdog and its clock.
    struct Checks {
        watchdog: HangWatchdog,
        now: Instant,
    }

    impl Checks {
        fn new(hang_timeout_s: u64) -> Checks {
            let limits = WatchdogLimits::new(Duration::from_secs(hang_timeout_s), 0);
            let mut watchdog = HangWatchdog::new(limits);
            let now = Instant::now();
            watchdog.check(now, &BUSY);
            Checks { watchdog, now }
        }

        /// Checks at every interval for some seconds, and returns the last result.
        fn after(&mut self, seconds: f64, activity: &ProcessActivity) -> ProcessHealth {
            let mut health = self.watchdog.check(self.now, activity);
            let end = self.now + Duration::from_secs_f64(seconds);
            while self.now < end {
                self.now += CHECK_INTERVAL;
                health = self.watchdog.check(self.now, activity);
            }
            health
        }
    }

    fn hung(seconds: u64) -> ProcessHealth {
        ProcessHealth::Hung(Hang { silence: Duration::from_secs(seconds) })
    }

    #[test]
    fn silence_with_requests_becomes_a_hang() {
        let mut checks = Checks::new(120);
        assert_eq!(checks.after(2.75, &BUSY), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &BUSY), ProcessHealth::Silent);
        assert_eq!(checks.after(116.75, &BUSY), ProcessHealth::Silent);
        assert_eq!(checks.after(0.25, &BUSY), hung(120));
        assert_eq!(checks.after(9.0, &BUSY), hung(129));
        assert!(matches!(checks.after(1.0, &BUSY), ProcessHealth::Unkillable(_)));
        // Another process starts, and is not expected to be as slow.
        let next = ProcessActivity { messages: 2, ..BUSY };
        assert_eq!(checks.after(2.75, &next), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &next), ProcessHealth::Silent);
    }

    #[test]
    fn messages_and_idle_times_are_not_silence() {
        let mut checks = Checks::new(5);
        for messages in 2..100 {
            let activity = ProcessActivity { messages, ..BUSY };
            assert_eq!(checks.after(2.5, &activity), ProcessHealth::Responsive);
        }
        let idle = ProcessActivity { has_requests: false, messages: 99, ..BUSY };
        assert_eq!(checks.after(3_600.0, &idle), ProcessHealth::Responsive);
        let gone = ProcessActivity { is_running: false, messages: 99, ..BUSY };
        assert_eq!(checks.after(3_600.0, &gone), ProcessHealth::Responsive);
    }

    #[test]
    fn a_silence_without_requests_neither_grows_nor_ends() {
        let mut checks = Checks::new(120);
        assert_eq!(checks.after(4.0, &BUSY), ProcessHealth::Silent);
        let cancelled = ProcessActivity { has_requests: false, ..BUSY };
        assert_eq!(checks.after(3_600.0, &cancelled), ProcessHealth::Silent);
        assert_eq!(checks.after(115.75, &BUSY), ProcessHealth::Silent);
        assert_eq!(checks.after(0.25, &BUSY), hung(120));
    }

    #[test]
    fn a_slow_model_is_silent_later() {
        let mut checks = Checks::new(120);
        // Its calls take ten seconds.
        for messages in 2..5 {
            checks.after(10.0, &ProcessActivity { messages, ..BUSY });
        }
        let activity = ProcessActivity { messages: 5, ..BUSY };
        assert_eq!(checks.after(19.75, &activity), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &activity), ProcessHealth::Silent);
    }

    #[test]
    fn first_load_may_take_longer_for_a_large_file() {
        for (file_bytes, limit_s) in [(0, 2_u16), (500_000_000, 12), (u64::MAX, 3_602)] {
            let mut checks = Checks::new(2);
            checks.watchdog = HangWatchdog::new(WatchdogLimits::new(Duration::from_secs(2), file_bytes));
            let loading = ProcessActivity { phase: ProcessPhase::Loading, ..BUSY };
            let last = f64::from(limit_s) - 0.25;
            assert!(!matches!(checks.after(last, &loading), ProcessHealth::Hung(_)), "{file_bytes}");
            assert!(matches!(checks.after(0.25, &loading), ProcessHealth::Hung(_)), "{file_bytes}");
        }
    }

    #[test]
    fn loading_again_may_take_longer() {
        let mut checks = Checks::new(2);
        let phase = ProcessPhase::LoadingAgain { first_load: Duration::from_secs(10) };
        let loading = ProcessActivity { phase, ..BUSY };
        assert_eq!(checks.after(21.75, &loading), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &loading), hung(22));
        let loading = ProcessActivity { messages: 2, ..loading };
        assert_eq!(checks.after(15.0, &loading), ProcessHealth::Responsive);
        // A long time to load says nothing about calls.
        let loaded = ProcessActivity { messages: 3, ..BUSY };
        assert_eq!(checks.after(1.75, &loaded), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &loaded), hung(2));
    }

    /// As after Ctrl-Z, or if the machine was suspended.
    #[test]
    fn a_pause_of_the_whole_program_is_not_a_hang() {
        let mut checks = Checks::new(2);
        assert_eq!(checks.after(1.0, &BUSY), ProcessHealth::Responsive);
        checks.now += Duration::from_secs(3_600);
        assert_eq!(checks.after(0.25, &BUSY), ProcessHealth::Responsive);
        assert_eq!(checks.after(0.25, &BUSY), hung(2));
    }

    #[test]
    fn a_hang_names_its_length_and_the_key() {
        let text = Hang { silence: Duration::from_millis(120_250) }.to_string();
        assert_eq!(text, "the model hung: it computed nothing for 120 s, more than `hang_timeout` allows");
    }
}
