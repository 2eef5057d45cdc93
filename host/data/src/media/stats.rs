//! Statistics of resolved media.

/// Work done so far, by all threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MediaStats {
    /// Local files read.
    pub(super) files_read: u64,
    /// Images decoded to check them.
    pub(super) images_decoded: u64,
    /// Images resized.
    pub(super) images_resized: u64,
    /// Resized images read from the cache.
    pub(super) cache_hits: u64,
    /// Damaged cache entries that were replaced.
    pub(super) cache_repairs: u64,
}
