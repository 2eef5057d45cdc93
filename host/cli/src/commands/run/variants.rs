//! Runs of a suite with several models or prompts: one for each combination.

use crate::arguments::{Resume, RunArguments};
use crate::commands::combinations::Combination;
use gage_record::format::MANIFEST_FILE;
use std::collections::BTreeSet;
use std::path::Path;

/// A combination of a model and a prompt, with its run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) combination: Combination,
    /// Id of its run.
    run_id: String,
}

impl Variant {
    /// Changes the arguments of the command to those of this run. A run that exists is resumed if the command resumes.
    pub(super) fn apply(&self, arguments: &mut RunArguments, is_resumed: bool) {
        self.combination.select(&mut arguments.config);
        let exists = self.exists(&arguments.output_dir);
        arguments.resume = (is_resumed && exists).then_some(Resume::On);
        arguments.run_id = Some(self.run_id.clone());
    }

    /// Returns whether its run exists in the folder of all runs.
    pub(super) fn exists(&self, output_dir: &Path) -> bool {
        output_dir.join(&self.run_id).join(MANIFEST_FILE).exists()
    }
}

/// Returns the id that all runs have in common, if the given id is that of one of them. The variants have ids that begin with
/// the given one.
pub(super) fn common_id<'r>(run_id: &'r str, variants: &[Variant]) -> Option<&'r str> {
    let parts = variants.iter().filter_map(|variant| variant.run_id.strip_prefix(run_id));
    parts.filter_map(|part| run_id.strip_suffix(part)).find(|common| !common.is_empty())
}

/// Gives each combination a run. Their ids begin with the given one.
pub(super) fn variants(combinations: Vec<Combination>, run_id: &str) -> Vec<Variant> {
    let mut ids = BTreeSet::new();
    let mut variants = Vec::with_capacity(combinations.len());
    for combination in combinations {
        let Combination { model, prompt } = &combination;
        let parts =
            [Some(run_id.to_owned()), model.as_deref().map(model_part), prompt.as_deref().map(id_part)];
        let id = parts.into_iter().flatten().collect::<Vec<_>>().join("-");
        let mut run_id = id.clone();
        let mut number = 2;
        while !ids.insert(run_id.clone()) {
            run_id = format!("{id}-{number}");
            number += 1;
        }
        variants.push(Variant { combination, run_id });
    }
    variants
}

/// Returns the part of a run's id for a model: its name without the provider, the address, the folders and the ending.
fn model_part(model: &str) -> String {
    let address = ["@http://", "@https://"].iter().find_map(|mark| model.find(mark));
    let name = &model[..address.or_else(|| model.rfind('@')).unwrap_or(model.len())];
    let name = name.rsplit(['/', ':']).next().unwrap_or_default();
    id_part(name.trim_end_matches(".gguf"))
}

/// Maximum length of the part of a run's id for a name.
const MAX_PART_BYTES: usize = 40;

/// Returns a name as a part of a run's id.
fn id_part(name: &str) -> String {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let part = name.chars().map(|one| if is_allowed(one) { one } else { '-' }).take(MAX_PART_BYTES);
    part.collect::<String>().trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_runs_name_the_combination() {
        let combination = |model: &str, prompt: Option<&str>| Combination {
            model: Some(model.to_owned()),
            prompt: prompt.map(str::to_owned),
        };
        let combinations = vec![
            combination("./m/a.gguf", Some("brief")),
            combination("hub:o/n/b.gguf@main", Some("a long one?")),
            combination("openai:o/gpt-4.1@https://h/v1", None),
            combination("anthropic:gpt-4.1", None),
        ];
        let ids: Vec<String> =
            variants(combinations.clone(), "r").into_iter().map(|variant| variant.run_id).collect();
        assert_eq!(ids, ["r-a-brief", "r-b-a-long-one", "r-gpt-4.1", "r-gpt-4.1-2"]);
        for (run_id, expected) in [("r-gpt-4.1-2", Some("r")), ("r-a-brief", Some("r")), ("r", None)] {
            assert_eq!(common_id(run_id, &variants(combinations.clone(), run_id)), expected, "{run_id}");
        }
    }
}
