//! Cache of resized images.
//!
//! Each image and size has one file, `media/<two digits>/<digest>.png` or `.jpg`. The digest covers the source's
//! digest, the size and the version of the encoder. Files are created by renaming, so concurrent processes are safe.
//! A damaged file is replaced.

use super::error::{MediaError, MediaErrorKind};
use super::format::Format;
use super::resize::ENCODER;
use super::sniff::sniff;
use super::truncation::is_whole;
use crate::private_folder;
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit};
use image::ImageReader;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

/// Maximum size of a resized image. Larger ones are resized again each time.
const MAX_IMAGE_SIZE: FileLimit = FileLimit::new("a resized image", 256 << 20);

/// Folder of resized images.
pub(super) struct ImageCache {
    folder: PathBuf,
}

/// Source of a cached image, and its expected properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheKey {
    pub(super) source: Digest,
    pub(super) size: (u32, u32),
    pub(super) format: Format,
}

/// Result of a cache lookup.
pub(super) enum CachedImage {
    Sound(Vec<u8>),
    Damaged,
    Absent,
}

impl ImageCache {
    /// Opens the folder, creating it for the current user alone if needed.
    ///
    /// # Errors
    /// `media_options` if it cannot be created.
    pub(super) fn open(folder: &Path) -> Result<ImageCache, MediaError> {
        let folder = folder.join("media");
        private_folder::make(&folder).map_err(|error| {
            MediaError::new(MediaErrorKind::Options, format!("cache folder {}: {error}", folder.display()))
        })?;
        Ok(ImageCache { folder })
    }

    /// Reads an image, if it is present and valid.
    pub(super) fn read(&self, key: CacheKey) -> CachedImage {
        match foreign_file::read_named(&self.path(key), MAX_IMAGE_SIZE) {
            Ok(bytes) if is_sound(&bytes, key) => CachedImage::Sound(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => CachedImage::Absent,
            Ok(_) => CachedImage::Damaged,
            Err(error) => {
                tracing::warn!("image cache {}: {error}; the image is resized again", self.folder.display());
                CachedImage::Damaged
            }
        }
    }

    /// Stores an image. If that fails, it is created again the next time.
    pub(super) fn store(&self, key: CacheKey, bytes: &[u8]) {
        if let Err(error) = self.write(&self.path(key), bytes) {
            tracing::warn!("image cache {}: {error}; the image is not kept", self.folder.display());
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        private_folder::make(folder)?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    fn path(&self, key: CacheKey) -> PathBuf {
        let (width, height) = key.size;
        let text = format!("{}\n{width} x {height}\n{}\n{ENCODER}", key.source, key.format.media_type());
        let name = Digest::of_bytes(text.as_bytes()).hex();
        let extension = if key.format == Format::Jpeg { "jpg" } else { "png" };
        self.folder.join(&name[..2]).join(format!("{name}.{extension}"))
    }
}

/// Returns whether the bytes are a complete image of the right format and size.
fn is_sound(bytes: &[u8], key: CacheKey) -> bool {
    let Some(codec) = key.format.codec() else { return false };
    let size = || ImageReader::with_format(Cursor::new(bytes), codec).into_dimensions().ok();
    sniff(bytes) == key.format && is_whole(bytes, key.format) && size() == Some(key.size)
}
