//! Ready suites: the benchmarks that are part of the program.
//!
//! A suite names no model, because that is what it measures. Its card says what it measures, where its data and its prompts
//! come from, and how it is usually reported.

use crate::{SuiteError, files};
use gage_config::{Node, Problems, parse_document};
use gage_core::Digest;
use std::path::{Path, PathBuf};

/// A benchmark that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct ReadySuite {
    /// The name: `gsm8k`.
    pub name: &'static str,
    /// The suite, as YAML.
    pub text: &'static str,
    /// Its card, as Markdown.
    pub card: &'static str,
}

/// Embeds the suites of the folder `config/suites`.
macro_rules! suites_of_the_repository {
    ($($name:literal),* $(,)?) => {
        &[$(ReadySuite {
            name: $name,
            text: include_str!(concat!("../../../config/suites/", $name, ".yaml")),
            card: include_str!(concat!("../../../config/suites/", $name, ".md")),
        }),*]
    };
}

/// The ready suites, by name.
pub const READY_SUITES: &[ReadySuite] = suites_of_the_repository![
    "aime",
    "arc_challenge",
    "arc_easy",
    "bbh",
    "boolq",
    "commonsenseqa",
    "docvqa",
    "drop",
    "gpqa",
    "gsm8k",
    "hellaswag",
    "humaneval",
    "ifeval",
    "lambada",
    "math500",
    "mathvista",
    "mbpp",
    "mmlu",
    "mmlu_pro",
    "mmlu_redux",
    "mmmu",
    "mt_bench",
    "nq_open",
    "openbookqa",
    "piqa",
    "simpleqa",
    "squad2",
    "triviaqa",
    "truthfulqa_mc1",
    "truthfulqa_mc2",
    "wikitext",
    "winogrande",
];

/// Number of hexadecimal digits of the digest that name the folder of a suite's file.
const FOLDER_DIGITS: usize = 16;

impl ReadySuite {
    /// Returns the suite of a name.
    pub fn named(name: &str) -> Option<&'static ReadySuite> {
        READY_SUITES.iter().find(|suite| suite.name == name)
    }

    /// Returns what it measures, in one line.
    pub fn description(&self) -> String {
        let mut problems = Problems::default();
        let root = parse_document(self.name, self.text, None, &mut problems);
        let metadata = root.as_ref().and_then(|root| root.get("metadata"));
        metadata
            .and_then(|metadata| metadata.get("description"))
            .and_then(Node::as_text)
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns the digest of its file's bytes.
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(self.text.as_bytes())
    }

    /// Writes its file below a cache folder, in a folder that is named by the digest, and returns the path. An existing file
    /// with other contents is replaced.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write_below(&self, cache: &Path) -> Result<PathBuf, SuiteError> {
        let digits: String = self.digest().hex().chars().take(FOLDER_DIGITS).collect();
        let path = cache.join("suites").join(digits).join(format!("{}.yaml", self.name));
        if files::read(&path).is_ok_and(|text| text == self.text) {
            return Ok(path);
        }
        files::replace(&path, self.text)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_suite_of_the_folder_is_part_of_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/suites");
        let names = |ending: &str| -> BTreeSet<String> {
            let files =
                fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            files.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
        };
        let listed: Vec<&str> = READY_SUITES.iter().map(|suite| suite.name).collect();
        assert!(listed.is_sorted(), "{listed:?}");
        let listed: BTreeSet<String> = listed.into_iter().map(str::to_owned).collect();
        assert_eq!(listed, names(".yaml"));
        let cards: BTreeSet<String> = names(".md").into_iter().filter(|name| name != "README").collect();
        assert_eq!(listed, cards);
        for suite in READY_SUITES {
            assert!(!suite.description().is_empty(), "{}", suite.name);
        }
    }

    #[test]
    fn a_file_is_written_once_and_repaired() {
        let cache = tempfile::tempdir().unwrap();
        let suite = ReadySuite::named("gsm8k").unwrap();
        let path = suite.write_below(cache.path()).unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(suite.write_below(cache.path()).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
        fs::write(&path, "cut off").unwrap();
        suite.write_below(cache.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), suite.text);
    }
}
