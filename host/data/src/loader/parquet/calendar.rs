//! Dates and times as ISO 8601.
//!
//! The crate `jiff` (0.2) is not used because its dates end with the year 9999, and a Parquet column can contain
//! later ones.

use ::parquet::basic::TimeUnit;

const SECONDS_A_DAY: i64 = 86_400;
/// Julian day number that begins at noon of 1970-01-01.
const JULIAN_DAY_OF_1970: i64 = 2_440_588;

/// Returns the number of digits of a fraction of a second.
fn digits(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::MILLIS => 3,
        TimeUnit::MICROS => 6,
        TimeUnit::NANOS => 9,
    }
}

/// Returns the number of units per second.
fn a_second(unit: TimeUnit) -> i64 {
    digits(unit).try_into().map_or(1, |digits| 10_i64.pow(digits))
}

/// Formats a number of days since 1970-01-01 as `YYYY-MM-DD`. Years beyond four digits have a sign.
pub(crate) fn date(days: i64) -> String {
    // Years run from March to February, so that the leap day is the last; 400 of them always have 146 097 days. There
    // are 719 468 days between 0000-03-01 and 1970-01-01.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+07}-{month:02}-{day:02}"),
    }
}

/// Formats a time since midnight as `HH:MM:SS`, with a fraction unless it is 0.
pub(crate) fn time(value: i64, unit: TimeUnit, is_utc: bool) -> Result<String, String> {
    match (0..SECONDS_A_DAY * a_second(unit)).contains(&value) {
        true => Ok(clock(value, unit, is_utc)),
        false => Err(format!("the time of day {value} is not within a day")),
    }
}

/// Formats a time as `YYYY-MM-DDTHH:MM:SS`, with a fraction unless it is 0, and `Z` if it is UTC.
pub(crate) fn timestamp(value: i64, unit: TimeUnit, is_utc: bool) -> String {
    let a_day = SECONDS_A_DAY * a_second(unit);
    format!("{}T{}", date(value.div_euclid(a_day)), clock(value.rem_euclid(a_day), unit, is_utc))
}

/// Formats a Julian day and the nanoseconds of that day in the same way.
pub(crate) fn julian(day: u32, nanoseconds: u64) -> String {
    let a_day = SECONDS_A_DAY.unsigned_abs() * 1_000_000_000;
    // Fewer than 300 thousand days for any number of nanoseconds.
    let further = (nanoseconds / a_day) as i64;
    let within = (nanoseconds % a_day) as i64;
    let days = i64::from(day) - JULIAN_DAY_OF_1970 + further;
    format!("{}T{}", date(days), clock(within, TimeUnit::NANOS, false))
}

/// Formats a duration as `P1M2DT3.000S`.
pub(crate) fn interval(months: u32, days: u32, milliseconds: u32) -> String {
    format!("P{months}M{days}DT{}.{:03}S", milliseconds / 1_000, milliseconds % 1_000)
}

fn clock(value: i64, unit: TimeUnit, is_utc: bool) -> String {
    let (seconds, fraction) = (value / a_second(unit), value % a_second(unit));
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let zone = if is_utc { "Z" } else { "" };
    match fraction {
        0 => format!("{hour:02}:{minute:02}:{second:02}{zone}"),
        _ => {
            let digits = digits(unit);
            format!("{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}{zone}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-000001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+010000-01-01"),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(timestamp(1_700_000_000_123, TimeUnit::MILLIS, true), "2023-11-14T22:13:20.123Z");
        assert_eq!(timestamp(-1, TimeUnit::NANOS, false), "1969-12-31T23:59:59.999999999");
        assert_eq!(timestamp(i64::MIN, TimeUnit::NANOS, true), "1677-09-21T00:12:43.145224192Z");
        assert_eq!(timestamp(60_000_000, TimeUnit::MICROS, true), "1970-01-01T00:01:00Z");
        assert_eq!(time(86_399_000_001, TimeUnit::MICROS, false).as_deref(), Ok("23:59:59.000001"));
        assert!(
            time(86_400_000, TimeUnit::MILLIS, false).is_err() && time(-1, TimeUnit::MILLIS, false).is_err()
        );
        assert_eq!(julian(2_440_589, 1), "1970-01-02T00:00:00.000000001");
        assert_eq!(interval(0, 1, 61_005), "P0M1DT61.005S");
        // No input overflows.
        for value in [i64::MIN, i64::MAX] {
            for unit in [TimeUnit::MILLIS, TimeUnit::MICROS, TimeUnit::NANOS] {
                timestamp(value, unit, true);
            }
            date(value);
        }
        julian(u32::MAX, u64::MAX);
    }

    proptest! {
        #[test]
        fn days_follow_one_another(day in -4_000_000_i64..4_000_000) {
            let (today, tomorrow) = (date(day), date(day + 1));
            let of_month = |date: &str| date[date.len() - 2..].parse::<u32>().expect("a number");
            match of_month(&tomorrow) {
                1 => prop_assert!((28..=31).contains(&of_month(&today))),
                next => prop_assert_eq!((next - 1, &tomorrow[..tomorrow.len() - 2]), (of_month(&today), &today[..today.len() - 2])),
            }
        }
    }
}
