//! Redaction of exchanges before they are recorded.

use gage_core::{DEFAULT_MAX_JSON_VALUES, Object, has_more_values};
use gage_secrets::redact;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Prefix of the data of an event.
const DATA: &str = "data:";

/// Maximum number of different places of texts in a stream.
const MAX_PLACES: usize = 1 << 16;
/// Maximum total length of the names of these places, and of all places in one event.
const MAX_PLACE_BYTES: usize = 32 << 20;

/// Content of a recorded stream with too many texts. Its secrets could be in pieces that are not joined.
const UNRECORDED: &str =
    ": the stream has too many texts to search them for secrets, and was not recorded\n\n";

/// Returns the body of a request as used for its digest, with the suite's `extra_body` in its public form.
///
/// Replays thus need no secrets. Returns the bytes unchanged if they contain no secret.
pub(in crate::http) fn public_body<'b>(body: &'b [u8], added: &Object, public: &Object) -> Cow<'b, [u8]> {
    if added == public {
        return Cow::Borrowed(body);
    }
    let Ok(Value::Object(mut entries)) = serde_json::from_slice(body) else { return Cow::Borrowed(body) };
    put(&mut entries, added, public);
    serde_json::to_vec(&entries).map_or(Cow::Borrowed(body), Cow::Owned)
}

fn put(entries: &mut Object, added: &Object, public: &Object) {
    for (key, added) in added {
        let (Some(value), Some(public)) = (entries.get_mut(key), public.get(key)) else { continue };
        match (value, added, public) {
            (Value::Object(value), Value::Object(added), Value::Object(public)) => put(value, added, public),
            (value, added, public) if value == added => *value = public.clone(),
            _ => {}
        }
    }
}

/// Redacts secrets in the body of an answer, including those split across the events of a stream.
pub(in crate::http) fn without_secrets_of(body: String, content_type: &str) -> String {
    let body = match redact(&body) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => body,
    };
    if content_type.starts_with("text/event-stream") { joined(&body).unwrap_or(body) } else { body }
}

/// Moves each text that contains a secret when its pieces are joined into the first piece, redacted.
///
/// `None` if there is no such text. Holds one event at a time.
fn joined(body: &str) -> Option<String> {
    let mut data = body.lines().filter_map(|line| line.strip_prefix(DATA));
    if data.any(|data| has_more_values(data.as_bytes(), DEFAULT_MAX_JSON_VALUES)) {
        return Some(UNRECORDED.to_owned());
    }
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut stored_bytes = 0;
    for event in body.lines().filter_map(event_of) {
        let mut event_bytes = 0;
        let visited = each_text(&event, &mut String::new(), &mut |place, text| {
            event_bytes += place.len();
            match texts.get_mut(place) {
                Some(known) => known.push_str(text),
                None => {
                    stored_bytes += place.len();
                    texts.insert(place.to_owned(), text.to_owned());
                }
            }
            match event_bytes.max(stored_bytes) > MAX_PLACE_BYTES || texts.len() > MAX_PLACES {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if visited.is_break() {
            return Some(UNRECORDED.to_owned());
        }
    }
    let mut clean: HashMap<String, String> = HashMap::new();
    for (place, text) in texts {
        if let Cow::Owned(text) = redact(&text) {
            clean.insert(place, text);
        }
    }
    if clean.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let Some(mut event) = event_of(line) else {
            out.push_str(line);
            continue;
        };
        let mut places = Vec::new();
        let _ = each_text(&event, &mut String::new(), &mut |place, _| {
            places.extend(clean.contains_key(place).then(|| place.to_owned()));
            ControlFlow::Continue(())
        });
        let mut is_changed = false;
        for place in places {
            if let (Some(text), Some(value)) = (clean.get_mut(&place), event.pointer_mut(&place)) {
                *value = std::mem::take(text).into();
                is_changed = true;
            }
        }
        match is_changed {
            true => {
                out.push_str(&format!("{DATA} {event}{}", &line[line.trim_end_matches(['\r', '\n']).len()..]))
            }
            false => out.push_str(line),
        }
    }
    Some(out)
}

/// Returns the data of an event in a line.
fn event_of(line: &str) -> Option<Value> {
    serde_json::from_str(line.strip_prefix(DATA)?).ok()
}

/// Visits every text of a value with its JSON pointer, which begins with `place`.
fn each_text(
    value: &Value,
    place: &mut String,
    visit: &mut dyn FnMut(&str, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let length = place.len();
    match value {
        Value::String(text) => visit(place, text)?,
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                place.push('/');
                place.push_str(&index.to_string());
                each_text(item, place, visit)?;
                place.truncate(length);
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                place.push('/');
                place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                each_text(value, place, visit)?;
                place.truncate(length);
            }
        }
        _ => {}
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_is_taken_of_a_body_without_secrets() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let added = object(json!({"user": "sk", "deep": {"token": 7, "size": 1}, "sent": true}));
        let public =
            object(json!({"user": "${A_TOKEN}", "deep": {"token": "(secret)", "size": 1}, "sent": true}));
        let body = json!({"user": "sk", "deep": {"token": 7, "size": 1, "own": 2}, "sent": true, "n": "sk"});
        let found = public_body(body.to_string().as_bytes(), &added, &public).into_owned();
        let expected = json!({"user": "${A_TOKEN}", "deep": {"token": "(secret)", "size": 1, "own": 2}, "sent": true, "n": "sk"});
        assert_eq!(String::from_utf8(found).ok(), Some(expected.to_string()));
        assert!(matches!(public_body(b"{\"a\":  1}", &public, &public), Cow::Borrowed(_)));
    }

    #[test]
    fn a_stream_with_too_many_texts_is_not_recorded() {
        let texts = |first: usize| {
            let texts = (first..first + 1_000).map(|number| (format!("k{number}"), json!("sk")));
            format!("data: {}\n\n", Value::Object(texts.collect()))
        };
        let stream = |events: usize| (0..events).map(|event| texts(event * 1_000)).collect::<String>();
        assert_eq!(joined(&stream(3)), None);
        assert_eq!(joined(&stream(MAX_PLACES / 1_000 + 1)).as_deref(), Some(UNRECORDED));
        let long = "k".repeat(1 << 20);
        let event = format!("data: {}\n\n", json!({long: vec!["sk"; 100]}));
        assert_eq!(joined(&event).as_deref(), Some(UNRECORDED));
        let event = format!("data: [{}0]\n\n", "0,".repeat(DEFAULT_MAX_JSON_VALUES));
        assert_eq!(joined(&event).as_deref(), Some(UNRECORDED));
    }

    #[test]
    fn a_secret_in_pieces_is_found() {
        gage_secrets::register_secret("sk-in-pieces-1");
        let event = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
        let stream = ["is sk-in", "-pie", "ces-1!"].map(event).concat() + "data: [DONE]\n\n";
        let clean = without_secrets_of(stream.clone(), "text/event-stream; charset=utf-8");
        assert_eq!(clean, ["is (secret)!", "", ""].map(event).concat() + "data: [DONE]\n\n");
        let other = stream.replace("pie", "cak");
        assert_eq!(without_secrets_of(other.clone(), "text/event-stream"), other);
        let numbers = "{\"token\": 908070605}".to_owned();
        gage_secrets::register_secret("908070605");
        assert_eq!(without_secrets_of(numbers, "application/json"), "{\"token\": \"(secret)\"}");
    }
}
