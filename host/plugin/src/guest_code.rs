//! The forms of compiled code.

/// The form of compiled code. Only benchmarks leave a part out, to measure its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestCode {
    /// Counts fuel, and makes every NaN canonical.
    Production,
    /// Counts no fuel, so guests run without limits of work and time.
    WithoutFuel,
    /// Keeps the bits that the processor gives a NaN, by which a guest can recognize the processor.
    WithoutCanonicalNan,
}
