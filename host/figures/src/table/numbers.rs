//! Numbers formatted for people.

use crate::{Interval, Scale};

/// Placeholder for a missing number.
const NOTHING: &str = "–";

/// Returns the unit of a value, by its name and its scale; empty for a score without one.
pub(super) fn unit(value_name: &str, scale: Option<Scale>) -> &'static str {
    const POINTS: Scale = [0.0, 100.0];
    match value_name {
        "bits_per_byte" => "bits/byte",
        name if name.ends_with("_ms") => "ms",
        name if name.ends_with("_s") => "s",
        name if name.ends_with("tokens") => "tokens",
        _ if scale == Some(POINTS) => "points",
        _ => "",
    }
}

/// Formats the value of a figure.
pub(super) fn number_or_nothing(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), plain)
}

/// Formats the interval of a value, with as many decimals as the value.
pub(super) fn interval(value: Option<f64>, interval: Option<Interval>) -> String {
    match (value, interval) {
        (Some(value), Some(interval)) => {
            let digits = decimals(value);
            format!("{:.digits$} – {:.digits$}", interval.low, interval.high)
        }
        _ => NOTHING.to_owned(),
    }
}

/// Formats the share of samples that were scored.
pub(super) fn coverage(part: f64, samples: u64) -> String {
    if samples == 0 { NOTHING.to_owned() } else { percent(part) }
}

/// Formats a share as a percentage, rounded down so that only the whole is 100%.
pub(super) fn percent(part: f64) -> String {
    if part >= 1.0 { "100%".to_owned() } else { format!("{:.1}%", percent_rounded_down(part)) }
}

/// Returns a share in percent, rounded down to tenths so that only the whole is 100.
pub fn percent_rounded_down(part: f64) -> f64 {
    if part >= 1.0 {
        return 100.0;
    }
    // The rounding error of the division must not cost a tenth.
    (part * 1_000.0 + 1e-9).floor().min(999.0) / 10.0
}

/// Formats a duration.
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

/// Formats a short duration.
pub(super) fn milliseconds(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 9.95 => format!("{short:.1} ms"),
        short if short < 999.5 => format!("{short:.0} ms"),
        long => duration(long / 1_000.0),
    }
}

/// Formats a value: four decimals between -1 and 1, where most scores are; otherwise as few as keep four
/// digits, and none for a whole number.
fn plain(value: f64) -> String {
    if value.abs() >= 1e9 {
        return format!("{value:.3e}");
    }
    if value.abs() > 1.0 && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    format!("{value:.digits$}", digits = decimals(value))
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size <= 1.0 => 4,
        size if size < 10.0 => 3,
        size if size < 100.0 => 2,
        size if size < 1_000.0 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_as_many_digits_as_they_need() {
        let cases = [
            (0.824, "0.8240"),
            (1.0, "1.0000"),
            (0.0, "0.0000"),
            (-0.25, "-0.2500"),
            (3.0, "3"),
            (3.25, "3.250"),
            (12.345, "12.35"),
            (512.25, "512.2"),
            (123_456.7, "123457"),
            (1.5e12, "1.500e12"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain(value), expected);
        }
    }

    #[test]
    fn units_follow_from_names_and_scales() {
        for (name, scale, expected) in [
            ("latency_ms", None, "ms"),
            ("wall_s", None, "s"),
            ("completion_tokens", None, "tokens"),
            ("bits_per_byte", None, "bits/byte"),
            ("bleu", Some([0.0, 100.0]), "points"),
            ("acc", Some([0.0, 1.0]), ""),
            ("score", None, ""),
        ] {
            assert_eq!(unit(name, scale), expected, "{name}");
        }
    }

    #[test]
    fn only_the_whole_is_100_percent() {
        let cases = [
            (0.0, "0.0%"),
            (500.0 / 512.0, "97.6%"),
            (9_999.0 / 10_000.0, "99.9%"),
            (999_999_999.0 / 1e9, "99.9%"),
            (7.0 / 7.0, "100%"),
        ];
        for (part, expected) in cases {
            assert_eq!(coverage(part, 10), expected);
        }
        assert_eq!(coverage(0.0, 0), "–");
        for tenths in 0..1_000 {
            assert_eq!(percent(f64::from(tenths) / 1_000.0), format!("{}.{}%", tenths / 10, tenths % 10));
        }
    }

    #[test]
    fn times_are_short() {
        let cases = [
            (0.04, "0.0 s"),
            (12.34, "12.3 s"),
            (59.96, "1 min 00 s"),
            (125.0, "2 min 05 s"),
            (7_384.0, "2 h 03 min"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(duration(seconds), expected);
        }
        let cases = [(0.42, "0.4 ms"), (51.4, "51 ms"), (999.7, "1.0 s"), (66_000.0, "1 min 06 s")];
        for (time, expected) in cases {
            assert_eq!(milliseconds(time), expected);
        }
    }
}
