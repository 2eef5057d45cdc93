//! Redaction of exchanges before they are recorded.

use gage_core::Object;
use gage_secrets::redact;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

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
/// `None` if there is no such text.
fn joined(body: &str) -> Option<String> {
    const DATA: &str = "data:";
    let events: Vec<Option<Value>> =
        body.lines().map(|line| serde_json::from_str(line.strip_prefix(DATA)?).ok()).collect();
    let mut texts: HashMap<String, String> = HashMap::new();
    for event in events.iter().flatten() {
        each_text(event, "", &mut |place, text| texts.entry(place.to_owned()).or_default().push_str(text));
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
    for (line, event) in body.split_inclusive('\n').zip(events) {
        let Some(mut event) = event else {
            out.push_str(line);
            continue;
        };
        let mut places = Vec::new();
        each_text(&event, "", &mut |place, _| places.push(place.to_owned()));
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

/// Visits every text of a value with its JSON pointer.
fn each_text(value: &Value, place: &str, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(place, text),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| each_text(item, &format!("{place}/{index}"), visit));
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                each_text(value, &format!("{place}/{key}"), visit);
            }
        }
        _ => {}
    }
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
