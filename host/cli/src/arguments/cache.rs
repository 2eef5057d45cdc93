//! Whether answers are kept, and where.

use clap::Args;
use gage_config::{CacheSpec, parse_cache_size};
use std::convert::Infallible;
use std::path::PathBuf;

/// Where answers are kept; each wins over the same key of `cache` in the suite.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheArguments {
    /// Keep the answers of models in this folder, and ask nothing again that was answered there; without a
    /// folder, in that of the program's caches. `--cache=off` keeps none, whatever the suite says.
    #[arg(
        long,
        env = "GAGE_HOST_CACHE",
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = choice
    )]
    cache: Option<CacheChoice>,

    /// How large the cache may become, by default 4GiB: what was used least lately leaves it first.
    #[arg(long, env = "GAGE_HOST_CACHE_SIZE", value_name = "SIZE", value_parser = parse_cache_size)]
    cache_size: Option<u64>,
}

/// What was said about the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CacheChoice {
    /// None.
    Off,
    /// That of the suite, or the default one.
    On,
    /// The one in this folder.
    Folder(PathBuf),
}

impl CacheArguments {
    /// Whether a cache was asked for on the command line.
    pub(crate) fn is_given(&self) -> bool {
        matches!(self.cache, Some(CacheChoice::On | CacheChoice::Folder(_)))
    }

    /// What the suite says, with what was said here over it.
    pub(crate) fn over(&self, suite: Option<&CacheSpec>) -> Option<CacheSpec> {
        let mut spec = match &self.cache {
            Some(CacheChoice::Off) => return None,
            None => suite?.clone(),
            Some(CacheChoice::On) => suite.cloned().unwrap_or_default(),
            Some(CacheChoice::Folder(path)) => {
                CacheSpec { path: Some(path.clone()), ..suite.cloned().unwrap_or_default() }
            }
        };
        spec.most_bytes = self.cache_size.or(spec.most_bytes);
        Some(spec)
    }
}

/// The words that variables of flags take, or a folder.
fn choice(text: &str) -> Result<CacheChoice, Infallible> {
    Ok(match text.trim().to_ascii_lowercase().as_str() {
        "off" | "false" | "f" | "no" | "n" | "0" => CacheChoice::Off,
        "on" | "true" | "t" | "yes" | "y" | "1" | "" => CacheChoice::On,
        _ => CacheChoice::Folder(PathBuf::from(text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_key_by_key() {
        let spec = |path: Option<&str>, most_bytes| CacheSpec { path: path.map(PathBuf::from), most_bytes };
        let suite = spec(Some("of-suite"), Some(1 << 30));
        let given = |cache: Option<&str>, cache_size| CacheArguments {
            cache: cache.and_then(|text| choice(text).ok()),
            cache_size,
        };
        for (arguments, suite, expected) in [
            (given(None, None), None, None),
            (given(None, Some(5)), None, None),
            (given(Some("off"), None), Some(&suite), None),
            (given(None, Some(5)), Some(&suite), Some(spec(Some("of-suite"), Some(5)))),
            (given(Some("on"), None), Some(&suite), Some(suite.clone())),
            (given(Some("on"), None), None, Some(spec(None, None))),
            (given(Some("a/b"), None), Some(&suite), Some(spec(Some("a/b"), Some(1 << 30)))),
        ] {
            assert_eq!(arguments.over(suite), expected, "{arguments:?}");
        }
    }
}
