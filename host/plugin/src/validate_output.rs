//! Checks every score, figure, name and JSON text that a guest returns. No other module does.

use crate::batch::ItemError;
use crate::bindings::aggregator_exports::Figure as GuestFigure;
use crate::bindings::types::{
    ContinuationScore, ErrorKind, InputSpec, MemberSpec, Message, PluginError, PluginInfo,
    ScoreCard as GuestCard,
};
use crate::figure::AggregatorFigure;
use crate::limits::Limits;
use crate::member_description::{OptionalMetadata, ValueDescription};
use gage_core::{LazyJson, Object, ScoreCard, count_json_values, has_more_values, max_json_values};
use serde_json::Value;

fn invalid(message: impl Into<String>) -> ItemError {
    ItemError::new("invalid_result", message)
}

/// Converts an error reported by the guest; its text is truncated at the limit.
pub(crate) fn error(error: PluginError, limits: &Limits) -> ItemError {
    let kind = match error.kind {
        ErrorKind::InvalidConfig => "invalid_config",
        ErrorKind::InvalidInput => "invalid_input",
        ErrorKind::MissingField => "missing_field",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Denied => "denied",
        ErrorKind::LimitExceeded => "limit_exceeded",
        ErrorKind::Upstream => "upstream",
        ErrorKind::Internal => "internal",
    };
    ItemError {
        // A pointer is never displayed before it has been resolved.
        pointer: error.pointer.map(|pointer| cut(pointer, limits.error_bytes)),
        ..ItemError::new(kind, cut(error.message, limits.error_bytes))
    }
}

/// Truncates a text for people at a limit in bytes, and escapes control sequences.
pub(crate) fn cut(mut text: String, most_bytes: usize) -> String {
    if text.len() > most_bytes {
        text.truncate(text.floor_char_boundary(most_bytes));
        text.push('…');
    }
    gage_core::printable(&text).into_owned()
}

/// Checks a text that is passed on unchanged.
pub(crate) fn text(text: &str, what: &str, limits: &Limits) -> Result<(), ItemError> {
    bytes(text.as_bytes(), what, limits)
}

/// Checks bytes that are passed on unchanged.
pub(crate) fn bytes(bytes: &[u8], what: &str, limits: &Limits) -> Result<(), ItemError> {
    let most = limits.result_bytes;
    if bytes.len() > most {
        return Err(invalid(format!("{what} has {} bytes; at most {most} are allowed", bytes.len())));
    }
    Ok(())
}

/// Checks a count against its limit.
pub(crate) fn count(found: usize, what: &str, limits: &Limits) -> Result<(), ItemError> {
    let most = limits.names_per_card;
    if found > most {
        return Err(invalid(format!("there are {found} {what}; at most {most} are allowed")));
    }
    Ok(())
}

/// Checks that there is one result for each item.
pub(crate) fn count_is(found: usize, wanted: usize, what: &str) -> Result<(), ItemError> {
    if found != wanted {
        return Err(invalid(format!("returned {found} {what} for {wanted}")));
    }
    Ok(())
}

/// Checks messages from a guest.
pub(crate) fn messages(messages: Vec<Message>, limits: &Limits) -> Result<Vec<Message>, ItemError> {
    count(messages.len(), "messages", limits)?;
    let (mut values, most) = (0, max_json_values(limits.result_bytes));
    for message in &messages {
        text(&message.content, "a message", limits)?;
        let extra = object(&message.extra, "`extra` of a message", limits)?;
        values += extra.values().map(count_json_values).sum::<usize>();
        if values > most {
            return Err(invalid(format!("the messages have more than {most} JSON values")));
        }
    }
    Ok(messages)
}

/// Checks scores of continuations: natural logarithms of probabilities, one each.
pub(crate) fn continuation_scores(
    scores: Vec<ContinuationScore>,
    wanted: usize,
) -> Result<Vec<ContinuationScore>, ItemError> {
    if scores.len() != wanted {
        return Err(invalid(format!("returned {} scores for {wanted} continuations", scores.len())));
    }
    match scores.iter().any(|score| score.logprob.is_nan() || score.logprob > 0.0) {
        true => Err(invalid("a log-likelihood is above 0 or not a number")),
        false => Ok(scores),
    }
}

