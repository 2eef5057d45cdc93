//! Tells whether a text spells a Sample of nothing but text, without making one. It is for who reads a
//! million of them and wants to know no more than that each is sound.
//!
//! Only what is surely a Sample is told; everything else is given up, and read as `direct` and `read` do.

use super::checks;
use crate::content::Role;
use crate::reading::direct::{Text, checked, give_up};
use crate::schema::SCHEMA_VERSION;
use serde::Deserialize;
use serde::de::value::Error as Problem;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt::{Formatter, Result as FormatResult};

/// The id of such a Sample: its messages are texts, and it holds nothing for whoever samples, renders or
/// runs tools.
pub(super) fn id(text: &str) -> Option<String> {
    let plain: Plain = serde_json::from_str(text).ok()?;
    let Text(id) = &plain.id;
    let are_known = plain.messages.iter().all(|message| Role::from_name(&message.role.0).is_some());
    let has_id = checked::<_, Problem>(|reading| checks::id(id, reading)).is_ok();
    let is_sound = plain.schema_version.0 == SCHEMA_VERSION && has_id && are_known;
    (is_sound && plain.options_differ() && plain.label_is_first_answer()).then(|| plain.id.0.into_owned())
}

/// A key that is not here is one that somebody looks at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'t> {
    #[serde(borrow)]
    schema_version: Text<'t>,
    #[serde(borrow)]
    id: Text<'t>,
    #[serde(borrow, default, rename = "task_type")]
    _task_type: Option<Text<'t>>,
    #[serde(borrow)]
    messages: Vec<PlainMessage<'t>>,
    #[serde(borrow, default)]
    options: Option<Vec<PlainOption<'t>>>,
    #[serde(borrow)]
    references: Vec<PlainReference<'t>>,
    #[serde(borrow, default)]
    label: Option<Text<'t>>,
    #[serde(default, rename = "metadata")]
    _metadata: Option<SoundObject>,
    #[serde(default, rename = "choices")]
    _choices: Option<Vec<Sound>>,
}

impl Plain<'_> {
    fn options_differ(&self) -> bool {
        let ids = self.options.iter().flatten().map(|option| Some(option.id.0.as_ref()));
        checked::<_, Problem>(|reading| {
            checks::distinct_option_ids(ids, reading);
            for option in self.options.iter().flatten() {
                checks::id(&option.id.0, reading);
            }
        })
        .is_ok()
    }

    /// Whether there is no label, or one that spells the first reference. Others may agree with it, too.
    fn label_is_first_answer(&self) -> bool {
        match (&self.label, self.references.first()) {
            (Some(Text(label)), Some(first)) => first.answer.only.as_ref() == Some(label),
            (None, _) | (_, None) => true,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainMessage<'t> {
    #[serde(borrow)]
    role: Text<'t>,
    #[serde(borrow, rename = "content")]
    _content: PlainContent<'t>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainReference<'t> {
    #[serde(borrow)]
    answer: PlainContent<'t>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainPart<'t> {
    #[serde(borrow)]
    r#type: Text<'t>,
    #[serde(borrow)]
    text: Text<'t>,
}

/// A text, or a list of parts that are texts.
struct PlainContent<'t> {
    /// The text, if there is one alone.
    only: Option<Cow<'t, str>>,
}

impl<'de: 't, 't> Deserialize<'de> for PlainContent<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainContent { only: None })
    }
}

impl<'de: 't, 't> Visitor<'de> for PlainContent<'t> {
    type Value = PlainContent<'t>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a text or parts that are texts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self, E> {
        Ok(PlainContent { only: Some(text.into()) })
    }

    fn visit_str<E>(self, text: &str) -> Result<Self, E> {
        Ok(PlainContent { only: Some(text.to_owned().into()) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self, A::Error> {
        let mut only = None;
        let mut count = 0;
        while let Some(PlainPart { r#type, text }) = parts.next_element()? {
            if r#type.0 != "text" {
                return Err(give_up());
            }
            count += 1;
            only = Some(text.0).filter(|_| count == 1);
        }
        Ok(PlainContent { only })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainOption<'t> {
    #[serde(borrow)]
    id: Text<'t>,
    #[serde(borrow, rename = "content")]
    _content: Text<'t>,
}

/// Any value that JSON can hold; unlike [`serde::de::IgnoredAny`] it is read, so that numbers out of range
/// and halves of surrogate pairs are found.
struct Sound;

impl<'t> Deserialize<'t> for Sound {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Sound, D::Error> {
        deserializer.deserialize_any(Sound)
    }
}

impl<'t> Visitor<'t> for Sound {
    type Value = Sound;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_str<E>(self, _value: &str) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<Sound, A::Error> {
        while let Some(Sound) = items.next_element()? {}
        Ok(Sound)
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Sound, A::Error> {
        while let Some((Text(_), Sound)) = members.next_entry()? {}
        Ok(Sound)
    }
}

/// Any object.
struct SoundObject;

impl<'t> Deserialize<'t> for SoundObject {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<SoundObject, D::Error> {
        deserializer.deserialize_map(Sound).map(|Sound| SoundObject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    #[test]
    fn what_is_told_is_what_is_read() {
        let with = |members: &str| {
            let head = r#""schema_version":"v1","id":"q1","messages":[{"role":"user","content":"a\u00e9"}]"#;
            format!(r#"{{{head},"references":[{{"answer":"4"}}]{members}}}"#)
        };
        assert_eq!(SCHEMA_VERSION, "v1");
        let plain = [
            "",
            r#","label":"4","metadata":{"page":[1,-2,0.5,null,true,{"a":"b"}]}"#,
            r#","label":null,"metadata":null,"task_type":"qa","options":null,"choices":["x",1]"#,
            r#","options":[{"id":"A","content":"one"},{"id":"B","content":"two"}]"#,
        ];
        let parts = r#"[{"type":"text","text":"4"}]"#;
        assert_eq!(
            id(&with(r#","label":"4","metadata":{}"#).replace("\"4\"}", &format!("{parts}}}"))).as_deref(),
            Some("q1")
        );
        for members in plain {
            let text = with(members);
            assert_eq!(id(&text).as_deref(), Some("q1"), "{text}");
            assert!(Sample::from_text(&text).is_ok_and(|sample| sample.id == "q1"), "{text}");
        }
        let given_up = [
            r#","label":"four""#,
            r#","label":4"#,
            r#","metadata":[]"#,
            r#","metadata":{"a":1e400}"#,
            r#","metadata":{"a":"\ud800"}"#,
            r#","metadata":{"a":1},"metadata":{"a":2}"#,
            r#","options":[{"id":"A","content":"one"},{"id":"A","content":"two"}]"#,
            r#","options":[{"id":" ","content":"one"}]"#,
            r#","sampling_params":{}"#,
            r#","inputs":{}"#,
            r#","few_shot_examples":[]"#,
            r#","note":1"#,
            r#",}"#,
        ];
        for members in given_up {
            assert_eq!(id(&with(members)), None, "{members}");
        }
        for (from, to) in [
            ("\"v1\"", "\"v2\""),
            ("\"q1\"", "\" \""),
            ("\"q1\"", "1"),
            ("\"user\"", "\"nobody\""),
            ("\"a\\u00e9\"", "[{\"type\":\"image_url\",\"image_url\":\"a.png\"}]"),
            ("\"a\\u00e9\"", "null"),
            ("[{\"answer\":\"4\"}]", "null"),
            ("\"4\"", "{}"),
            ("\"id\":\"q1\",", ""),
        ] {
            let text = with("").replace(from, to);
            assert_eq!(id(&text), None, "{text}");
        }
    }
}
