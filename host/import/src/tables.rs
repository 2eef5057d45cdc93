//! Tables about suites of the older program: keys and names, and their replacements here.

pub(crate) mod backends;
pub(crate) mod keys;
pub(crate) mod metrics;
pub(crate) mod preprocessors;
