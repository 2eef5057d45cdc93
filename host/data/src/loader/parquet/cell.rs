//! One value as JSON.

use super::calendar;
use super::decimal;
use super::leaf::LeafKind;
use super::media::data_url;
use ::parquet::data_type::{ByteArray, FixedLenByteArray, Int96};

/// A value of a physical type. The error says what JSON cannot say.
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
            // The bits of a number that is perhaps above `i32::MAX`.
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
        // The shortest digits of a float of four bytes, not those of the one of eight next to it.
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
            Err(error) => Err(format!("the text is not UTF-8 behind byte {}", error.valid_up_to())),
        },
        (LeafKind::Decimal { scale }, _) => quoted(&decimal::of_bytes(bytes, *scale)?, text),
        (LeafKind::Half, [low, high]) => half(u16::from_le_bytes([*low, *high])).write(kind, text),
        (LeafKind::Uuid, bytes) if bytes.len() == 16 => quoted(&uuid(bytes), text),
        (LeafKind::Interval, [m0, m1, m2, m3, d0, d1, d2, d3, t0, t1, t2, t3]) => {
            let months = u32::from_le_bytes([*m0, *m1, *m2, *m3]);
            let days = u32::from_le_bytes([*d0, *d1, *d2, *d3]);
            let milliseconds = u32::from_le_bytes([*t0, *t1, *t2, *t3]);
            quoted(&calendar::interval(months, days, milliseconds), text)
        }
        (LeafKind::Half | LeafKind::Uuid | LeafKind::Interval, _) => {
            Err(format!("{} bytes are too few or too many for its type", bytes.len()))
        }
        _ => {
            text.push(b'"');
            data_url(bytes, text);
            text.push(b'"');
            Ok(())
        }
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T, text: &mut Vec<u8>) -> Result<(), String> {
    serde_json::to_writer(text, value).map_err(|error| error.to_string())
}

/// A text that needs no escapes.
fn quoted(value: &str, text: &mut Vec<u8>) -> Result<(), String> {
    text.push(b'"');
    text.extend_from_slice(value.as_bytes());
    text.push(b'"');
    Ok(())
}

fn not_finite(value: f64) -> String {
    format!("the value is {value}, which JSON does not have")
}

/// A float of two bytes (IEEE 754 binary16): a sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2_f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2_f32.powi(exponent - 15),
    }
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_two_bytes() {
        for (bits, expected) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), expected, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan());
    }

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
