//! Images in Samples and in replies, as `data:` URLs: they are decoded, resized, and written again.

use crate::datasets::{DatasetFile, located};
use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_config::FileFormat;
use gage_core::{ContentPart, Message, Sample};
use gage_data::{ReplyMedia, data_url_of};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use proptest::strategy::BoxedStrategy;
use serde_json::json;
use std::io::Cursor;

/// Images.
pub const TARGET: Target = Target { name: "images", cases: 400, seeds, inputs, check };

/// Maximum number of pixels that are decoded. An input of a few bytes may claim more.
const MAX_PIXELS: u64 = 1 << 20;

/// Number of pixels above which an image is shrunk.
const MAX_SENT_PIXELS: u64 = 16 * 16;

/// Maximum size of a medium, in bytes.
const MAX_MEDIA_BYTES: u64 = 1 << 20;

const TOKENS: &[&str] = &[
    "\u{89}PNG\r\n\u{1a}\n",
    "IHDR",
    "IDAT",
    "IEND",
    "iTXt",
    "tRNS",
    "PLTE",
    "GIF89a",
    "GIF87a",
    "!\u{f9}\u{4}",
    ",",
    ";",
    "RIFF",
    "WEBP",
    "VP8 ",
    "VP8L",
    "VP8X",
    "ANIM",
    "BM",
    "II*\u{0}",
    "MM\u{0}*",
    "JFIF",
    "Exif\u{0}\u{0}",
    "\u{0}",
    "\u{0}\u{0}\u{0}\u{0}",
    "data:image/png;base64,",
    "<svg>",
];

fn seeds() -> Vec<Vec<u8>> {
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
        ImageFormat::Bmp,
        ImageFormat::Tiff,
    ];
    let pixel = |x: u32, y: u32| Rgb([(x * 7 % 256) as u8, (y * 5 % 256) as u8, ((x + y) % 256) as u8]);
    let picture = DynamicImage::ImageRgb8(RgbImage::from_fn(23, 17, pixel));
    let encoded = |format| {
        let mut bytes = Vec::new();
        picture.write_to(&mut Cursor::new(&mut bytes), format).ok().map(|()| bytes)
    };
    formats.into_iter().filter_map(encoded).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    check_reply(input)?;
    let file = DatasetFile::write(b"{}\n")?;
    let mut spec = file.dataset(FileFormat::Jsonl)?;
    spec.media.content_root = Some(file.folder().to_owned());
    spec.media.most_pixels = MAX_PIXELS;
    spec.media.max_pixels = Some(MAX_SENT_PIXELS);
    spec.media.factor = Some(1);
    spec.media.most_mib = MAX_MEDIA_BYTES >> 20;
    let store = located(&spec)?.media(&spec, None).map_err(|error| error.to_string())?;
    let url = format!("data:;base64,{}", STANDARD.encode(input));
    let part = json!({"type": "image_url", "image_url": {"url": url}});
    let sample = json!({"schema_version": "v1", "id": "s", "references": [], "messages": [{"role": "user", "content": [part]}]});
    let mut sample = Sample::from_value(sample).map_err(|problems| format!("{problems:?}"))?;
    if store.settle(&mut sample, Vec::new()).is_err() {
        return Ok(Verdict::Refused);
    }
    // A decoder may find out only now that the image is damaged.
    let embedded = store.embed(&mut sample.messages);
    if embedded.is_ok() {
        check_sent(&sample.messages)?;
    }
    Ok(Verdict::of(&embedded))
}

/// Bytes of a reply are read again from the URL that is made of them.
fn check_reply(input: &[u8]) -> Result<(), String> {
    let media = ReplyMedia::of_data_url(&data_url_of(input), MAX_MEDIA_BYTES);
    match media.map(|media| media.bytes == input) {
        Ok(true) => Ok(()),
        other => Err(format!("the URL of the bytes gives {other:?}")),
    }
}

/// Checks that no image is sent that is larger than the suite allows.
fn check_sent(messages: &[Message]) -> Result<(), String> {
    for part in messages.iter().flat_map(|message| &message.content) {
        let ContentPart::Media { url, .. } = part else { continue };
        let media = ReplyMedia::of_data_url(url, MAX_MEDIA_BYTES).map_err(|error| error.to_string())?;
        // Images of other formats are sent as they are.
        let Ok(picture) = image::load_from_memory(&media.bytes) else { continue };
        let pixels = u64::from(picture.width()) * u64::from(picture.height());
        if pixels > MAX_SENT_PIXELS {
            return Err(format!("an image of {pixels} pixels is sent"));
        }
    }
    Ok(())
}
