//! The beginning of a line, which has everything that the index needs.

use gage_core::Outcome;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Maximum number of a sample. JSON readers in other languages represent larger numbers inexactly.
const MAX_SAMPLE_INDEX: u64 = (1 << 53) - 1;

/// The parts of a line that the index needs. They come before its sample and before its results, so the rest of the line,
/// which its checksum covers, is not parsed.
#[derive(Debug, PartialEq)]
pub(super) struct LineKey<'a> {
    pub(super) line: Option<u64>,
    pub(super) task_id: Cow<'a, str>,
    pub(super) index: u64,
    pub(super) row_digest: Cow<'a, str>,
    pub(super) outcome: Outcome,
    pub(super) awaits_scores: bool,
    pub(super) awaits_judges: bool,
    /// Number of answers in the same scoring batch, if it is a line of scores.
    pub(super) scored_together: Option<u32>,
}

impl<'a> LineKey<'a> {
    /// Reads the beginning of a line.
    ///
    /// # Errors
    /// If it is not JSON, lacks a part, or has a number of a sample that is too large.
    pub(super) fn read(json: &'a [u8]) -> Result<LineKey<'a>, serde_json::Error> {
        let mut reader = KeyReader::default();
        let mut document = serde_json::Deserializer::from_slice(json);
        let read = document.deserialize_map(&mut reader);
        // The reader stops with an error, once it has what it needs.
        if !reader.is_enough {
            read?;
        }
        let missing = serde_json::Error::missing_field;
        let index = reader.index.ok_or_else(|| missing("index"))?;
        if index > MAX_SAMPLE_INDEX {
            let message = format!("the `index` is {index}, and at most {MAX_SAMPLE_INDEX} is allowed");
            return Err(serde_json::Error::custom(message));
        }
        Ok(LineKey {
            line: reader.line,
            task_id: reader.task_id.ok_or_else(|| missing("task_id"))?,
            index,
            row_digest: reader.row_digest.ok_or_else(|| missing("row_digest"))?,
            outcome: reader.outcome.ok_or_else(|| missing("outcome"))?,
            awaits_scores: reader.awaits_scores,
            awaits_judges: reader.awaits_judges,
            scored_together: reader.scored_together,
        })
    }
}

/// The members of a line so far.
#[derive(Default)]
struct KeyReader<'a> {
    line: Option<u64>,
    task_id: Option<Cow<'a, str>>,
    index: Option<u64>,
    row_digest: Option<Cow<'a, str>>,
    outcome: Option<Outcome>,
    awaits_scores: bool,
    awaits_judges: bool,
    scored_together: Option<u32>,
    is_enough: bool,
}

/// A text that is borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Visitor<'a> for &mut KeyReader<'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a line of the journal")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(Text(name)) = members.next_key()? {
            match &*name {
                "line" => self.line = members.next_value()?,
                "task_id" => self.task_id = Some(members.next_value::<Text<'a>>()?.0),
                "index" => self.index = Some(members.next_value()?),
                "row_digest" => self.row_digest = Some(members.next_value::<Text<'a>>()?.0),
                "outcome" => self.outcome = Some(members.next_value()?),
                "awaits_scores" => self.awaits_scores = members.next_value()?,
                "awaits_judges" => self.awaits_judges = members.next_value()?,
                "sample" => {
                    self.is_enough = true;
                    return Err(M::Error::custom("the rest is not read"));
                }
                "scores" => return members.next_value_seed(self),
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// The scores of a line.
impl<'a> DeserializeSeed<'a> for &mut KeyReader<'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, scores: D) -> Result<(), D::Error> {
        scores.deserialize_map(ScoresReader(self))
    }
}

struct ScoresReader<'r, 'a>(&'r mut KeyReader<'a>);

impl<'a> Visitor<'a> for ScoresReader<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("scores")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(Text(name)) = members.next_key()? {
            if name == "scored_together" {
                self.0.scored_together = Some(members.next_value()?);
                self.0.is_enough = true;
                return Err(M::Error::custom("the rest is not read"));
            }
            members.next_value::<IgnoredAny>()?;
        }
        Err(M::Error::missing_field("scored_together"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_line_is_read() {
        let begin =
            r#""line":7,"task_id":"t\"","index":3,"sample_id":"s","row_digest":"00","outcome":"scored""#;
        for (rest, awaits_scores, awaits_judges, scored_together) in [
            (r#","sample":{"id":1"#, false, false, None),
            (r#","awaits_scores":true,"sample":nothing"#, true, false, None),
            (r#","more":[1],"awaits_scores":true,"awaits_judges":true,"sample":null}"#, true, true, None),
            (r#","scores":{"more":{},"scored_together":32,"metrics":"#, false, false, Some(32)),
            ("}", false, false, None),
        ] {
            let expected = LineKey {
                line: Some(7),
                task_id: "t\"".into(),
                index: 3,
                row_digest: "00".into(),
                outcome: Outcome::Scored,
                awaits_scores,
                awaits_judges,
                scored_together,
            };
            let line = format!("{{{begin}{rest}");
            assert_eq!(LineKey::read(line.as_bytes()).ok(), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_lacks_a_part_is_refused() {
        for (line, message) in [
            ("[]", "invalid type"),
            ("{", "EOF"),
            (r#"{"task_id":"t","index":0,"outcome":"scored","sample":{}}"#, "missing field `row_digest`"),
            (r#"{"index":0,"row_digest":"0","outcome":"scored","sample":{}}"#, "missing field `task_id`"),
            (r#"{"task_id":"t","row_digest":"0","outcome":"scored"}"#, "missing field `index`"),
            (r#"{"task_id":"t","index":0,"row_digest":"0","sample":{}}"#, "missing field `outcome`"),
            (
                r#"{"task_id":"t","index":0,"row_digest":"0","outcome":"scored","scores":{}}"#,
                "missing field `scored_together`",
            ),
        ] {
            let error = LineKey::read(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{line}: {error}");
        }
    }

    #[test]
    fn numbers_of_samples_have_a_maximum() {
        for (index, is_read) in [(MAX_SAMPLE_INDEX, true), (MAX_SAMPLE_INDEX + 1, false), (u64::MAX, false)] {
            let line = format!(
                r#"{{"task_id":"t","index":{index},"row_digest":"0","outcome":"scored","sample":null}}"#
            );
            let read = LineKey::read(line.as_bytes());
            assert_eq!(read.is_ok(), is_read, "{line}");
            assert!(read.is_ok_and(|key| key.index == index) || !is_read, "{line}");
        }
    }
}
