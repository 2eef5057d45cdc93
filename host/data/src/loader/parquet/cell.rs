//! One value as JSON.

use super::calendar;
use super::decimal;
use super::leaf::LeafKind;
use crate::media::embedded_url;
use ::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use half::f16;
use uuid::Uuid;

/// A value of a physical type. The error describes a value that JSON cannot represent.
pub(crate) trait Cell: Send {
    fn write(&self, kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String>;
}

impl Cell for bool {
    fn write(&self, _: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        json(self, text)
    }
}

impl Cell for i32 {
    fn write(&self, kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        match kind {
            // The bits of a number that may exceed `i32::MAX`.
            LeafKind::Unsigned => json(&self.cast_unsigned(), text),
            _ => i64::from(*self).write(kind, text),
        }
    }
}

impl Cell for i64 {
    fn write(&self, kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        match kind {
            LeafKind::Unsigned => json(&self.cast_unsigned(), text),
            LeafKind::Decimal { scale } => quoted(&decimal::of_integer(*self, *scale)?, text),
            LeafKind::Date => quoted(&calendar::date(*self), text),
            LeafKind::Time { unit, is_utc } => quoted(&calendar::time(*self, *unit, *is_utc)?, text),
            LeafKind::Timestamp { unit, is_utc } => quoted(&calendar::timestamp(*self, *unit, *is_utc), text),
            _ => json(self, text),
        }
    }
}

impl Cell for Int96 {
    fn write(&self, _: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        let [low, high, day] = self.data() else { return Err("not three words long".to_owned()) };
        let nanoseconds = u64::from(*high) << 32 | u64::from(*low);
        quoted(&calendar::julian(*day, nanoseconds), text)
    }
}

impl Cell for f32 {
    fn write(&self, _: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        // The shortest digits of the four-byte float, not those of the nearest eight-byte float.
        if self.is_finite() { json(self, text) } else { Err(not_finite(f64::from(*self))) }
    }
}

impl Cell for f64 {
    fn write(&self, _: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        if self.is_finite() { json(self, text) } else { Err(not_finite(*self)) }
    }
}

impl Cell for ByteArray {
    fn write(&self, kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        bytes(self.data(), kind, text)
    }
}

impl Cell for FixedLenByteArray {
    fn write(&self, kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
        bytes(self.data(), kind, text)
    }
}

fn bytes(bytes: &[u8], kind: &LeafKind, text: &mut Vec<u8>) -> Result<(), String> {
    match (kind, bytes) {
        (LeafKind::Text, _) => match std::str::from_utf8(bytes) {
            Ok(value) => json(value, text),
            Err(error) => Err(format!("the text is not UTF-8 after byte {}", error.valid_up_to())),
        },
        (LeafKind::Decimal { scale }, _) => quoted(&decimal::of_bytes(bytes, *scale)?, text),
        (LeafKind::Half, [low, high]) => f16::from_le_bytes([*low, *high]).to_f32().write(kind, text),
        (LeafKind::Uuid, _) if bytes.len() == 16 => {
            let uuid = Uuid::from_slice(bytes).map_err(|error| error.to_string())?;
            quoted(&uuid.to_string(), text)
        }
        (LeafKind::Interval, [m0, m1, m2, m3, d0, d1, d2, d3, t0, t1, t2, t3]) => {
            let months = u32::from_le_bytes([*m0, *m1, *m2, *m3]);
            let days = u32::from_le_bytes([*d0, *d1, *d2, *d3]);
            let milliseconds = u32::from_le_bytes([*t0, *t1, *t2, *t3]);
            quoted(&calendar::interval(months, days, milliseconds), text)
        }
        (LeafKind::Half | LeafKind::Uuid | LeafKind::Interval, _) => {
            Err(format!("{} bytes are too few or too many for its type", bytes.len()))
        }
        _ => quoted(&embedded_url(bytes), text),
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) -> Result<(), String> {
    serde_json::to_writer(text, value).map_err(|error| error.to_string())
}

/// Writes a text that needs no escapes.
fn quoted(value: &str, text: &mut Vec<u8>) -> Result<(), String> {
    text.push(b'"');
    text.extend_from_slice(value.as_bytes());
    text.push(b'"');
    Ok(())
}

fn not_finite(value: f64) -> String {
    format!("the value is {value}, which JSON does not have")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_are_meant() {
        let write = |cell: &dyn Cell, kind: LeafKind| {
            let mut text = Vec::new();
            cell.write(&kind, &mut text).map(|()| String::from_utf8(text).expect("UTF-8"))
        };
        let of = |text: &str| Ok(text.to_owned());
        assert_eq!(write(&-1_i32, LeafKind::Unsigned), of("4294967295"));
        assert_eq!(write(&-1_i64, LeafKind::Unsigned), of("18446744073709551615"));
        assert_eq!(write(&i64::MIN, LeafKind::Plain), of("-9223372036854775808"));
        assert_eq!(write(&0.1_f32, LeafKind::Plain), of("0.1"));
        assert_eq!(write(&0.1_f64, LeafKind::Plain), of("0.1"));
        assert!(write(&f64::NAN, LeafKind::Plain).is_err_and(|problem| problem.contains("NaN")));
        assert!(write(&f32::NEG_INFINITY, LeafKind::Plain).is_err_and(|problem| problem.contains("-inf")));
        assert_eq!(write(&ByteArray::from(vec![0x55, 0x35]), LeafKind::Half), of("0.33325195"));
        assert!(write(&ByteArray::from(vec![0, 0x7c]), LeafKind::Half).is_err());
        let uuid: Vec<u8> = (0..16).collect();
        assert_eq!(
            write(&ByteArray::from(uuid), LeafKind::Uuid),
            of("\"00010203-0405-0607-0809-0a0b0c0d0e0f\"")
        );
        assert!(write(&ByteArray::from(vec![1]), LeafKind::Uuid).is_err());
        assert_eq!(write(&ByteArray::from("a\"b"), LeafKind::Text), of(r#""a\"b""#));
        assert!(write(&ByteArray::from(vec![b'a', 0xff]), LeafKind::Text).is_err());
        assert_eq!(
            write(&ByteArray::from("a"), LeafKind::Plain),
            of("\"data:application/octet-stream;base64,YQ==\"")
        );
        let interval = [1, 0, 0, 0, 2, 0, 0, 0, 0xdc, 5, 0, 0].to_vec();
        assert_eq!(write(&ByteArray::from(interval), LeafKind::Interval), of("\"P1M2DT1.500S\""));
    }
}
