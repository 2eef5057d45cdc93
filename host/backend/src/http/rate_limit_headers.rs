//! Rate-limit headers: when a server accepts requests again.

use jiff::{Span, SpanRelativeTo, Timestamp};
use reqwest::header::{DATE, HeaderMap};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Longest time span that is accepted, about three hundred years. Points in time are spans since 1970.
const MAX_HINT_SECONDS: f64 = 1e10;

/// Returns how long a server asks to wait before the next attempt.
///
/// Reads `retry-after-ms`, `x-ms-retry-after-ms`, or `retry-after` in seconds or as an HTTP date. `now` is the time of this
/// machine.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = ["retry-after-ms", "x-ms-retry-after-ms"].into_iter().filter_map(text);
    if let Some(number) = milliseconds.filter_map(|text| text.parse::<f64>().ok()).find(|one| *one >= 0.0) {
        return seconds(number / 1_000.0);
    }
    let asked = text("retry-after")?;
    if let Ok(number) = asked.parse::<f64>() {
        return seconds(number);
    }
    let date = httpdate::parse_http_date(asked).ok()?;
    Some(date.duration_since(server_time(headers, now)).unwrap_or_default())
}

/// Returns the time by the clock of the server, which its dates refer to, or `now` if the server does not send it.
fn server_time(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    let date = headers.get(DATE).and_then(|value| value.to_str().ok());
    date.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(now)
}

/// Returns how long all requests should wait if the server's allowance is used up.
///
/// Reads the headers of OpenAI (`x-ratelimit-remaining-requests`) and Anthropic
/// (`anthropic-ratelimit-requests-remaining`), and the general ones (`ratelimit-remaining`, `x-ratelimit-remaining`).
///
/// OpenAI and Anthropic report when the whole allowance will be restored; one request needs only a part of it.
pub(super) fn exhausted_for(headers: &HeaderMap, tokens: u64, now: SystemTime) -> Option<Duration> {
    // Most servers send no such headers; skip building their names.
    if !headers.keys().any(|name| name.as_str().contains("ratelimit")) {
        return None;
    }
    let now = server_time(headers, now);
    let text = |name: String| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: String| text(name)?.parse::<u64>().ok();
    let schemes: [fn(&str, &str) -> String; 2] = [
        |part, kind| format!("x-ratelimit-{part}-{kind}"),
        |part, kind| format!("anthropic-ratelimit-{kind}-{part}"),
    ];
    let kinds = [("requests", 1), ("tokens", tokens), ("input-tokens", tokens), ("output-tokens", 1)];
    let of_account = kinds.into_iter().flat_map(|kind| schemes.map(|name| (kind, name)));
    let refilling = of_account.filter_map(|((kind, needed), name)| {
        let remaining = number(name("remaining", kind))?;
        // Without a limit, only a remainder of 0 shows that the allowance is used up.
        let limit = number(name("limit", kind)).or((remaining == 0).then_some(1));
        let limit = limit.filter(|limit| *limit > remaining)?;
        if remaining >= needed.min(limit) {
            return None;
        }
        let full = reset_in(text(name("reset", kind))?, now)?;
        let missing = needed.min(limit) - remaining;
        Some(full.mul_f64((missing as f64 / (limit - remaining) as f64).min(1.0)))
    });
    let windows = ["ratelimit", "x-ratelimit"].into_iter().filter_map(|prefix| {
        let is_empty = number(format!("{prefix}-remaining"))? == 0;
        if is_empty { reset_in(text(format!("{prefix}-reset"))?, now) } else { None }
    });
    refilling.chain(windows).max()
}

/// Parses a time or a span: `20ms`, `1.5s`, `6m0s`, `1h2m`, seconds, seconds since 1970, or an RFC 3339 date.
fn reset_in(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        // More than a billion seconds cannot be a countdown.
        if number > 1e9 {
            let moment = SystemTime::UNIX_EPOCH + seconds(number)?;
            return Some(moment.duration_since(now).unwrap_or_default());
        }
        return seconds(number);
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(SystemTime::from(moment).duration_since(now).unwrap_or_default());
    }
    let span = text.parse::<Span>().ok()?.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(span).ok()
}

fn seconds(number: f64) -> Option<Duration> {
    (number >= 0.0).then(|| Duration::try_from_secs_f64(number.min(MAX_HINT_SECONDS)).ok()).flatten()
}

