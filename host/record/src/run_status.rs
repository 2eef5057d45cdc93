//! The state of a run, as its manifest has it.

use serde::{Deserialize, Serialize};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RunStatus {
    /// The run is in progress, was killed, or ended without figures because an input changed.
    Running,
    /// The user stopped the run; it can be resumed.
    Interrupted,
    /// Every sample has an outcome.
    Complete,
    /// The run ended with more failures or less coverage than allowed.
    Incomplete,
}

impl RunStatus {
    /// Returns the name used in the manifest.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the state of a run in one word. A run in progress to which no process is writing was `killed`.
    pub fn state(self, is_being_written: bool) -> &'static str {
        match (self, is_being_written) {
            (RunStatus::Running, false) => "killed",
            (status, _) => status.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_serde() {
        for status in [RunStatus::Running, RunStatus::Interrupted, RunStatus::Complete, RunStatus::Incomplete]
        {
            assert_eq!(serde_json::to_value(status).unwrap(), status.name());
        }
    }
}
