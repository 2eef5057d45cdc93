use super::*;
use gage_core::{ContentPart, Digest, MediaKind, Object, Sample};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};
use std::io::Cursor;
use std::path::Path;

mod embedding;
mod lists;
mod pictures;
mod settling;

/// A folder with a store over it.
struct MediaFixture {
    folder: tempfile::TempDir,
    store: MediaStore,
}

impl MediaFixture {
    /// Creates a fixture whose content root is written `data` in Samples.
    fn new(change: impl FnOnce(&mut MediaOptions, &Path)) -> MediaFixture {
        gage_recorded_messages::record_warnings("data");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("content")).expect("made");
        let mut options = MediaOptions::new(folder.path().join("content"), "data");
        change(&mut options, folder.path());
        MediaFixture { store: MediaStore::new(options).expect("opened"), folder }
    }

    fn plain() -> MediaFixture {
        MediaFixture::new(|_, _| {})
    }

    fn with_factor(factor: u32) -> MediaFixture {
        MediaFixture::new(|options, _| options.image.factor = Some(factor))
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join("content").join(name), bytes).expect("written");
    }

    fn settle(&self, sample: Value) -> Result<Value, MediaError> {
        self.settle_with(sample, Vec::new())
    }

    fn settle_with(&self, sample: Value, hooked: Vec<MediaSource>) -> Result<Value, MediaError> {
        let mut sample = Sample::from_value(sample).expect("a sound sample");
        self.store.settle(&mut sample, hooked)?;
        let value = sample.to_value();
        Sample::from_value(value.clone()).expect("still sound");
        Ok(value)
    }

    /// Settles one part, and returns the kind of its error.
    fn kind_of(&self, kind: MediaKind, url: &str) -> Result<(), &'static str> {
        let part = json!({"type": kind.type_name(), (kind.type_name()): {"url": url}});
        self.settle(user(json!([part]))).map(|_| ()).map_err(|error| error.kind.name())
    }
}

/// Returns a Sample of one message.
fn user(content: Value) -> Value {
    let messages = json!([{"role": "user", "content": content}]);
    json!({"schema_version": "v1", "id": "s", "references": [], "messages": messages})
}

fn image_part(url: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns an image whose pixels all differ slightly.
fn picture(width: u32, height: u32) -> DynamicImage {
    let image = RgbImage::from_fn(width, height, |x, y| Rgb([(x * 7) as u8, (y * 5) as u8, (x + y) as u8]));
    DynamicImage::ImageRgb8(image)
}

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture(width, height).write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, ImageFormat::Png)
}

/// Returns the URL of a part of a settled Sample.
fn url_of(sample: &Value, message: usize, part: usize) -> &str {
    let pointer = format!("/messages/{message}/content/{part}/image_url/url");
    sample.pointer(&pointer).and_then(Value::as_str).expect("a URL")
}

/// Returns the content of a `data:` URL.
fn content_of(url: &str) -> Vec<u8> {
    data_url::decode(url, u64::MAX).expect("a data URL").bytes
}
