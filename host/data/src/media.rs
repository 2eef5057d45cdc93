//! The media of Samples: images, sounds, videos and documents that messages refer to.
//!
//! Local files are found below the content root and checked; nothing is ever fetched from elsewhere, but for files of
//! the dataset's own repository on a hub.
//! Memory grows by 16 bytes for each local file; pixels in flight, decoded outcomes and places are
//! bounded. All calls block.

mod data_url;
mod embed;
mod error;
mod file;
mod format;
mod image_cache;
mod ledger;
mod options;
mod outcomes;
mod permits;
mod picture;
mod resize;
mod roots;
mod settle;
mod sniff;
mod source;
mod stats;
mod store;
mod whole;

pub use error::{MediaError, MediaErrorKind};
pub use options::{ImageOptions, MediaFiles, MediaOptions};
pub use settle::MediaSource;
pub use stats::MediaStats;
pub use store::{MediaBytes, MediaStore};

#[cfg(test)]
mod tests;
