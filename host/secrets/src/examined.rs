//! Counts the bytes that a scan examines, so that tests can verify linear work.

#[cfg(any(test, feature = "fuzzing"))]
thread_local! {
    /// Number of bytes examined by scans on this thread.
    pub(crate) static EXAMINED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes examined by a scan. Tests use the count because timings differ between machines.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn count_examined(bytes: usize) {
    EXAMINED.with(|examined| examined.set(examined.get() + bytes));
}

/// Counts nothing outside tests.
#[cfg(not(any(test, feature = "fuzzing")))]
pub(crate) fn count_examined(_: usize) {}

/// Returns the number of bytes that scans examine during some work on this thread.
#[cfg(feature = "fuzzing")]
pub fn examined_bytes(work: impl FnOnce()) -> usize {
    EXAMINED.set(0);
    work();
    EXAMINED.take()
}
