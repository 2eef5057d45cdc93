//! One line of the journal: a checksum and JSON.

use crate::JournalId;
use crate::format::MAX_JSON_VALUES;
use crate::run_files::MAX_LINE_BYTES;
use serde::Serialize;
use std::io::{self, ErrorKind, Write as _};

/// Eight hexadecimal digits and a space.
const PREFIX: usize = 9;

/// Begin of the JSON of a numbered line.
const NUMBER_KEY: &[u8] = b"{\"line\":";

/// Maximum nesting of a record. `serde_json` reads up to 127 levels; a line that could be written but not
/// read back would make the journal useless.
const MAX_JSON_DEPTH: usize = 120;

/// Initial value of line checksums. It differs between journals, so a line that strays from one journal into
/// another is invalid there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChecksumSeed(u32);

impl ChecksumSeed {
    /// Seed for lines that hold the id of their journal: headers and counts.
    pub(super) const NONE: ChecksumSeed = ChecksumSeed(0);

    /// Returns the seed for the records of a journal.
    pub(super) fn of_journal(journal_id: JournalId) -> ChecksumSeed {
        ChecksumSeed(crc32fast::hash(journal_id.to_string().as_bytes()))
    }

    fn checksum(self, json: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(json);
        hasher.finalize()
    }
}

/// Formats JSON as a line.
pub(super) fn framed(json: &[u8], seed: ChecksumSeed) -> Vec<u8> {
    [format!("{:08x} ", seed.checksum(json)).as_bytes(), json, b"\n"].concat()
}

/// Appends a value to a buffer as a line. If it has a number, it must be an object; the number becomes its
/// first key, `line`.
pub(super) fn encode(
    value: &impl Serialize,
    number: Option<u64>,
    seed: ChecksumSeed,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    let start = buffer.len();
    buffer.extend_from_slice(b"00000000 ");
    if let Some(number) = number {
        write!(buffer, "{{\"line\":{number}")?;
    }
    let begin = buffer.len();
    serde_json::to_writer(&mut *buffer, value)?;
    if number.is_some() {
        // The number replaces the brace that opens the object.
        match buffer.get_mut(begin..) {
            Some([brace @ b'{', b'"', ..]) => *brace = b',',
            _ => return Err(io::Error::new(ErrorKind::InvalidData, "a record is no object")),
        }
    }
    let json = &buffer[start + PREFIX..];
    if gage_core::is_nested_deeper(json, MAX_JSON_DEPTH) {
        let message = format!("a record is nested deeper than {MAX_JSON_DEPTH} levels");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    if gage_core::has_more_values(json, MAX_JSON_VALUES) {
        let message = format!("a record has more than {MAX_JSON_VALUES} JSON values");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    // A longer line could not be read back.
    if (json.len() + PREFIX + 1) as u64 > MAX_LINE_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, "a record is larger than 256 MiB"));
    }
    let checksum = seed.checksum(json);
    // Replaces eight digits with eight digits.
    write!(&mut buffer[start..], "{checksum:08x}")?;
    buffer.push(b'\n');
    Ok(())
}

/// Returns the JSON of a line that ends with a newline and matches its checksum.
pub(super) fn decode(line: &[u8], seed: ChecksumSeed) -> Result<&[u8], &'static str> {
    let line = line.strip_suffix(b"\n").ok_or("the line has no end")?;
    let (digits, rest) = line.split_first_chunk::<8>().ok_or("the line is too short")?;
    let json = rest.strip_prefix(b" ").ok_or("the line does not begin with a checksum")?;
    let expected = checksum(digits).ok_or("the line does not begin with a checksum")?;
    if gage_core::has_more_values(json, MAX_JSON_VALUES) {
        return Err("the line has more JSON values than this program writes");
    }
    if seed.checksum(json) == expected { Ok(json) } else { Err("the checksum does not match") }
}

/// Returns the JSON of a line without checking anything.
pub(super) fn unchecked_json(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line).get(PREFIX..).unwrap_or_default()
}

/// Returns whether the JSON of a line begins with its number.
pub(super) fn is_numbered(json: &[u8]) -> bool {
    json.starts_with(NUMBER_KEY)
}

/// Formats the JSON of a numbered line as a line with another number. Returns `None` if it does not begin with a
/// number.
pub(super) fn renumbered(json: &[u8], number: u64, seed: ChecksumSeed) -> Option<Vec<u8>> {
    let after = json.strip_prefix(NUMBER_KEY)?;
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let json = [NUMBER_KEY, number.to_string().as_bytes(), &after[digits..]].concat();
    Some(framed(&json, seed))
}

