//! Tells whether a text spells a Sample of nothing but text, without making one. It is for who reads a
//! million of them and wants to know no more than that each is sound.
//!
//! Only what is surely a Sample is told; everything else is given up, and read as `direct` and `read` do.

use super::checks;
use crate::content::Role;
use crate::json_decode::scanner::{RawJson, Scanner};
use crate::json_decode::streaming::checked;
use crate::schema::SCHEMA_VERSION;
use serde::de::value::Error as Problem;

/// The id of such a Sample: its messages are texts, it holds nothing for whoever samples, renders or runs
/// tools, and its answer is a text, that of an option's id where there are options.
pub(super) fn id(text: &str) -> Option<String> {
    let mut scan = Scanner::new(text);
    let mut plain = FastValidator::default();
    scan.object(|scan, name| plain.member(scan, name))?;
    let id = plain.id?;
    let is_whole = plain.has_version && plain.has_messages && plain.has_references && scan.is_at_end();
    let has_id = checked::<_, Problem>(|reading| checks::id(id, reading)).is_ok();
    let is_sound = plain.options_differ() && plain.label_is_first_answer() && plain.is_answered();
    (is_whole && has_id && is_sound).then(|| id.to_owned())
}

/// What is known of a Sample. A name that is not among [`FastValidator::member`]'s is one that somebody looks at.
#[derive(Default)]
struct FastValidator<'t> {
    has_version: bool,
    id: Option<&'t str>,
    has_task_type: bool,
    has_messages: bool,
    options: Option<Vec<&'t str>>,
    has_references: bool,
    /// The text of the first reference, if it is one text alone.
    first_answer: Option<RawJson<'t>>,
    /// Whether there is a first reference.
    has_answer: bool,
    label: Option<Option<RawJson<'t>>>,
    has_metadata: bool,
    has_choices: bool,
}

impl<'t> FastValidator<'t> {
    /// Reads a member; nothing where it is none of a plain Sample, or comes twice.
    fn member(&mut self, scan: &mut Scanner<'t>, name: RawJson<'t>) -> Option<()> {
        match name.plain()? {
            "schema_version" => {
                (scan.string()?.plain()? == SCHEMA_VERSION).then_some(())?;
                first(&mut self.has_version)
            }
            "id" if self.id.is_none() => {
                self.id = Some(scan.string()?.plain()?);
                Some(())
            }
            "task_type" => {
                let _ = text_or_null(scan)?;
                first(&mut self.has_task_type)
            }
            "messages" => {
                scan.list(message)?;
                first(&mut self.has_messages)
            }
            "options" if self.options.is_none() => {
                let mut ids = Vec::new();
                if !scan.null() {
                    scan.list(|scan| {
                        ids.push(option(scan)?);
                        Some(())
                    })?;
                }
                self.options = Some(ids);
                Some(())
            }
            "references" => {
                scan.list(|scan| {
                    let only = reference(scan)?;
                    if first(&mut self.has_answer).is_some() {
                        self.first_answer = only;
                    }
                    Some(())
                })?;
                first(&mut self.has_references)
            }
            "label" if self.label.is_none() => {
                self.label = Some(text_or_null(scan)?);
                Some(())
            }
            "metadata" => {
                (scan.null() || scan.next_is(b'{') && scan.skip().is_some()).then_some(())?;
                first(&mut self.has_metadata)
            }
            "choices" => {
                (scan.null() || scan.next_is(b'[') && scan.skip().is_some()).then_some(())?;
                first(&mut self.has_choices)
            }
            _ => None,
        }
    }

    fn options_differ(&self) -> bool {
        let Some(ids) = self.options.as_deref().filter(|ids| !ids.is_empty()) else { return true };
        checked::<_, Problem>(|reading| {
            checks::distinct_option_ids(ids.iter().copied().map(Some), reading);
            for id in ids {
                checks::id(id, reading);
            }
        })
        .is_ok()
    }

    /// Whether the first answer says something, and which option where there are some.
    fn is_answered(&self) -> bool {
        let Some(answer) = self.first_answer.filter(|answer| !answer.text.trim().is_empty()) else {
            return false;
        };
        match self.options.as_deref() {
            None | Some([]) => true,
            Some(ids) => !answer.is_escaped && ids.contains(&answer.text),
        }
    }

