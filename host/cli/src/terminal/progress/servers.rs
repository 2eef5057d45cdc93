//! Lines about servers that do not answer.

use super::machine::unix_ms;
use super::pace::clock;
use anstyle::{AnsiColor, Style};
use console::truncate_str;
use gage_backend::{HealthState, HttpHosts};
use gage_core::printable_line;
use serde_json::{Value, json};
use std::time::Duration;
use unicode_width::UnicodeWidthStr as _;

/// Time without an answer after which a server that may still answer some requests is shown.
const MIN_DEGRADED_TIME: Duration = Duration::from_millis(500);

const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// The servers of a run, and those that were shown before.
pub(super) struct ServerLines {
    servers: HttpHosts,
    shown: Vec<(String, &'static str)>,
}

/// A server that does not answer, or answers again.
pub(super) struct ServerLine {
    host: String,
    state: HealthState,
    /// True if its state differs from the one that was shown before.
    pub(super) has_changed: bool,
}

impl ServerLines {
    pub(super) fn new(servers: HttpHosts) -> ServerLines {
        ServerLines { servers, shown: Vec::new() }
    }

    /// Returns the servers that are not healthy now, and those that are healthy again.
    pub(super) fn update(&mut self) -> Vec<ServerLine> {
        let mut unhealthy = self.servers.unhealthy();
        unhealthy.retain(|(_, state)| match state {
            HealthState::Degraded { lasted, .. } => *lasted >= MIN_DEGRADED_TIME,
            _ => true,
        });
        self.compare(unhealthy)
    }

    fn compare(&mut self, unhealthy: Vec<(String, HealthState)>) -> Vec<ServerLine> {
        let now: Vec<_> = unhealthy.iter().map(|(host, state)| (host.clone(), name(state))).collect();
        let before = std::mem::replace(&mut self.shown, now);
        let recovered = before.iter().filter(|(host, _)| !self.shown.iter().any(|(other, _)| other == host));
        let recovered = recovered.map(|(host, _)| ServerLine {
            host: host.clone(),
            state: HealthState::Healthy,
            has_changed: true,
        });
        let unhealthy = unhealthy.into_iter().map(|(host, state)| {
            let has_changed = !before.iter().any(|shown| *shown == (host.clone(), name(&state)));
            ServerLine { host, state, has_changed }
        });
        unhealthy.chain(recovered.collect::<Vec<_>>()).collect()
    }
}

impl ServerLine {
    /// Returns true if the run waits for the server.
    pub(super) fn may_return(&self) -> bool {
        matches!(self.state, HealthState::Degraded { .. } | HealthState::Away { .. })
    }

    /// Formats it as a line of a maximum width in columns.
    pub(super) fn line(&self, columns: usize, has_colour: bool) -> String {
        let host = printable_line(&self.host);
        let begin = match &self.state {
            HealthState::Healthy => format!("{host} answers again"),
            HealthState::Degraded { cause, .. } => format!("{host} is degraded: {}", printable_line(cause)),
            HealthState::Away { cause, .. } => format!("{host} is away: {}", printable_line(cause)),
            HealthState::Lost { cause } => format!("{host} is lost: {}", printable_line(cause)),
        };
        let (full, short) = self.times();
        let text = match begin.width() + full.width() <= columns {
            true => begin + &full,
            false => {
                let room = columns.saturating_sub(short.width());
                truncate_str(&begin, room, "…").into_owned() + &short
            }
        };
        let text = truncate_str(&text, columns, "…");
        match has_colour && self.state != HealthState::Healthy {
            true => format!("{ATTENTION}{text}{ATTENTION:#}"),
            false => text.into_owned(),
        }
    }

    /// Formats the times of an outage, and the most important one, which a narrow line keeps.
    fn times(&self) -> (String, String) {
        match &self.state {
            HealthState::Degraded { lasted, .. } => {
                let text = format!(" (no answer for {})", clock(*lasted));
                (text.clone(), text)
            }
            HealthState::Away { lasted, remaining, .. } => {
                let (lasted, remaining) = (clock(*lasted), clock(*remaining));
                let full = format!(" (no answer for {lasted}, given up in {remaining})");
                (full, format!(" (given up in {remaining})"))
            }
            HealthState::Healthy | HealthState::Lost { .. } => (String::new(), String::new()),
        }
    }

