//! The flags of the answer cache.

use clap::Args;
use gage_config::parse_cache_size;
use gage_runner::{CacheChoice, CacheOptions};
use std::convert::Infallible;
use std::path::PathBuf;

/// Settings of the answer cache. Each overrides the same key of `cache` in the suite.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheArguments {
    /// Cache the answers of models in this folder, by default one in the program's cache folder.
    /// `--cache=off` turns the cache off.
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

    /// Maximum size of the cache, by default 4GiB; the least recently used answers are removed first.
    #[arg(long, env = "GAGE_HOST_CACHE_SIZE", value_name = "SIZE", value_parser = parse_cache_size)]
    cache_size: Option<u64>,
}

impl CacheArguments {
    /// Returns the settings in the form of the library.
    pub(crate) fn options(&self) -> CacheOptions {
        CacheOptions { choice: self.cache.clone(), max_bytes: self.cache_size }
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
    fn a_cache_is_a_word_or_a_folder() {
        for (text, expected) in [
            ("off", CacheChoice::Off),
            ("No", CacheChoice::Off),
            ("", CacheChoice::On),
            ("on", CacheChoice::On),
            ("a/b", CacheChoice::Folder(PathBuf::from("a/b"))),
            ("offline", CacheChoice::Folder(PathBuf::from("offline"))),
        ] {
            assert_eq!(choice(text), Ok(expected), "{text}");
        }
    }
}
