//! Options of media: folders, checks and resizing.

use super::error::{MediaError, MediaErrorKind};
use crate::hub::LazyHubFiles;
use std::path::PathBuf;
use std::sync::Arc;

/// Lookup and checks of the media of one dataset.
#[derive(Clone, Debug)]
pub struct MediaOptions {
    /// Folder that relative paths start from. It must exist.
    pub content_root: PathBuf,
    /// Prefix that Samples use for that folder in every relative path. Empty for no prefix.
    pub shown_root: String,
    /// Further folders that may be read; default none. They must exist.
    pub allowed_roots: Vec<PathBuf>,
    /// Maximum bytes of one medium, in a file or a `data:` URL; default 64 MiB.
    pub most_bytes: u64,
    /// Checks and resizing of images.
    pub image: ImageOptions,
    /// True to replace local media by `data:` URLs in the Sample itself; default false.
    pub embed_local_media: bool,
    /// Further files of the dataset's repository; default none.
    pub files: Option<Arc<LazyHubFiles>>,
    /// Folder whose subfolder `media` stores resized images; default none.
    pub cache_folder: Option<PathBuf>,
}

impl MediaOptions {
    /// Returns the defaults, for a folder and its prefix in Samples.
    pub fn new(content_root: impl Into<PathBuf>, shown_root: impl Into<String>) -> MediaOptions {
        MediaOptions {
            content_root: content_root.into(),
            shown_root: shown_root.into(),
            allowed_roots: Vec::new(),
            most_bytes: 64 << 20,
            image: ImageOptions::default(),
            embed_local_media: false,
            files: None,
            cache_folder: None,
        }
    }
}

/// Checks and resizing of images. They are resized if one of the first three fields is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOptions {
    /// Minimum pixels of an image; smaller ones are enlarged. Default 0.
    pub min_pixels: Option<u64>,
    /// Maximum pixels of an image; larger ones are shrunk. Default `most_pixels`. Takes precedence if whole multiples
    /// of `factor` cannot meet both bounds.
    pub max_pixels: Option<u64>,
    /// Width and height become multiples of this; default 28.
    pub factor: Option<u32>,
    /// Maximum pixels of an image, checked before decoding; default 64 Mi (8192 x 8192).
    pub most_pixels: u64,
}

impl Default for ImageOptions {
    fn default() -> ImageOptions {
        ImageOptions { min_pixels: None, max_pixels: None, factor: None, most_pixels: 64 << 20 }
    }
}

/// Bounds for resizing images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min_pixels: u64,
    pub(super) max_pixels: u64,
    pub(super) factor: u32,
}

/// Default factor that width and height of resized images are multiples of.
const DEFAULT_FACTOR: u32 = 28;

impl ImageOptions {
    /// Returns the bounds, or `None` if images keep their size.
    pub(super) fn bounds(&self) -> Result<Option<Bounds>, MediaError> {
        if self.min_pixels.is_none() && self.max_pixels.is_none() && self.factor.is_none() {
            return Ok(None);
        }
        let factor = self.factor.unwrap_or(DEFAULT_FACTOR);
        let min_pixels = self.min_pixels.unwrap_or(0);
        let max_pixels = self.max_pixels.unwrap_or(self.most_pixels).min(self.most_pixels);
        let refuse = |key, message| Err(MediaError::new(MediaErrorKind::Options, message).at(key));
        if factor == 0 {
            return refuse("factor", "the factor of images is 0; it must be at least 1".to_owned());
        }
        let square = u64::from(factor) * u64::from(factor);
        if square > max_pixels {
            let key = if self.max_pixels.is_some() { "max_pixels" } else { "factor" };
            return refuse(
                key,
                format!(
                    "no image of whole multiples of {factor} has at most {max_pixels} pixels; set max_pixels to \
                 at least {square}, or a smaller factor"
                ),
            );
        }
        if min_pixels > max_pixels {
            return refuse(
                "min_pixels",
                format!("min_pixels is {min_pixels}, above the {max_pixels} pixels that are allowed"),
            );
        }
        Ok(Some(Bounds { min_pixels, max_pixels, factor }))
    }
}