/// Returns how long Google's `RetryInfo` in the body of an error asks to wait.
pub(super) fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    /// 2026-01-02T03:04:05Z
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045)
    }

    #[test]
    fn a_wait_is_read_in_all_its_forms() {
        for (name, value, expected) in [
            ("retry-after", "3", Some(3_000)),
            ("retry-after", " 0.25 ", Some(250)),
            ("retry-after", "Fri, 02 Jan 2026 03:04:15 GMT", Some(10_000)),
            ("retry-after", "Fri, 02 Jan 2026 03:04:00 GMT", Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "soon", None),
            ("retry-after", "12345678901234567890123", Some(10_000_000_000_000)),
            ("retry-after", "1e300", Some(10_000_000_000_000)),
            ("retry-after", "NaN", None),
            ("retry-after-ms", "40", Some(40)),
            ("x-ms-retry-after-ms", "7", Some(7)),
        ] {
            let found = retry_after(&headers(&[(name, value)]), now());
            assert_eq!(found, expected.map(Duration::from_millis), "{name}: {value}");
        }
        for (milliseconds, expected) in [("40", 40), ("abc", 9_000), ("-1", 9_000)] {
            let both = headers(&[("retry-after", "9"), ("retry-after-ms", milliseconds)]);
            assert_eq!(retry_after(&both, now()), Some(Duration::from_millis(expected)), "{milliseconds}");
        }
        let info = |delay: &str| serde_json::json!({"error": {"details": [{"@type": "Help"}, {"@type": "RetryInfo", "retryDelay": delay}]}});
        assert_eq!(retry_delay(&info("2.5s")), Some(Duration::from_millis(2_500)));
        assert_eq!(retry_delay(&info("soon")), None);
        assert_eq!(retry_delay(&Value::Null), None);
    }

    #[test]
    fn dates_follow_the_clock_of_the_server() {
        // Ten minutes ahead of this machine.
        let date = "Fri, 02 Jan 2026 03:14:05 GMT";
        for (server, expected) in [(Some(date), 10), (Some("today"), 610), (None, 610)] {
            let date = server.map(|date| ("date", date));
            let with = |pairs: &[(&'static str, &str)]| -> HeaderMap {
                headers(&pairs.iter().copied().chain(date).collect::<Vec<_>>())
            };
            let asked = with(&[("retry-after", "Fri, 02 Jan 2026 03:14:15 GMT")]);
            let expected = Some(Duration::from_secs(expected));
            assert_eq!(retry_after(&asked, now()), expected, "{server:?}");
            let reset = with(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1767323655")]);
            assert_eq!(exhausted_for(&reset, 1, now()), expected, "{server:?}");
        }
    }

    #[test]
    fn resets_are_moments_or_spans() {
        for (text, milliseconds) in [
            ("20ms", Some(20)),
            ("1.5s", Some(1_500)),
            ("6m0s", Some(360_000)),
            ("1h2m", Some(3_720_000)),
            ("1d1s", Some(86_401_000)),
            ("2.5", Some(2_500)),
            ("1767323050", Some(5_000)),
            ("1767323040", Some(0)),
            ("2026-01-02T03:04:06.5Z", Some(1_500)),
            ("2026-01-02T04:04:06+01:00", Some(1_000)),
            ("1969-01-02T03:04:06Z", Some(0)),
            ("-3s", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(reset_in(text, now()), milliseconds.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn nothing_left_is_a_pause_for_all() {
        let cases: [(&[(&'static str, &str)], Option<u64>); 8] = [
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-limit-requests", "60"),
                    ("x-ratelimit-reset-requests", "1m0s"),
                ],
                Some(1_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "50"),
                    ("x-ratelimit-limit-tokens", "1050"),
                    ("x-ratelimit-reset-tokens", "20s"),
                ],
                Some(1_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-limit", "10"),
                    ("anthropic-ratelimit-requests-reset", "2026-01-02T03:05:05Z"),
                ],
                Some(6_000),
            ),
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1767323050")], Some(5_000)),
            (&[("ratelimit-remaining", "0"), ("ratelimit-reset", "2")], Some(2_000)),
            (&[("ratelimit-remaining", "1"), ("ratelimit-reset", "2")], None),
            (&[("x-ratelimit-remaining-requests", "0")], None),
            (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2s")], Some(2_000)),
        ];
        for (pairs, expected) in cases {
            let found = exhausted_for(&headers(pairs), 100, now());
            assert_eq!(found, expected.map(Duration::from_millis), "{pairs:?}");
        }
    }
}
