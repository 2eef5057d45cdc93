//! Decimals as exact texts.

use num_bigint::{BigInt, Sign};

/// Maximum length of a number, in bytes; 32 bytes are 76 digits.
const MAX_DECIMAL_BYTES: usize = 128;
/// Maximum number of digits after the point.
const MAX_SCALE: i32 = 1_000;

/// Formats an integer with its last digits after the point.
pub(crate) fn of_integer(value: i64, scale: i32) -> Result<String, String> {
    point(value < 0, value.unsigned_abs().to_string(), scale)
}

/// Formats bytes in the same way: two's complement, big-endian.
pub(crate) fn of_bytes(bytes: &[u8], scale: i32) -> Result<String, String> {
    if bytes.is_empty() || bytes.len() > MAX_DECIMAL_BYTES {
        return Err(format!("a decimal of {} bytes; 1 to {MAX_DECIMAL_BYTES} are allowed", bytes.len()));
    }
    let value = BigInt::from_signed_bytes_be(bytes);
    point(value.sign() == Sign::Minus, value.magnitude().to_string(), scale)
}

fn point(is_negative: bool, mut digits: String, scale: i32) -> Result<String, String> {
    let scale = usize::try_from(scale).ok().filter(|_| scale <= MAX_SCALE);
    let scale = scale.ok_or_else(|| format!("the scale of a decimal must be 0 to {MAX_SCALE}"))?;
    if scale > 0 {
        if digits.len() <= scale {
            digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
        }
        digits.insert(digits.len() - scale, '.');
    }
    Ok(if is_negative { format!("-{digits}") } else { digits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_point_stands_where_the_scale_says() {
        for (value, scale, expected) in [
            (12_345, 2, "123.45"),
            (-12_345, 2, "-123.45"),
            (5, 3, "0.005"),
            (-5, 1, "-0.5"),
            (0, 2, "0.00"),
            (7, 0, "7"),
            (i64::MIN, 0, "-9223372036854775808"),
        ] {
            assert_eq!(of_integer(value, scale).as_deref(), Ok(expected));
            assert_eq!(of_bytes(&value.to_be_bytes(), scale).as_deref(), Ok(expected));
        }
        let most = [&[0x7f][..], &[0xff; 31]].concat();
        let expected = "57896044618658097711785492504343953926634992332820282019728792003956564819967";
        assert_eq!(of_bytes(&most, 0).as_deref(), Ok(expected));
        assert!(of_bytes(&[], 0).is_err() && of_bytes(&[0; 129], 0).is_err() && of_integer(1, -1).is_err());
    }

    proptest! {
        #[test]
        fn bytes_are_the_number_that_they_spell(value: i128) {
            prop_assert_eq!(of_bytes(&value.to_be_bytes(), 0), Ok(value.to_string()));
        }
    }
}
