//! The members of a line, each with its JSON text, so that texts need not be parsed to be kept.

use crate::{SampleRecord, SampleTiming};
use gage_core::{LazyJson, RecordedSample};
use serde::de::{Deserialize, Error as _, IgnoredAny};
use serde_json::{Error, Result};

/// The members of a JSON object as serde_json writes it: without white space, and with known keys unescaped.
struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Members<'a> {
    fn of(json: &'a [u8]) -> Result<Members<'a>> {
        json.strip_prefix(b"{").map(|rest| Members { rest }).ok_or_else(|| Error::custom("not an object"))
    }

    fn read_next(&mut self) -> Result<(&'a [u8], &'a [u8])> {
        let malformed = || Error::custom("not an object as this program writes it");
        let key =
            self.rest.strip_prefix(b",").unwrap_or(self.rest).strip_prefix(b"\"").ok_or_else(malformed)?;
        let end = memchr::memmem::find(key, b"\":").ok_or_else(malformed)?;
        let (key, value) = (&key[..end], &key[end + 2..]);
        let mut skipped = serde_json::Deserializer::from_slice(value).into_iter::<IgnoredAny>();
        skipped.next().transpose()?;
        let (value, rest) = value.split_at(skipped.byte_offset());
        self.rest = rest;
        Ok((key, value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest == b"}" {
            return None;
        }
        let read = self.read_next();
        if read.is_err() {
            self.rest = b"}";
        }
        Some(read)
    }
}

fn parsed<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    serde_json::from_slice(json)
}

fn kept(json: &[u8]) -> Result<LazyJson> {
    std::str::from_utf8(json).map(LazyJson::of_written).map_err(Error::custom)
}

/// Returns the task, the number and the id of the sample that a line names. The line may be damaged after them.
pub(super) fn sample_of(json: &[u8]) -> Option<(String, u64, String)> {
    let (mut task_id, mut index, mut sample_id) = (None, None, None);
    for (key, value) in Members::of(json).ok()?.map_while(Result::ok) {
        match key {
            b"task_id" => task_id = parsed(value).ok(),
            b"index" => index = parsed(value).ok(),
            b"sample_id" => sample_id = parsed(value).ok(),
            _ => {}
        }
        if sample_id.is_some() {
            break;
        }
    }
    Some((task_id?, index?, sample_id?))
}

impl SampleRecord {
    /// Reads a record from a line of the journal, whose checksum says that this program wrote it. Faster than parsing,
    /// because the texts of the Sample and of the model's output are kept as they are.
    ///
    /// # Errors
    /// If it is no record.
    pub(super) fn read(json: &[u8]) -> Result<SampleRecord> {
        let mut outcome = None;
        let mut record = SampleRecord {
            task_id: String::new(),
            index: 0,
            sample_id: String::new(),
            row_digest: String::new(),
            outcome: gage_core::Outcome::Scored,
            error: None,
            sample: RecordedSample::default(),
            row: None,
            support_output: None,
            model_output: None,
            judge_output: None,
            metrics: Vec::new(),
            timing: SampleTiming::default(),
            timing_metrics: Vec::new(),
        };
        for member in Members::of(json)? {
            let (key, value) = member?;
            match key {
                b"task_id" => record.task_id = parsed(value)?,
                b"index" => record.index = parsed(value)?,
                b"sample_id" => record.sample_id = parsed(value)?,
                b"row_digest" => record.row_digest = parsed(value)?,
                b"outcome" => outcome = Some(parsed(value)?),
                b"error" => record.error = parsed(value)?,
                b"sample" => record.sample = kept(value)?.into(),
                b"row" => record.row = parsed(value)?,
                b"support_output" => record.support_output = parsed(value)?,
                b"model_output" if value == b"null" => {}
                b"model_output" => record.model_output = Some(kept(value)?),
                b"judge_output" => record.judge_output = parsed(value)?,
                b"metrics" => record.metrics = parsed(value)?,
                b"timing" => record.timing = parsed(value)?,
                b"timing_metrics" => record.timing_metrics = parsed(value)?,
                _ => {}
            }
        }
        record.outcome = outcome.ok_or_else(|| Error::missing_field("outcome"))?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use serde_json::json;

    #[test]
    fn a_record_is_read_as_serde_reads_it() {
        let mut failed = record("t\"\\", 3, "é\n\": {}");
        failed.model_output = None;
        failed.row = Some("\u{0}".to_owned());
        failed.judge_output = Some(json!({"a": [1.5, null, "}"]}));
        for record in [record("t", 1, "x"), failed] {
            let line = serde_json::to_string(&record).unwrap();
            let with_more = line.replacen('{', r#"{"line":7,"more\"":{"sample":[]},"#, 1);
            for line in [line, with_more] {
                assert_eq!(SampleRecord::read(line.as_bytes()).unwrap(), record, "{line}");
                assert_eq!(serde_json::from_str::<SampleRecord>(&line).unwrap(), record);
            }
        }
    }

    #[test]
    fn the_sample_of_a_damaged_line_is_read() {
        let line = serde_json::to_string(&record("t", 3, "x")).unwrap();
        let sample = Some(("t".to_owned(), 3, "s-3".to_owned()));
        assert_eq!(sample_of(line.as_bytes()), sample);
        let end = line.find("row_digest").unwrap();
        assert_eq!(sample_of(&line.as_bytes()[..end]), sample);
        assert_eq!(sample_of(line.replace("\"index\":3", "\"index\":?").as_bytes()), None);
        assert_eq!(sample_of(&line.as_bytes()[..10]), None);
        assert_eq!(sample_of(b"\0\0\0"), None);
    }

    #[test]
    fn anything_else_is_refused() {
        for line in
            ["", "[]", "{", "{}", r#"{"index":}"#, r#"{"index":1 }"#, r#"{"index":1"#, r#"{"a" :1}"#, "null"]
        {
            assert!(SampleRecord::read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