/// Checks the figures of an aggregator.
pub(crate) fn figures(
    figures: Vec<GuestFigure>,
    limits: &Limits,
) -> Result<Vec<AggregatorFigure>, ItemError> {
    count(figures.len(), "figures", limits)?;
    let mut read: Vec<AggregatorFigure> = Vec::with_capacity(figures.len());
    for figure in figures {
        let name = name(figure.name, "the figure", limits)?;
        if read.iter().any(|earlier| earlier.name == name) {
            return Err(invalid(format!("the figure '{name}' occurs twice")));
        }
        let value = finite(figure.value, "a figure")?;
        let stderr = figure.stderr.map(|stderr| finite(stderr, "a standard error")).transpose()?;
        if stderr.is_some_and(|stderr| stderr < 0.0) {
            return Err(invalid("a standard error is below 0"));
        }
        read.push(AggregatorFigure { name, value, stderr, count: figure.count });
    }
    Ok(read)
}

/// Maximum size of a declared name, version or path, in bytes.
pub(crate) const MAX_DECLARED_TEXT_BYTES: usize = 256;
/// Maximum size of a declared description, in bytes.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 4 << 10;
/// Maximum number of inputs, values, path parameters or default paths of a member.
pub(crate) const MAX_DECLARED_ITEMS: usize = 64;

fn declared(text: &str, what: &str, most: usize) -> Result<(), String> {
    if text.len() > most {
        return Err(format!("{what} has {} bytes; at most {most} are allowed", text.len()));
    }
    if gage_core::printable_line(text) != text {
        return Err(format!("{what} has control characters: {}", gage_core::printable_line(text)));
    }
    Ok(())
}

/// Checks a component's description of itself; returns `extra`.
pub(crate) fn info(info: &PluginInfo, limits: &Limits) -> Result<Object, String> {
    declared(&info.name, "its name", MAX_DECLARED_TEXT_BYTES)?;
    gage_core::check_name(&info.name).map_err(|error| format!("its name: {error}"))?;
    declared(&info.version, "its version", MAX_DECLARED_TEXT_BYTES)?;
    declared(&info.description, "its description", MAX_DESCRIPTION_BYTES)?;
    object(&info.extra, "its `extra`", limits).map_err(|error| error.message)
}

/// Checks a component's description of a member.
pub(crate) fn member(
    spec: &MemberSpec,
    inputs: &[InputSpec],
    optional: &OptionalMetadata,
    limits: &Limits,
) -> Result<(), String> {
    declared(&spec.name, "the name of a member", MAX_DECLARED_TEXT_BYTES)?;
    gage_core::check_name(&spec.name).map_err(|error| format!("the name of a member: {error}"))?;
    let of = |what: &str| format!("{what} of '{}'", spec.name);
    declared(&spec.version, &of("the version"), MAX_DECLARED_TEXT_BYTES)?;
    declared(&spec.description, &of("the description"), MAX_DESCRIPTION_BYTES)?;
    text(&spec.params_schema, &of("the schema"), limits).map_err(|error| error.message)?;
    if inputs.len() > MAX_DECLARED_ITEMS || optional.values.len() > MAX_DECLARED_ITEMS {
        return Err(format!("'{}' declares more than {MAX_DECLARED_ITEMS} inputs or values", spec.name));
    }
    for input in inputs {
        declared(&input.name, &of("an input"), MAX_DECLARED_TEXT_BYTES)?;
        if input.path_params.len() > MAX_DECLARED_ITEMS || input.default_paths.len() > MAX_DECLARED_ITEMS {
            return Err(format!("an input of '{}' has more than {MAX_DECLARED_ITEMS} paths", spec.name));
        }
        for text in input.path_params.iter().chain(&input.default_paths) {
            declared(text, &of("a path"), MAX_DECLARED_TEXT_BYTES)?;
        }
    }
    if let Some(aggregation) = &optional.default_aggregation {
        declared(aggregation, &of("the aggregation"), MAX_DECLARED_TEXT_BYTES)?;
        if optional.values.is_empty() {
            return Err(format!("the metric '{}' declares no value", spec.name));
        }
    }
    for value in &optional.values {
        name(value.name.clone(), &of("a value"), limits).map_err(|error| error.message)?;
        if [value.minimum, value.maximum].into_iter().flatten().any(f64::is_nan) {
            return Err(format!("a bound of '{}' is not a number", value.name));
        }
    }
    Ok(())
}

/// Checks and parses JSON text from a guest.
pub(crate) fn json(text: &str, what: &str, limits: &Limits) -> Result<Value, ItemError> {
    bounded_json(text, what, limits)?;
    parsed(text, what)
}

