//! The wall clock, as it is written into files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_OF_A_DAY: u64 = 86_400;

/// Milliseconds since 1970 in UTC, now.
pub fn unix_milliseconds() -> u64 {
    u64::try_from(since_epoch(SystemTime::now()).as_millis()).unwrap_or(u64::MAX)
}

/// A moment in UTC as RFC 3339 writes it, to the second: `2026-01-31T09:05:00Z`. What lies
/// before 1970 is 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = since_epoch(time).as_secs();
    let (year, month, day) = date(seconds / SECONDS_OF_A_DAY);
    let second = seconds % SECONDS_OF_A_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Year, month and day of the Gregorian calendar, of a day counted from 1970-01-01.
///
/// Counts in eras of 400 years that begin on the first of March, so that the leap day is the
/// last of its year: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn date(days_since_epoch: u64) -> (u64, u64, u64) {
    const DAYS_OF_AN_ERA: u64 = 146_097;
    const DAYS_BEFORE_EPOCH: u64 = 719_468;
    let days = days_since_epoch + DAYS_BEFORE_EPOCH;
    let (era, day_of_era) = (days / DAYS_OF_AN_ERA, days % DAYS_OF_AN_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_date_writes_them() {
        // By `date -u -d @SECONDS +%FT%TZ`.
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
        }
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }
}
