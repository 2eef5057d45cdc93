//! The cache of a run's answers, where it has one.

use super::super::setup;
use crate::arguments::RunArguments;
use gage_backend::{AnswerCache, AnswerReading};
use gage_config::CacheSpec;
use std::sync::Arc;

/// Opens the cache that the command line or the suite asks for.
///
/// # Errors
/// When it cannot be used.
pub(super) fn answers_of(
    arguments: &RunArguments,
    suite: Option<&CacheSpec>,
) -> Result<Option<Arc<AnswerCache>>, String> {
    if arguments.record.is_some() || arguments.replay.is_some() {
        // A recording is to hold every exchange, and what is played back is to come from it.
        return match arguments.cache.is_given() {
            true => Err("--cache cannot be used together with --record or --replay".to_owned()),
            false => Ok(None),
        };
    }
    let Some(spec) = arguments.cache.over(suite) else { return Ok(None) };
    let folder = spec.path.or_else(|| Some(setup::cache_folder()?.join("answers")));
    let folder = folder.ok_or("--cache names no folder, and neither HOME nor XDG_CACHE_HOME is set")?;
    let most_bytes = spec.most_bytes.unwrap_or(CacheSpec::DEFAULT_BYTES);
    // What is to be tried again is not to end as it did before.
    let reading = if arguments.retry.is_empty() { AnswerReading::Use } else { AnswerReading::Replace };
    let cache = AnswerCache::open(&folder, most_bytes, reading).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(cache)))
}