/// Parses JSON text from a guest whose limits were already checked.
pub(crate) fn parsed(text: &str, what: &str) -> Result<Value, ItemError> {
    serde_json::from_str(text).map_err(|error| invalid(format!("{what} is not JSON: {error}")))
}

/// Checks the size of text that should be JSON, its depth, and the number of its values.
pub(crate) fn bounded_json(text: &str, what: &str, limits: &Limits) -> Result<(), ItemError> {
    self::text(text, what, limits)?;
    if gage_core::is_nested_deeper(text.as_bytes(), limits.json_depth) {
        return Err(invalid(format!("{what} is nested deeper than {} levels", limits.json_depth)));
    }
    let most = max_json_values(limits.result_bytes);
    if has_more_values(text.as_bytes(), most) {
        return Err(invalid(format!("{what} has more than {most} JSON values")));
    }
    Ok(())
}

/// Checks and parses JSON text from a guest that must be an object.
pub(crate) fn object(text: &str, what: &str, limits: &Limits) -> Result<Object, ItemError> {
    if text.is_empty() || text == "{}" {
        return Ok(Object::new());
    }
    match json(text, what, limits)? {
        Value::Object(object) => Ok(object),
        _ => Err(invalid(format!("{what} is not an object"))),
    }
}

fn finite(number: f64, what: &str) -> Result<f64, ItemError> {
    if number.is_finite() {
        Ok(number)
    } else {
        Err(invalid(format!("{what} is {number}, which is not a number")))
    }
}

fn name(text: String, what: &str, limits: &Limits) -> Result<String, ItemError> {
    let is_plain = |character: char| character.is_alphanumeric() || "_-.@/: ".contains(character);
    if text.is_empty() || text.chars().count() > limits.name_characters || !text.chars().all(is_plain) {
        let most = limits.name_characters;
        let shown = cut(text.escape_debug().to_string(), 100);
        return Err(invalid(format!(
            "{what} '{shown}' is not a name of 1 to {most} letters, digits and _-.@/:"
        )));
    }
    Ok(text)
}

/// Checks the detail of a card: an object, kept as text.
fn detail(text: String, limits: &Limits) -> Result<LazyJson, ItemError> {
    const WHAT: &str = "the detail of a card";
    if text.is_empty() || text == "{}" {
        return Ok(LazyJson::default());
    }
    bounded_json(&text, WHAT, limits)?;
    if !text.trim_start().starts_with('{') {
        parsed(&text, WHAT)?;
        return Err(invalid(format!("{WHAT} is not an object")));
    }
    LazyJson::from_text(text).map_err(|error| invalid(format!("{WHAT} is not JSON: {error}")))
}

/// Checks the card of a metric.
pub(crate) fn card(card: GuestCard, limits: &Limits) -> Result<ScoreCard, ItemError> {
    let most = limits.names_per_card;
    if card.sub_scores.len() > most || card.error_tags.len() > most {
        return Err(invalid(format!("a card holds more than {most} sub-scores or error tags")));
    }
    let explained = card.explain.as_ref().map_or(0, String::len);
    if explained + card.detail.len() > limits.result_bytes {
        let size = explained + card.detail.len();
        let most = limits.result_bytes;
        return Err(invalid(format!(
            "the explanation and the detail of a card have {size} bytes; at most {most} are allowed"
        )));
    }
    let primary_score = card.primary_score.map(|score| finite(score, "the primary score")).transpose()?;
    let mut sub_scores = Object::new();
    for sub_score in card.sub_scores {
        let value = finite(sub_score.value, "a sub-score")?;
        let name = name(sub_score.name, "the sub-score", limits)?;
        if sub_scores.contains_key(&name) {
            return Err(invalid(format!("the sub-score '{name}' occurs twice")));
        }
        sub_scores.insert(name, value.into());
    }
    let tags: Result<Vec<String>, ItemError> =
        card.error_tags.into_iter().map(|tag| name(tag, "the error tag", limits)).collect();
    Ok(ScoreCard {
        primary_score,
        pass: card.pass,
        sub_scores,
        error_tags: tags?,
        explain: card.explain,
        detail: detail(card.detail, limits)?,
    })
}

