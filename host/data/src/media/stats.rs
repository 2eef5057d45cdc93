//! Statistics of resolved media.

use std::sync::atomic::{AtomicU64, Ordering};

/// How much was done so far, by all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaStats {
    /// Local files that were read.
    pub files_read: u64,
    /// Bytes of them.
    pub bytes_read: u64,
    /// Images that were decoded to check them.
    pub images_decoded: u64,
    /// Images that were resized.
    pub images_resized: u64,
    /// Resized images that were taken from the cache.
    pub cache_hits: u64,
    /// Entries of the cache that were damaged and made anew.
    pub cache_repairs: u64,
    /// Images that should be resized but are of a format that is not decoded, and are sent as they are.
    pub images_not_resizable: u64,
    /// Entries of `inputs.multi_modal_data` that no message referred to.
    pub unreferenced: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) files_read: Counter,
    pub(super) bytes_read: Counter,
    pub(super) images_decoded: Counter,
    pub(super) images_resized: Counter,
    pub(super) cache_hits: Counter,
    pub(super) cache_repairs: Counter,
    pub(super) images_not_resizable: Counter,
    pub(super) unreferenced: Counter,
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn snapshot(&self) -> MediaStats {
        MediaStats {
            files_read: self.files_read.get(),
            bytes_read: self.bytes_read.get(),
            images_decoded: self.images_decoded.get(),
            images_resized: self.images_resized.get(),
            cache_hits: self.cache_hits.get(),
            cache_repairs: self.cache_repairs.get(),
            images_not_resizable: self.images_not_resizable.get(),
            unreferenced: self.unreferenced.get(),
        }
    }
}
