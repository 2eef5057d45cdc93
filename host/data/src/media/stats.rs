//! Statistics of resolved media.

/// How much was done so far, by all threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MediaStats {
    /// Local files that were read.
    pub(super) files_read: u64,
    /// Images that were decoded to check them.
    pub(super) images_decoded: u64,
    /// Images that were resized.
    pub(super) images_resized: u64,
    /// Resized images that were read from the cache.
    pub(super) cache_hits: u64,
    /// Damaged entries of the cache that were made again.
    pub(super) cache_repairs: u64,
}
