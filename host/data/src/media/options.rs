//! Options of media: the folders, the checks and the resizing.

use super::error::{MediaError, MediaErrorKind};
use crate::hub::LazyHubFiles;
use std::path::PathBuf;
use std::sync::Arc;

/// How the media of one dataset are found and checked.
#[derive(Clone, Debug)]
pub struct MediaOptions {
    /// The folder that relative paths start from. It must exist.
    pub content_root: PathBuf,
    /// How that folder is written in Samples: in front of every relative path. Empty for nothing.
    pub shown_root: String,
    /// Further folders that may be read; default none. They must exist.
    pub allowed_roots: Vec<PathBuf>,
    /// Most bytes of one medium, in a file or a `data:` URL; default 64 MiB.
    pub most_bytes: u64,
    /// How images are checked and resized.
    pub image: ImageOptions,
    /// Whether local media become `data:` URLs in the Sample itself; default no.
    pub embed_local_media: bool,
    /// Further files of the repository that the dataset is from; default none.
    pub files: Option<Arc<LazyHubFiles>>,
    /// Where resized images are kept, in its subfolder `media`; default nowhere.
    pub cache_folder: Option<PathBuf>,
}

impl MediaOptions {
    /// The defaults, for a folder and how it is written in Samples.
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

/// How images are checked and resized. They are resized where one of the first three is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOptions {
    /// Fewest pixels of an image; smaller ones are enlarged. Default 0.
    pub min_pixels: Option<u64>,
    /// Most pixels of an image; larger ones are made smaller. Default `most_pixels`. Where both
    /// bounds cannot be met with whole multiples of `factor`, this one is.
    pub max_pixels: Option<u64>,
    /// Width and height become multiples of this; default 28.
    pub factor: Option<u32>,
    /// An image of more pixels is refused before it is decoded; default 64 Mi (8192 x 8192).
    pub most_pixels: u64,
}

impl Default for ImageOptions {
    fn default() -> ImageOptions {
        ImageOptions { min_pixels: None, max_pixels: None, factor: None, most_pixels: 64 << 20 }
    }
}

/// The bounds that images are resized into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min_pixels: u64,
    pub(super) max_pixels: u64,
    pub(super) factor: u32,
}

/// Width and height of images become multiples of this unless told otherwise.
const DEFAULT_FACTOR: u32 = 28;

impl ImageOptions {
    /// The bounds, or none where images keep their size.
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
