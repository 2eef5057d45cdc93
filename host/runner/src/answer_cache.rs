//! The optional cache of a run's answers.

use crate::http_exchanges::HttpExchanges;
use crate::{HostSettings, RunnerError};
use gage_backend::{AnswerCache, AnswerReading};
use gage_config::CacheSpec;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of the answer cache. Each value takes precedence over the suite's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheOptions {
    /// Enables, disables or locates the cache; default the suite's setting.
    pub choice: Option<CacheChoice>,
    /// Maximum size of the cache in bytes.
    pub max_bytes: Option<u64>,
}

/// Enables, disables or locates the answer cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheChoice {
    /// No cache, even if the suite enables one.
    Off,
    /// The suite's cache, or else the default one.
    On,
    /// The cache in this folder.
    Folder(PathBuf),
}

impl CacheOptions {
    /// Returns true if these options request a cache.
    fn is_given(&self) -> bool {
        matches!(self.choice, Some(CacheChoice::On | CacheChoice::Folder(_)))
    }

    /// Returns the suite's settings with these options applied.
    fn over(&self, suite: Option<&CacheSpec>) -> Option<CacheSpec> {
        let mut spec = match &self.choice {
            Some(CacheChoice::Off) => return None,
            None => suite?.clone(),
            Some(CacheChoice::On) => suite.cloned().unwrap_or_default(),
            Some(CacheChoice::Folder(path)) => {
                CacheSpec { path: Some(path.clone()), ..suite.cloned().unwrap_or_default() }
            }
        };
        spec.most_bytes = self.max_bytes.or(spec.most_bytes);
        Some(spec)
    }

    /// Opens the cache if these options or the suite request one. `is_retry` is true if some answers are requested
    /// again.
    pub(crate) fn open(
        &self,
        suite: Option<&CacheSpec>,
        exchanges: &HttpExchanges,
        host: &HostSettings,
        is_retry: bool,
    ) -> Result<Option<Arc<AnswerCache>>, RunnerError> {
        if !exchanges.may_use_cache() {
            return if self.is_given() { Err(RunnerError::CacheWithRecording) } else { Ok(None) };
        }
        let Some(spec) = self.over(suite) else { return Ok(None) };
        let folder = spec.path.or_else(|| Some(host.cache_folder.as_ref()?.join("answers")));
        let folder = folder.ok_or(RunnerError::NoCacheFolder)?;
        let most_bytes = spec.most_bytes.unwrap_or(CacheSpec::DEFAULT_BYTES);
        // A retry must not return the cached answer.
        let reading = if is_retry { AnswerReading::Replace } else { AnswerReading::Use };
        let cache = AnswerCache::open(&folder, most_bytes, reading)?;
        Ok(Some(Arc::new(cache)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_win_over_the_suite_key_by_key() {
        let spec = |path: Option<&str>, most_bytes| CacheSpec { path: path.map(PathBuf::from), most_bytes };
        let suite = spec(Some("of-suite"), Some(1 << 30));
        let given = |choice: Option<CacheChoice>, max_bytes| CacheOptions { choice, max_bytes };
        let folder = CacheChoice::Folder(PathBuf::from("a/b"));
        for (options, suite, expected) in [
            (given(None, None), None, None),
            (given(None, Some(5)), None, None),
            (given(Some(CacheChoice::Off), None), Some(&suite), None),
            (given(None, Some(5)), Some(&suite), Some(spec(Some("of-suite"), Some(5)))),
            (given(Some(CacheChoice::On), None), Some(&suite), Some(suite.clone())),
            (given(Some(CacheChoice::On), None), None, Some(spec(None, None))),
            (given(Some(folder), None), Some(&suite), Some(spec(Some("a/b"), Some(1 << 30)))),
        ] {
            assert_eq!(options.over(suite), expected, "{options:?}");
        }
    }

    #[test]
    fn a_cache_and_a_recording_exclude_each_other() {
        let asked = CacheOptions { choice: Some(CacheChoice::On), max_bytes: None };
        let replay = HttpExchanges::Replay(PathBuf::from("exchanges.jsonl"));
        let opened = |options: &CacheOptions| {
            options.open(Some(&CacheSpec::default()), &replay, &HostSettings::default(), false)
        };
        assert!(matches!(opened(&asked), Err(RunnerError::CacheWithRecording)));
        // The suite's cache is ignored.
        assert!(matches!(opened(&CacheOptions::default()), Ok(None)));
    }
}
