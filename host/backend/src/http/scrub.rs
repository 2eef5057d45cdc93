//! Keeps keys out of everything that a server says.

use gage_config::Secret;
use std::borrow::Cow;

/// What is shorter is no secret, and would be found in ordinary words.
const LEAST: usize = 8;
/// What stands in the place of a secret.
const MARK: &str = "(secret)";

/// The secrets of a backend, in every form that a reply may repeat them in.
#[derive(Default)]
pub(crate) struct Scrubber(Vec<String>);

impl Scrubber {
    pub(super) fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Scrubber {
        let mut forms: Vec<String> = Vec::new();
        for secret in secrets {
            let value = secret.reveal();
            // Of `Bearer KEY` and `Basic KEY` the key alone is the secret.
            let bare = value.rsplit(' ').next().unwrap_or(value);
            for form in [value, bare] {
                if form.len() >= LEAST && !forms.iter().any(|known| known == form) {
                    forms.push(form.to_owned());
                    let escaped = serde_json::Value::from(form).to_string();
                    let escaped = escaped.trim_matches('"');
                    if escaped != form {
                        forms.push(escaped.to_owned());
                    }
                }
            }
        }
        // The longest first, or its part would be replaced and the rest remain.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Scrubber(forms)
    }

    /// The text without them.
    pub(crate) fn text(&self, text: String) -> String {
        match self.borrowed(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => clean,
        }
    }

    /// The same, copied only where there is one in it.
    pub(crate) fn borrowed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, form| {
            if text.contains(form.as_str()) { Cow::Owned(text.replace(form.as_str(), MARK)) } else { text }
        })
    }

    /// Every text within a value.
    pub(crate) fn value(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => {
                if let Cow::Owned(clean) = self.borrowed(text) {
                    *text = clean;
                }
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            serde_json::Value::Object(object) => self.object(object),
            _ => {}
        }
    }

    /// Every text and every name within an object.
    pub(crate) fn object(&self, object: &mut gage_core::Object) {
        if object.keys().any(|name| matches!(self.borrowed(name), Cow::Owned(_))) {
            let taken = std::mem::take(object);
            object.extend(taken.into_iter().map(|(name, value)| (self.text(name), value)));
        }
        object.values_mut().for_each(|value| self.value(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_found_wherever_they_are() {
        let secrets = ["Bearer sk-123456789", "sk-12345678", "short", "quote\"d-secret"]
            .map(|text| Secret::new(text.to_owned()));
        let scrubber = Scrubber::new(&secrets);
        let mut value = json!({"a": ["x sk-123456789 y", {"k sk-123456789": "quote\"d-secret"}], "short": 1});
        scrubber.value(&mut value);
        assert_eq!(value, json!({"a": ["x (secret) y", {"k (secret)": "(secret)"}], "short": 1}));
        assert_eq!(scrubber.text("{\"echo\": \"quote\\\"d-secret\"}".to_owned()), "{\"echo\": \"(secret)\"}");
    }
}
