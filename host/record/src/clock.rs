//! The wall clock, as files store it.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Format of a UTC time, to the second.
const FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Returns the current time in milliseconds since 1970, UTC.
pub fn unix_milliseconds() -> u64 {
    u64::try_from(since_epoch(SystemTime::now()).as_millis()).unwrap_or(u64::MAX)
}

/// Formats a UTC time per RFC 3339, to the second: `2026-01-31T09:05:00Z`. Times before 1970 count as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = i64::try_from(since_epoch(time).as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).strftime(FORMAT).to_string()
}

/// Parses a time formatted by [`rfc3339`] into seconds since 1970. Returns `None` for any other text.
pub fn unix_seconds(text: &str) -> Option<u64> {
    let moment = DateTime::strptime(FORMAT, text).ok()?;
    let seconds = Offset::UTC.to_timestamp(moment).ok()?.as_second();
    u64::try_from(seconds).ok()
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_date_writes_them() {
        // From `date -u -d @SECONDS +%FT%TZ`.
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
            assert_eq!(unix_seconds(text), Some(seconds));
        }
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        for text in
            ["", "Z", "2026-01-01", "2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-01-01T00:00Z"]
        {
            assert_eq!(unix_seconds(text), None, "{text}");
        }
    }
}
