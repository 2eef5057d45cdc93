//! Resizing of images.
//!
//! Images are scaled with the cubic filter of Catmull and Rom, which other tools call bicubic, in
//! platform-independent arithmetic. They are first rotated as their EXIF block specifies. Colour profiles and the
//! further frames of an animation are dropped.

use super::decode_budget::DecodeBudget;
use super::error::{MediaError, MediaErrorKind};
use super::format::Format;
use super::image_probe::{ImageProbe, ImageProbeError, decoding_bytes, guarded, open};
use super::options::Bounds;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder};

/// Changes whenever the same image would produce other bytes.
pub(super) const ENCODER: &str = "image 0.25, catmull-rom, png or jpeg 95, 1";

/// Maximum ratio of the longer side to the shorter; images beyond it are refused.
const MAX_ASPECT_RATIO: u32 = 200;
const JPEG_QUALITY: u8 = 95;

/// Returns the width and height for an image: multiples of the factor, with as many pixels as the bounds allow and an
/// aspect ratio close to the original. `None` if the image already has that size.
///
/// The arithmetic is that of Qwen2-VL's "smart resize". In addition, the upper bound holds for long images too: their
/// longer side is cut down.
///
/// # Errors
/// `media_too_large` for an aspect ratio above 200.
pub(super) fn target((width, height): (u32, u32), bounds: Bounds) -> Result<Option<(u32, u32)>, MediaError> {
    let (short, long) = (width.min(height), width.max(height));
    if short == 0 || u64::from(long) > u64::from(short) * u64::from(MAX_ASPECT_RATIO) {
        let message = format!(
            "an image of {width} x {height} pixels cannot be resized: its longer side may be at most {MAX_ASPECT_RATIO} times \
             as long as its shorter one; cut it into parts, or leave out min_pixels, max_pixels and factor, so that it is \
             sent as it is"
        );
        return Err(MediaError::new(MediaErrorKind::TooLarge, message));
    }
    let Bounds { min_pixels, max_pixels, factor } = bounds;
    let step = u64::from(factor);
    let (exact_width, exact_height) = (u64::from(width), u64::from(height));
    let pixels = exact_width * exact_height;
    let is_multiple = exact_width % step == 0 && exact_height % step == 0;
    // Between close bounds there may be no valid size; then the largest one is kept.
    let cannot_grow =
        (exact_width + step) * exact_height > max_pixels && (exact_height + step) * exact_width > max_pixels;
    if is_multiple && pixels <= max_pixels && (pixels >= min_pixels || cannot_grow) {
        return Ok(None);
    }
    let wide = f64::from(factor);
    let multiples = |count: f64| (count.max(1.0) as u64).saturating_mul(step);
    let round = |side: u32| multiples((f64::from(side) / wide).round_ties_even());
    let (mut new_width, mut new_height) = (round(width), round(height));
    if new_width.saturating_mul(new_height) > max_pixels {
        let beta = (pixels as f64 / max_pixels as f64).sqrt();
        let shrink = |side: u32| multiples((f64::from(side) / beta / wide).floor());
        (new_width, new_height) = (shrink(width), shrink(height));
    } else if new_width.saturating_mul(new_height) < min_pixels {
        let beta = (min_pixels as f64 / pixels as f64).sqrt();
        let grow = |side: u32| multiples((f64::from(side) * beta / wide).ceil());
        (new_width, new_height) = (grow(width), grow(height));
    }
    if new_width.saturating_mul(new_height) > max_pixels {
        let (shorter, longer) = match new_width < new_height {
            true => (&mut new_width, &mut new_height),
            false => (&mut new_height, &mut new_width),
        };
        // If a short side leaves no room for a long one, both become at least one step.
        *shorter = (*shorter).min((max_pixels.isqrt() / step).max(1) * step);
        *longer = (max_pixels / *shorter / step).max(1) * step;
    }
    let narrow = |side: u64| u32::try_from(side).unwrap_or(u32::MAX);
    Ok(Some((narrow(new_width), narrow(new_height))).filter(|size| *size != (width, height)))
}

/// Returns the format of a resized image: JPEG if the source was lossy, otherwise PNG.
pub(super) fn format_of(picture: &ImageProbe) -> Format {
    if picture.may_be_lossy { Format::Jpeg } else { Format::Png }
}