/// Checks that the scores of a card are within the bounds declared by the metric. The primary score belongs
/// to the first declared value, sub-scores match by name.
pub(crate) fn within_bounds(card: &ScoreCard, declared: &[ValueDescription]) -> Result<(), ItemError> {
    /// Tolerance for rounding.
    const SLACK: f64 = 1e-9;
    for (place, value) in declared.iter().enumerate() {
        let named = card.sub_scores.get(&value.name).and_then(Value::as_f64);
        let primary = card.primary_score.filter(|_| place == 0);
        for score in named.into_iter().chain(primary) {
            let is_low = value.minimum.is_some_and(|minimum| score < minimum - SLACK);
            let is_high = value.maximum.is_some_and(|maximum| score > maximum + SLACK);
            if is_low || is_high {
                let shown =
                    |bound: Option<f64>| bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string());
                return Err(invalid(format!(
                    "the value '{}' is {score}; the metric declares the range {} to {}",
                    value.name,
                    shown(value.minimum),
                    shown(value.maximum)
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types::SubScore;

    fn guest_card() -> GuestCard {
        GuestCard {
            primary_score: Some(0.5),
            pass: None,
            sub_scores: Vec::new(),
            error_tags: Vec::new(),
            explain: None,
            detail: "{}".to_owned(),
        }
    }

    #[test]
    fn scores_lie_where_the_metric_says() {
        let declared = |name: &str, minimum, maximum| ValueDescription {
            name: name.to_owned(),
            higher_is_better: true,
            minimum,
            maximum,
        };
        let values = [declared("score", Some(0.0), Some(1.0)), declared("error", Some(0.0), None)];
        let found = |primary, error: f64| {
            let sub_scores = Object::from_iter([("error".to_owned(), error.into())]);
            let card = ScoreCard { primary_score: primary, sub_scores, ..ScoreCard::default() };
            within_bounds(&card, &values).map_err(|error| error.message)
        };
        for (primary, error) in [(Some(0.0), 0.0), (Some(1.0 + 1e-12), 1e9), (None, 2.0)] {
            assert_eq!(found(primary, error), Ok(()), "{primary:?} {error}");
        }
        let too_high = "the value 'score' is 4; the metric declares the range 0 to 1";
        assert_eq!(found(Some(4.0), 0.0), Err(too_high.to_owned()));
        let too_low = "the value 'error' is -1; the metric declares the range 0 to any";
        assert_eq!(found(Some(0.5), -1.0), Err(too_low.to_owned()));
    }

    #[test]
    fn invalid_score_cards_are_refused() {
        let limits = Limits::default();
        let sub = |name: &str, value: f64| vec![SubScore { name: name.to_owned(), value }];
        let cases: Vec<(&str, GuestCard)> = vec![
            ("the primary score is NaN", GuestCard { primary_score: Some(f64::NAN), ..guest_card() }),
            ("the primary score is inf", GuestCard { primary_score: Some(f64::INFINITY), ..guest_card() }),
            ("a sub-score is -inf", GuestCard { sub_scores: sub("a", f64::NEG_INFINITY), ..guest_card() }),
            ("the sub-score ''", GuestCard { sub_scores: sub("", 1.0), ..guest_card() }),
            (
                "the sub-score 'a' occurs twice",
                GuestCard { sub_scores: [sub("a", 1.0), sub("a", 2.0)].concat(), ..guest_card() },
            ),
            (
                "the error tag '\\u{1b}[31m'",
                GuestCard { error_tags: vec!["\u{1b}[31m".to_owned()], ..guest_card() },
            ),
            (
                "the error tag '\\u{202e}'",
                GuestCard { error_tags: vec!["\u{202e}".to_owned()], ..guest_card() },
            ),
            ("more than 64", GuestCard { error_tags: vec!["a".to_owned(); 65], ..guest_card() }),
            ("not an object", GuestCard { detail: "[1]".to_owned(), ..guest_card() }),
            ("not JSON", GuestCard { detail: "{".to_owned(), ..guest_card() }),
            (
                "deeper than 32",
                GuestCard { detail: "{\"a\":".repeat(40) + "1" + &"}".repeat(40), ..guest_card() },
            ),
            (
                "more than 65536 JSON values",
                GuestCard { detail: format!("{{\"a\":[{}0]}}", "0,".repeat(65_534)), ..guest_card() },
            ),
            (
                "at most 1048576",
                GuestCard { detail: format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)), ..guest_card() },
            ),
        ];
        for (expected, guest) in cases {
            let error = card(guest, &limits).expect_err(expected);
            assert!(error.message.contains(expected), "{expected}: {}", error.message);
        }
        assert!(card(guest_card(), &limits).is_ok());
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(cut("ééé".to_owned(), 3), "é…");
    }
}