    /// Whether there is no label, or one that spells the first reference. Others may agree with it, too.
    fn label_is_first_answer(&self) -> bool {
        match self.label.flatten() {
            Some(label) if self.has_answer => self
                .first_answer
                .is_some_and(|answer| (answer.text, answer.is_escaped) == (label.text, label.is_escaped)),
            _ => true,
        }
    }
}

/// Notes that something is there; nothing where it was there already.
fn first(is_there: &mut bool) -> Option<()> {
    (!std::mem::replace(is_there, true)).then_some(())
}

fn text_or_null<'t>(scan: &mut Scanner<'t>) -> Option<Option<RawJson<'t>>> {
    if scan.null() { Some(None) } else { scan.string().map(Some) }
}

fn message(scan: &mut Scanner<'_>) -> Option<()> {
    let (mut has_role, mut has_content) = (false, false);
    scan.object(|scan, name| match name.plain()? {
        "role" => {
            Role::from_name(scan.string()?.plain()?)?;
            first(&mut has_role)
        }
        "content" => {
            let _ = content(scan)?;
            first(&mut has_content)
        }
        _ => None,
    })?;
    (has_role && has_content).then_some(())
}

/// The text of a reference, if it is one text alone.
fn reference<'t>(scan: &mut Scanner<'t>) -> Option<Option<RawJson<'t>>> {
    let mut answer = None;
    scan.object(|scan, name| match name.plain()? {
        "answer" if answer.is_none() => {
            answer = Some(content(scan)?);
            Some(())
        }
        _ => None,
    })?;
    answer
}

/// A text, or a list of parts that are texts: the text, if there is one alone.
fn content<'t>(scan: &mut Scanner<'t>) -> Option<Option<RawJson<'t>>> {
    if scan.next_is(b'"') {
        return scan.string().map(Some);
    }
    let (mut only, mut count) = (None, 0);
    scan.list(|scan| {
        let (mut has_type, mut text) = (false, None);
        scan.object(|scan, name| match name.plain()? {
            "type" => {
                (scan.string()?.plain()? == "text").then_some(())?;
                first(&mut has_type)
            }
            "text" if text.is_none() => {
                text = Some(scan.string()?);
                Some(())
            }
            _ => None,
        })?;
        count += 1;
        only = text.filter(|_| count == 1);
        (has_type && text.is_some()).then_some(())
    })?;
    Some(only)
}

/// The id of an option.
fn option<'t>(scan: &mut Scanner<'t>) -> Option<&'t str> {
    let (mut id, mut has_content) = (None, false);
    scan.object(|scan, name| match name.plain()? {
        "id" if id.is_none() => {
            id = Some(scan.string()?.plain()?);
            Some(())
        }
        "content" => {
            scan.string()?;
            first(&mut has_content)
        }
        _ => None,
    })?;
    id.filter(|_| has_content)
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
            r#","options":[{"id":"4","content":"one"},{"id":"B","content":"two"}]"#,
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
            r#","options":[{"id":"A","content":"one"},{"id":"B","content":"two"}]"#,
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
            r#","id":"q2""#,
            r#","label":"4","label":"4""#,
            r#","label":"\u0034""#,
            r#","task_type":1"#,
            r#","references":[]"#,
            r#","messages":[{"role":"user"}]"#,
            r#","options":[{"id":"A"}]"#,
            r#","choices":{}"#,
            r#",}"#,
            r#"} {"#,
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
            ("[{\"answer\":\"4\"}]", "[]"),
            ("\"4\"", "\" \""),
            ("\"4\"", "{}"),
            ("\"4\"", "[{\"type\":\"text\"}]"),
            ("\"user\"", "\"user\",\"role\":\"user\""),
            ("\"user\"", "\"user\",\"name\":\"a\""),
            ("{\"answer\":\"4\"}", "{}"),
            ("\"id\":\"q1\",", ""),
        ] {
            let text = with("").replace(from, to);
            assert_eq!(id(&text), None, "{text}");
        }
    }
}
