//! The wall clock, as it is written into files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_OF_A_DAY: u64 = 86_400;
/// Days of 400 years.
const DAYS_OF_AN_ERA: u64 = 146_097;
/// Days from the first of March of the year 0 to 1970-01-01.
const DAYS_BEFORE_EPOCH: u64 = 719_468;

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

/// Seconds since 1970 of a moment as [`rfc3339`] writes it; none for another text.
pub fn unix_seconds(text: &str) -> Option<u64> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, separator: char| -> Option<[u64; 3]> {
        let parts: Option<Vec<u64>> = text.split(separator).map(|part| part.parse().ok()).collect();
        parts?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(day, '-')?, numbers(time, ':')?);
    let is_moment = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_moment || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_of(year, month, day) * SECONDS_OF_A_DAY + hour * 3600 + minute * 60 + second)
}

/// The day counted from 1970-01-01: the inverse of [`date`], `days_from_civil` of the same source.
fn days_of(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * DAYS_OF_AN_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
        - DAYS_BEFORE_EPOCH
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Year, month and day of the Gregorian calendar, of a day counted from 1970-01-01.
///
/// Counts in eras of 400 years that begin on the first of March, so that the leap day is the
/// last of its year: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn date(days_since_epoch: u64) -> (u64, u64, u64) {
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
