//! Frames: how messages cross the standard streams of a model process.
//!
//! A frame is the length of a message in four bytes, the lowest first, and then the message in JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Error, ErrorKind, Read, Write};

/// Longest message in bytes, 1 GiB.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;

/// Writes a message as a frame.
///
/// # Errors
/// When the other side has closed the stream, or the message is too long.
pub fn write_frame(writer: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MAX_MESSAGE_BYTES);
    let length =
        length.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a message is longer than 1 GiB"))?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&bytes)?;
    writer.flush()
}

/// Reads a frame; `None` at the end.
///
/// # Errors
/// When the stream ends within a frame, or what it holds is not a message.
pub fn read_frame<T: DeserializeOwned>(reader: &mut impl Read) -> std::io::Result<Option<T>> {
    let mut length = Vec::with_capacity(4);
    if reader.take(4).read_to_end(&mut length)? == 0 {
        return Ok(None);
    }
    let length = length.try_into().map(u32::from_le_bytes).map_err(|_| ErrorKind::UnexpectedEof)?;
    if length > MAX_MESSAGE_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "a frame is longer than 1 GiB"));
    }
    let mut bytes = Vec::new();
    let read = reader.take(u64::from(length)).read_to_end(&mut bytes)?;
    if u32::try_from(read) != Ok(length) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, ToModel};

    #[test]
    fn numbers_cross_with_all_their_bits() {
        let vectors = vec![vec![f32::MIN_POSITIVE, 0.1, -1.0 / 3.0, f32::MAX]];
        let logprob = -123.456_789_012_345_67_f64;
        for answer in [
            Answer::Embedded { vectors: vectors.clone(), tokens: u64::MAX },
            Answer::Rolled { logprob, token_count: 3 },
        ] {
            let mut bytes = Vec::new();
            write_frame(&mut bytes, &answer).expect("a frame");
            let mut reader = bytes.as_slice();
            match read_frame::<Answer>(&mut reader).expect("a message").expect("one") {
                Answer::Embedded { vectors: read, tokens } => {
                    assert_eq!((read, tokens), (vectors.clone(), u64::MAX))
                }
                Answer::Rolled { logprob: read, .. } => assert_eq!(read.to_bits(), logprob.to_bits()),
                other => panic!("{other:?}"),
            }
            assert!(read_frame::<Answer>(&mut reader).expect("the end").is_none());
        }
    }

    #[test]
    fn what_is_cut_off_or_no_message_is_an_error() {
        let mut whole = Vec::new();
        write_frame(&mut whole, &ToModel::Cancel(7)).expect("a frame");
        for length in 1..whole.len() {
            assert!(read_frame::<ToModel>(&mut &whole[..length]).is_err(), "{length}");
        }
        assert!(read_frame::<ToModel>(&mut [255_u8; 8].as_slice()).is_err());
        assert!(read_frame::<ToModel>(&mut [2_u8, 0, 0, 0, b'{', b'}'].as_slice()).is_err());
    }
}
