//! Decoder of image files to pixels.

use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of pixels of an image.
const MAX_PIXELS: u64 = 64 << 20;

/// Maximum number of bytes that a decoder may allocate in addition to the pixels.
const DECODER_BYTES: u64 = 32 << 20;

/// Returns the number of bytes of an RGB image; 0 if there would be too many.
pub fn rgb_bytes(width: u32, height: u32) -> usize {
    let pixels = u64::from(width) * u64::from(height);
    usize::try_from(pixels.saturating_mul(3)).unwrap_or(0)
}

/// Decodes an image, or the first frame of an animation, rotated as its file specifies. Transparency is dropped.
///
/// # Errors
/// If the file is not an image, is broken, or has more than 64 Mi pixels.
pub fn decode(bytes: &[u8]) -> Result<RgbImage, String> {
    // A panic in a decoder means that it cannot read the image.
    let decoded = catch_unwind(AssertUnwindSafe(|| pixels(bytes)));
    decoded.unwrap_or_else(|_| Err("it cannot be decoded: the decoder gave up".to_owned()))
}

fn pixels(bytes: &[u8]) -> Result<RgbImage, String> {
    let failed = |error: image::ImageError| format!("it cannot be decoded: {error}");
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| format!("it cannot be read: {error}"))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(failed)?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!("it has {width} x {height} pixels, and 1 to {MAX_PIXELS} can be decoded"));
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(decoder.total_bytes().saturating_mul(3).saturating_add(DECODER_BYTES));
    decoder.set_limits(limits).map_err(failed)?;
    let orientation = decoder.orientation().map_err(failed)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(failed)?;
    image.apply_orientation(orientation);
    Ok(image.into_rgb8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageFormat, Rgba, RgbaImage};

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        RgbaImage::from_pixel(width, height, Rgba([10, 20, 30, 0]))
            .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
            .expect("written");
        bytes
    }

    #[test]
    fn pixels_have_three_colours() {
        let image = decode(&png(3, 2)).expect("an image");
        assert_eq!((image.width(), image.height(), image.as_raw().len()), (3, 2, rgb_bytes(3, 2)));
        assert_eq!(image.get_pixel(2, 1).0, [10, 20, 30]);
    }

    #[test]
    fn what_is_broken_is_said_and_never_more() {
        let whole = png(64, 64);
        for length in 0..whole.len() - 12 {
            let found = decode(&whole[..length]);
            assert!(found.is_err(), "{length} of {}", whole.len());
        }
        // A header that claims far more data than there is.
        let mut huge = whole;
        huge[16..20].copy_from_slice(&[0, 1, 0, 0]);
        huge[20..24].copy_from_slice(&[0, 1, 0, 0]);
        assert!(decode(&huge).is_err());
        assert!(decode(b"no image at all").is_err_and(|reason| reason.contains("decoded")));
    }
}