/// Resizes a probed image.
///
/// # Errors
/// As for probing it.
pub(super) fn resize(
    bytes: &[u8],
    format: Format,
    picture: &ImageProbe,
    (width, height): (u32, u32),
    most_pixels: u64,
    permits: &DecodeBudget,
) -> Result<Vec<u8>, MediaError> {
    let Some(codec) = format.codec() else {
        return Err(MediaError::new(MediaErrorKind::Unreadable, "this format is not decoded"));
    };
    let made = format_of(picture);
    guarded(bytes, format, || {
        let decoder = open(bytes, codec, most_pixels)?;
        let (old_width, _) = decoder.dimensions();
        let total = decoder.total_bytes();
        // Scaling uses a buffer of the old width (or the rotated one) and the new height.
        let between = u64::from(old_width.max(decoder.dimensions().1)) * u64::from(height) * 16;
        let after = u64::from(width) * u64::from(height) * 8;
        let _permit =
            permits.acquire(decoding_bytes(total, format).saturating_add(between).saturating_add(after));
        let mut image = DynamicImage::from_decoder(decoder).map_err(ImageProbeError::Decoder)?;
        image.apply_orientation(picture.orientation);
        let image = image.resize_exact(width, height, FilterType::CatmullRom);
        encode(&image, made).map_err(ImageProbeError::Decoder)
    })
}

fn encode(image: &DynamicImage, format: Format) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    match format {
        Format::Jpeg => image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?,
        _ => image.write_with_encoder(PngEncoder::new(&mut bytes))?,
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(min_pixels: u64, max_pixels: u64, factor: u32) -> Bounds {
        Bounds { min_pixels, max_pixels, factor }
    }

    #[test]
    fn sizes_by_hand() {
        let usual = bounds(56 * 56, 28 * 28 * 1280, 28);
        let cases = [
            // Rounded to the nearest multiple, halves to even.
            ((280, 280), usual, Some(None)),
            ((281, 279), usual, Some(Some((280, 280)))),
            ((70, 98), usual, Some(Some((56, 112)))),
            // 1920 x 1080 / sqrt(2073600 / 1003520) = 1335.7 x 751.3
            ((1920, 1080), usual, Some(Some((1316, 728)))),
            // 10 x 10 * sqrt(3136 / 100) = 56 x 56
            ((10, 10), usual, Some(Some((56, 56)))),
            ((1, 1), usual, Some(Some((56, 56)))),
            ((1, 200), usual, Some(Some((28, 196)))),
            ((200, 1), bounds(0, 28 * 28, 28), Some(Some((28, 28)))),
            ((4000, 20), bounds(0, 28 * 28 * 4, 28), Some(Some((112, 28)))),
            // The bounds are too close for multiples of 28: the upper one holds, and the size stays.
            ((100, 100), bounds(4000, 4100, 28), Some(Some((56, 56)))),
            ((56, 56), bounds(4000, 4100, 28), Some(None)),
            ((28, 140), bounds(4000, 4100, 28), Some(None)),
            ((100, 50), bounds(0, 1000, 1), Some(Some((44, 22)))),
            ((3, 5), bounds(0, 1000, 1), Some(None)),
            ((201, 1), usual, None),
            ((0, 5), usual, None),
        ];
        for (size, bounds, expected) in cases {
            assert_eq!(target(size, bounds).ok(), expected, "{size:?} {bounds:?}");
        }
    }

    proptest! {
        #[test]
        fn resized_within_bounds_and_multiples(
            width in 1_u32..20_000,
            height in 1_u32..20_000,
            min_pixels in 0_u64..4_000_000,
            above in 0_u64..20_000_000,
            factor in 1_u32..100,
        ) {
            let square = u64::from(factor) * u64::from(factor);
            let max_pixels = (min_pixels + above).max(square);
            let bounds = bounds(min_pixels, max_pixels, factor);
            let Ok(size) = target((width, height), bounds) else {
                prop_assert!(width.max(height) > 200 * width.min(height));
                return Ok(());
            };
            let (new_width, new_height) = size.unwrap_or((width, height));
            let pixels = u64::from(new_width) * u64::from(new_height);
            prop_assert!(new_width > 0 && new_height > 0);
            prop_assert_eq!((new_width % factor, new_height % factor), (0, 0));
            prop_assert!(pixels <= max_pixels);
            // Bounds with room for whole multiples, even for the longest image.
            let root = (min_pixels as f64).sqrt();
            let room = 15.0 * root * f64::from(factor) + (square * 4) as f64 * 200.0;
            if min_pixels as f64 + room <= max_pixels as f64 {
                prop_assert!(pixels >= min_pixels);
                prop_assert_eq!(target((new_width, new_height), bounds).ok().flatten(), None);
            }
        }
    }
}
