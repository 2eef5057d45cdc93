//! The HTTP exchanges with backends: sent, recorded, replayed, or answered in bulk.

use gage_config::{BackendKind, Problems};
use gage_engine::Plan;
use std::collections::HashSet;
use std::path::PathBuf;

/// Handling of HTTP exchanges with backends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HttpExchanges {
    /// Sends requests without recording them.
    #[default]
    Live,
    /// Sends requests, and records the exchanges in this file.
    Record(PathBuf),
    /// Sends nothing: answers come from this file.
    Replay(PathBuf),
    /// Sends nothing: requests to the model under test are written to this file, in the batch format of its provider.
    WriteRequests(PathBuf),
    /// Takes the answers of the model under test from these files, the results of a batch. Judges are asked.
    TakeResponses(Vec<PathBuf>),
}

impl HttpExchanges {
    /// Removes the warnings about missing keys of backends to which the run sends nothing.
    pub(crate) fn remove_needless_warnings(&self, plan: &Plan, problems: &mut Problems) {
        let asks_judges = match self {
            HttpExchanges::Live | HttpExchanges::Record(_) => return,
            HttpExchanges::Replay(_) | HttpExchanges::WriteRequests(_) => false,
            HttpExchanges::TakeResponses(_) => true,
        };
        let judges = plan.tasks.iter().filter_map(|task| task.judges.as_ref());
        let judges = judges.flat_map(|planned| &planned.judges).filter(|_| asks_judges);
        let asked: HashSet<&str> = judges.map(|judge| judge.role.backend_id.as_str()).collect();
        for backend in plan.config.backends.iter().filter(|own| !asked.contains(own.backend_id.as_str())) {
            if let BackendKind::Http(http) = &backend.kind
                && let Err(missing) = http.key.outside()
            {
                problems.remove_warnings(missing.key, missing.span);
            }
        }
    }

    /// Makes the warnings about missing keys of needed backends errors, before anything is fetched. A replay needs no key, and a
    /// batch needs one only for requests that are not part of it.
    pub(crate) fn check_keys(&self, plan: &Plan, problems: &mut Problems) {
        if !matches!(self, HttpExchanges::Live | HttpExchanges::Record(_)) {
            return;
        }
        for backend in plan.backends() {
            if let BackendKind::Http(http) = &backend.kind
                && let Err(missing) = http.key.outside()
            {
                problems.remove_warnings(missing.key, missing.span);
                problems.error(missing.span, "backends", missing.message).help(missing.help);
            }
        }
    }

    /// Returns true if an answer may come from the cache: a recording must hold every exchange, and a replay must answer
    /// from it alone.
    pub(crate) fn may_use_cache(&self) -> bool {
        !matches!(self, HttpExchanges::Record(_) | HttpExchanges::Replay(_))
    }
}
