//! Probing of images: their size, and whether they decode completely.

use super::decode_budget::DecodeBudget;
use super::error::{MediaError, MediaErrorKind};
use super::format::Format;
use super::truncation::{has_riff_chunk, is_whole};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageReader, Limits};
use std::io::Cursor;
use std::panic::AssertUnwindSafe;

/// Maximum memory of a decoder besides the pixels, in bytes.
const DECODER_BYTES: u64 = 32 << 20;

/// Properties of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ImageProbe {
    /// Width and height as stored. `None` for a format that is not decoded (AVIF, HEIC).
    pub(super) size: Option<(u32, u32)>,
    /// Rotation required for display.
    pub(super) orientation: Orientation,
    /// True if a lossy encoding may replace it: the image is lossy already, and has no transparency.
    pub(super) may_be_lossy: bool,
}

impl ImageProbe {
    /// Returns width and height as displayed.
    pub(super) fn seen_size(&self) -> Option<(u32, u32)> {
        let (width, height) = self.size?;
        let is_turned = matches!(
            self.orientation,
            Orientation::Rotate90
                | Orientation::Rotate270
                | Orientation::Rotate90FlipH
                | Orientation::Rotate270FlipH
        );
        Some(if is_turned { (height, width) } else { (width, height) })
    }
}

/// Decodes an image completely and discards the pixels; further frames of an animation are not decoded. AVIF and HEIC
/// are accepted as they are, without a size.
///
/// # Errors
/// `media_too_large` from the header alone, `media_truncated`, and `media_unreadable` with the decoder's message.
pub(super) fn examine(
    bytes: &[u8],
    format: Format,
    most_pixels: u64,
    permits: &DecodeBudget,
) -> Result<ImageProbe, MediaError> {
    let Some(codec) = format.codec() else {
        return Ok(ImageProbe { size: None, orientation: Orientation::NoTransforms, may_be_lossy: false });
    };
    guarded(bytes, format, || {
        let mut decoder = open(bytes, codec, most_pixels)?;
        let size = decoder.dimensions();
        // A broken EXIF block causes no rotation.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let is_opaque = matches!(decoder.color_type(), ColorType::L8 | ColorType::Rgb8);
        let may_be_lossy =
            is_opaque && (format == Format::Jpeg || format == Format::WebP && has_riff_chunk(bytes, b"VP8 "));
        let total = decoder.total_bytes();
        let _permit = permits.acquire(decoding_bytes(total, format));
        let mut pixels = vec![0_u8; usize::try_from(total).unwrap_or(usize::MAX)];
        decoder.read_image(&mut pixels).map_err(ImageProbeError::Decoder)?;
        Ok(ImageProbe { size: Some(size), orientation, may_be_lossy })
    })
}

/// Failure of probing an image.
pub(super) enum ImageProbeError {
    /// The image has more pixels than the limit.
    Pixels { width: u32, height: u32, most: u64 },
    /// Error of the decoder.
    Decoder(ImageError),
}

/// Returns a decoder that has read its header, for an image of at most `most_pixels`.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    codec: image::ImageFormat,
    most_pixels: u64,
) -> Result<impl ImageDecoder + use<'a>, ImageProbeError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), codec);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES);
    // Only the PNG decoder applies its limits here, to the data before the pixels.
    reader.limits(limits);
    let mut decoder = match reader.into_decoder() {
        Ok(decoder) => decoder,
        Err(error) => return Err(ImageProbeError::Decoder(error)),
    };
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > most_pixels {
        return Err(ImageProbeError::Pixels { width, height, most: most_pixels });
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(decoder.total_bytes().saturating_mul(3).saturating_add(DECODER_BYTES));
    decoder.set_limits(limits).map_err(ImageProbeError::Decoder)?;
    Ok(decoder)
}

/// Returns the memory needed for decoding. Progressive JPEG stores two-byte coefficients in addition to the pixels.
pub(super) fn decoding_bytes(total: u64, format: Format) -> u64 {
    if format == Format::Jpeg { total.saturating_mul(3) } else { total.saturating_mul(2) }
}

/// Runs a decoder. A panic means that it cannot read the image.
pub(super) fn guarded<T>(
    bytes: &[u8],
    format: Format,
    run: impl FnOnce() -> Result<T, ImageProbeError>,
) -> Result<T, MediaError> {
    let result = std::panic::catch_unwind(AssertUnwindSafe(run));
    let is_whole = is_whole(bytes, format);
    let name = format.media_type();
    let truncated = || {
        let message = format!("the {name} ends early, after byte {}; fetch or create it again", bytes.len());
        Err(MediaError::new(MediaErrorKind::Truncated, message))
    };
    match result {
        Ok(Ok(value)) if is_whole => Ok(value),
        Ok(Err(ImageProbeError::Pixels { width, height, most })) => {
            let message = format!(
                "the {name} has {width} x {height} pixels, more than the {most} that are decoded; make it \
                 smaller, or raise most_pixels"
            );
            Err(MediaError::new(MediaErrorKind::TooLarge, message))
        }
        Ok(Ok(_)) => truncated(),
        Ok(Err(ImageProbeError::Decoder(ImageError::Limits(error)))) => {
            let message = format!("the {name} takes too much memory to decode: {error}");
            Err(MediaError::new(MediaErrorKind::TooLarge, message))
        }
        Ok(Err(ImageProbeError::Decoder(error))) if !is_whole || is_early_end(&error) => truncated(),
        Ok(Err(ImageProbeError::Decoder(error))) => {
            let message = format!("the {name} cannot be decoded: {error}");
            Err(MediaError::new(MediaErrorKind::Unreadable, message))
        }
        Err(_) => {
            let message = format!("the {name} cannot be decoded: the decoder gave up");
            Err(MediaError::new(MediaErrorKind::Unreadable, message))
        }
    }
}

fn is_early_end(error: &ImageError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof)
        {
            return true;
        }
        cause = error.source();
    }
    matches!(error, ImageError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof)
}
