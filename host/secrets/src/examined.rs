//! A count of the bytes that a scan examines, by which tests show that its work is linear.

#[cfg(test)]
thread_local! {
    /// The number of bytes that scans on this thread have examined.
    pub(crate) static EXAMINED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that a scan examines. Tests use the count, because time is not the same on each machine.
#[cfg(test)]
pub(crate) fn count_examined(bytes: usize) {
    EXAMINED.with(|examined| examined.set(examined.get() + bytes));
}

/// Counts nothing outside tests.
#[cfg(not(test))]
pub(crate) fn count_examined(_: usize) {}
