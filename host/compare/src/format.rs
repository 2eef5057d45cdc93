//! Formatting of numbers and of third-party text in reasons, messages and reports.

/// Maximum length of third-party text in a reason, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Maximum length of a sentence that contains such text, in characters.
const MAX_SENTENCE_CHARS: usize = 600;

/// Maximum number of digits shown of a digest.
const MAX_SHOWN_DIGITS: usize = 12;

/// Formats a number with three significant digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.2e}");
    }
    // Between -4 and 8.
    let digits = 2 - size.log10().floor() as i32;
    let text = format!("{value:.places$}", places = usize::try_from(digits.max(0)).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `p = 0.013`, `p < 0.0001`.
pub(super) fn p_value(value: f64) -> String {
    match value {
        small if small < 0.0001 => "p < 0.0001".to_owned(),
        value => format!("p = {}", number((value * 1e4).ceil() / 1e4)),
    }
}

/// Formats a share as a percentage, rounded down so that only the whole is 100 %.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", number((part * 1_000.0 + 1e-9).floor() / 10.0))
}

/// Formats a count with its noun: `1 sample`, `1,000 samples`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {thing}{end}", count(number))
}

/// Formats a count with thousands separators.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the beginning of third-party text, on one line and without terminal control characters.
pub(super) fn shortened(text: &str) -> String {
    bounded(text, MAX_REASON_CHARS)
}

/// Bounds a sentence that contains [`shortened`] text. Its limit is larger, since the advice is at the end.
pub(super) fn sentence(text: &str) -> String {
    bounded(text, MAX_SENTENCE_CHARS)
}

fn bounded(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let printable = gage_core::printable_line(&cut).into_owned();
    if cut.len() < text.len() { format!("{printable}…") } else { printable }
}

/// Shortens the digests in a text to the digits that people compare: `"sha256:0661326432ea…"`.
pub(super) fn with_short_digests(text: &str) -> String {
    const NAME: &str = "sha256:";
    let mut parts = text.split(NAME);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, rest) = part.split_at(digits);
        let is_open = short.ends_with('"');
        short += NAME;
        short += digest.get(..MAX_SHOWN_DIGITS).unwrap_or(digest);
        // The text may already be cut off here, along with the closing quotation mark.
        let rest = match (digits > MAX_SHOWN_DIGITS, rest.strip_prefix('…')) {
            (true, Some(rest)) if is_open => format!("…\"{rest}"),
            (true, Some(rest)) => format!("…{rest}"),
            (true, None) => format!("…{rest}"),
            (false, _) => rest.to_owned(),
        };
        short += &rest;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_as_long_as_people_compare() {
        let digest = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            (format!("content: \"sha256:{digest}\" before"), "content: \"sha256:0123456789ab…\" before"),
            (format!("\"sha256:{}… before", &digest[..40]), "\"sha256:0123456789ab…\" before"),
            (format!("sha256:{digest}, sha256:{digest}"), "sha256:0123456789ab…, sha256:0123456789ab…"),
            ("\"sha256:aa\" sha256: é".to_owned(), "\"sha256:aa\" sha256: é"),
        ] {
            assert_eq!(with_short_digests(&text), expected);
        }
    }
}