/// Returns whether a line was completely written, even if it was damaged later. Such a line has the right
/// shape and contains no zero bytes, which would be data that never reached the disk.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let json = line.strip_suffix(b"\n").and_then(|line| line.split_first_chunk::<8>()).map(|(_, rest)| rest);
    json.is_some_and(|json| json.starts_with(b" {") && json.ends_with(b"}") && !json.contains(&0))
}

fn checksum(digits: &[u8; 8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some((sum << 4) | u32::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The seed of the journal with this id.
    fn seed(id: u128) -> ChecksumSeed {
        ChecksumSeed::of_journal(JournalId::try_from(format!("{id:032x}")).unwrap())
    }

    #[test]
    fn a_line_is_checksum_blank_json_newline() {
        let mut buffer = b"before ".to_vec();
        encode(&json!({"a": "é"}), None, ChecksumSeed::NONE, &mut buffer).unwrap();
        let line = &buffer[7..];
        // From `python3 -c "import zlib; print(f'{zlib.crc32(bytes):08x}')"`.
        assert_eq!(line, "20f000a5 {\"a\":\"é\"}\n".as_bytes());
        assert_eq!(decode(line, ChecksumSeed::NONE).unwrap(), "{\"a\":\"é\"}".as_bytes());
        let seed = seed(1);
        assert!(decode(line, seed).is_err());
        let mut of_journal = Vec::new();
        encode(&json!({"a": "é"}), None, seed, &mut of_journal).unwrap();
        // From `zlib.crc32(bytes, zlib.crc32(b"00000000000000000000000000000001"))`.
        assert_eq!(&of_journal[..8], b"a0e9facd");
        assert!(decode(&of_journal, seed).is_ok() && decode(&of_journal, self::seed(2)).is_err());
    }

    #[test]
    fn a_line_may_say_its_number() {
        let mut buffer = Vec::new();
        encode(&json!({"a": 1}), Some(7), ChecksumSeed::NONE, &mut buffer).unwrap();
        assert_eq!(decode(&buffer, ChecksumSeed::NONE).unwrap(), br#"{"line":7,"a":1}"#);
        assert_eq!(buffer, framed(br#"{"line":7,"a":1}"#, ChecksumSeed::NONE));
        assert!(encode(&json!([1]), Some(7), ChecksumSeed::NONE, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_line_gets_another_number_and_keeps_the_rest() {
        let seed = seed(1);
        let line = |number: u64| {
            let mut line = Vec::new();
            encode(&json!({"a": 12, "line_2": 7}), Some(number), seed, &mut line).unwrap();
            line
        };
        for (before, after) in [(7, 7), (10, 9), (123, 2)] {
            let whole = line(before);
            let json = decode(&whole, seed).unwrap();
            assert!(is_numbered(json) && json == unchecked_json(&whole));
            assert_eq!(renumbered(json, after, seed), Some(line(after)), "{before} {after}");
        }
        assert_eq!(renumbered(br#"{"a":1}"#, 2, seed), None);
        assert_eq!(unchecked_json(b"1234"), b"");
    }

    #[test]
    fn a_line_that_is_not_whole_is_refused() {
        let mut line = Vec::new();
        encode(&json!({"a": 1}), None, ChecksumSeed::NONE, &mut line).unwrap();
        for length in 0..line.len() {
            assert!(decode(&line[..length], ChecksumSeed::NONE).is_err(), "{length}");
        }
        let upper = line.to_ascii_uppercase();
        assert!(decode(&upper, ChecksumSeed::NONE).is_err());
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let nested = |levels: usize| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
        let mut line = Vec::new();
        encode(&nested(MAX_JSON_DEPTH), None, ChecksumSeed::NONE, &mut line).unwrap();
        assert!(serde_json::from_slice::<Value>(decode(&line, ChecksumSeed::NONE).unwrap()).is_ok());
        assert!(encode(&nested(MAX_JSON_DEPTH + 1), None, ChecksumSeed::NONE, &mut Vec::new()).is_err());

        let listed = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        let line_of = |json: String| framed(json.as_bytes(), ChecksumSeed::NONE);
        assert!(decode(&line_of(listed(MAX_JSON_VALUES)), ChecksumSeed::NONE).is_ok());
        let error = decode(&line_of(listed(MAX_JSON_VALUES + 1)), ChecksumSeed::NONE).unwrap_err();
        assert!(error.contains("more JSON values"), "{error}");
        let many = vec![0_u8; MAX_JSON_VALUES];
        let error = encode(&many, None, ChecksumSeed::NONE, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("more than 2097152 JSON values"), "{error}");
    }
}
