//! Media of Samples: images, sounds, videos and documents that messages refer to.
//!
//! Local files are looked up below the content root and checked. Only files of the dataset's own repository on a hub
//! are ever fetched.
//! Memory grows by 16 bytes per local file; pixels in flight, cached decoding results and places are bounded. All
//! calls block.

mod allowed_roots;
mod data_url;
mod decode_budget;
mod embed;
mod error;
mod file;
mod format;
mod image_cache;
mod image_probe;
mod options;
mod reference_table;
mod reply;
mod resize;
mod resolve;
mod sniff;
mod source;
mod stats;
mod store;
mod truncation;

#[cfg(feature = "parquet")]
pub(crate) use data_url::embedded_url;
pub use error::{MediaError, MediaErrorKind};
pub use options::{ImageOptions, MediaOptions};
pub use reply::{ReplyMedia, data_url_of};
pub use resolve::MediaSource;
pub use store::MediaStore;

#[cfg(test)]
mod tests;