    /// Formats it as an object.
    pub(super) fn object(&self) -> Value {
        let (cause, lasted, remaining) = match &self.state {
            HealthState::Healthy => (None, None, None),
            HealthState::Degraded { cause, lasted } => (Some(cause), Some(lasted), None),
            HealthState::Away { cause, lasted, remaining } => (Some(cause), Some(lasted), Some(remaining)),
            HealthState::Lost { cause } => (Some(cause), None, None),
        };
        json!({
            "event": "server",
            "unix_ms": unix_ms(),
            "host": self.host,
            "state": name(&self.state),
            "cause": cause,
            "unanswered_s": lasted.map(Duration::as_secs_f64),
            "remaining_s": remaining.map(Duration::as_secs_f64),
        })
    }
}

fn name(state: &HealthState) -> &'static str {
    match state {
        HealthState::Healthy => "healthy",
        HealthState::Degraded { .. } => "degraded",
        HealthState::Away { .. } => "away",
        HealthState::Lost { .. } => "lost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> [HealthState; 3] {
        let cause = || "connection refused".to_owned();
        let seconds = Duration::from_secs;
        [
            HealthState::Degraded { cause: cause(), lasted: seconds(1) },
            HealthState::Away { cause: cause(), lasted: seconds(12), remaining: seconds(48) },
            HealthState::Lost { cause: cause() },
        ]
    }

    #[test]
    fn a_server_names_its_state_its_cause_and_the_time_left() {
        let mut lines = ServerLines::new(HttpHosts::default());
        let mut text = String::new();
        for state in states() {
            let is_lost = matches!(state, HealthState::Lost { .. });
            for line in lines.compare(vec![("http://h:1".to_owned(), state)]) {
                assert!(line.has_changed && line.may_return() != is_lost);
                text.push_str(&format!("{}\n", line.line(120, false)));
            }
        }
        lines.compare(Vec::new()).iter().for_each(|line| text.push_str(&line.line(120, false)));
        insta::assert_snapshot!(text, @r"
        http://h:1 is degraded: connection refused (no answer for 0:01)
        http://h:1 is away: connection refused (no answer for 0:12, given up in 0:48)
        http://h:1 is lost: connection refused
        http://h:1 answers again
        ");
        assert!(lines.compare(Vec::new()).is_empty(), "it is reported once");
    }

    #[test]
    fn a_narrow_line_keeps_the_time_that_is_left() {
        let [degraded, away, lost] = states().map(|state| ServerLine {
            host: "http://localhost:8999".to_owned(),
            state,
            has_changed: true,
        });
        for (line, columns, expected) in [
            (&away, 60, "http://localhost:8999 is away: connectio… (given up in 0:48)"),
            (&away, 80, "http://localhost:8999 is away: connection refused (given up in 0:48)"),
            (&degraded, 60, "http://localhost:8999 is degraded: con… (no answer for 0:01)"),
            (&lost, 40, "http://localhost:8999 is lost: connecti…"),
        ] {
            assert_eq!(line.line(columns, false), expected);
        }
    }

    #[test]
    fn an_unchanged_state_is_no_change() {
        let mut lines = ServerLines::new(HttpHosts::default());
        for (state, has_changed) in
            states().into_iter().flat_map(|state| [(state.clone(), true), (state, false)])
        {
            let found = lines.compare(vec![("h".to_owned(), state)]);
            assert_eq!(found.iter().map(|line| line.has_changed).collect::<Vec<_>>(), [has_changed]);
        }
    }

    #[test]
    fn texts_of_a_server_cannot_steer_the_terminal() {
        let state = HealthState::Lost { cause: "\x1b[2J\n".to_owned() };
        let line = ServerLine { host: "h".to_owned(), state, has_changed: true };
        assert!(!line.line(80, false).chars().any(char::is_control));
        assert!(line.line(8, false).chars().count() <= 8);
    }
}
