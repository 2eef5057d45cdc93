//! An unfinished run that cannot be resumed, because its configuration differs.

use gage_config::PipelineConfig;
use gage_engine::name_variables;
use gage_record::RunIdentity;
use gage_suite::newest_unfinished;
use std::fmt;
use std::path::Path;

/// Maximum number of differences that are named.
const MAX_DIFFERENCES: usize = 5;

/// An unfinished run with another configuration of the same suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRun {
    /// The id.
    pub run_id: String,
    /// The places of the configuration that differ, each with its values.
    pub differences: Vec<String>,
}

impl OtherRun {
    /// Returns the newest unfinished run in a folder that differs from a suite only in the values of its configuration.
    pub(crate) fn newest(root: &Path, wanted: &RunIdentity, config: &PipelineConfig) -> Option<OtherRun> {
        let differences = |identity: &RunIdentity| -> Vec<String> {
            let all = identity.differences(wanted).into_iter();
            all.filter(|difference| difference.starts_with("config")).collect()
        };
        let is_close = |identity: &RunIdentity| {
            let found = differences(identity);
            let is_renamed = found.iter().any(|difference| difference.starts_with("config.metadata.name"));
            (1..=MAX_DIFFERENCES).contains(&found.len()) && !is_renamed
        };
        let manifest = newest_unfinished(root, is_close).ok().flatten()?;
        let differences = name_variables(differences(&manifest.identity), config);
        Some(OtherRun { run_id: manifest.run_id, differences })
    }
}

impl fmt::Display for OtherRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "; the configuration of {} differs:", self.run_id)?;
        self.differences.iter().try_for_each(|difference| write!(formatter, "\n  {difference}"))
    }
}
