//! Combinations of the models and prompts of a suite.

use super::setup;
use crate::arguments::ConfigArguments;
use gage_config::{Permissions, SuiteChoices};
use gage_runner::{Context, Variables};
use std::collections::BTreeSet;

/// A model and a prompt that are evaluated together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Combination {
    /// The model, if there are several models.
    pub(super) model: Option<String>,
    /// The prompt, if there are several prompts.
    pub(super) prompt: Option<String>,
}

impl Combination {
    /// Returns the name in tables.
    pub(super) fn name(&self) -> String {
        [&self.model, &self.prompt].into_iter().flatten().cloned().collect::<Vec<_>>().join(" · ")
    }

    /// Selects the combination in the arguments of a command.
    pub(super) fn select(&self, config: &mut ConfigArguments) {
        for (name, names) in [(&self.model, &mut config.models), (&self.prompt, &mut config.prompts)] {
            if let Some(name) = name {
                *names = vec![name.clone()];
            }
        }
    }
}

/// Returns the combinations that a command asks for: of `--model` or else the models that the suite lists, and of `--prompt`
/// or else its prompts. Answers of a file need no model. Without several of either, it is one combination of nothing.
pub(super) fn combinations(config: &ConfigArguments, permissions: &Permissions) -> Vec<Combination> {
    let context = Context { permissions: permissions.clone(), ..setup::plain_context(true) };
    of(config, context.choices(&config.file(), &Variables::default()))
}

fn of(config: &ConfigArguments, listed: SuiteChoices) -> Vec<Combination> {
    // Answers take the place of every model.
    let models = if config.answers.is_some() { vec![None] } else { several(&config.models, listed.models) };
    let prompts = several(&config.prompts, listed.prompts);
    let with_prompts = |model: Option<String>| {
        let prompts = prompts.iter().cloned();
        prompts.map(move |prompt| Combination { model: model.clone(), prompt })
    };
    models.into_iter().flat_map(with_prompts).collect()
}

/// Returns the different names; `None` if there are fewer than two.
fn several(given: &[String], listed: Vec<String>) -> Vec<Option<String>> {
    let names = if given.is_empty() { listed } else { given.to_vec() };
    let mut known = BTreeSet::new();
    let names: Vec<String> = names.into_iter().filter(|name| known.insert(name.clone())).collect();
    if names.len() > 1 { names.into_iter().map(Some).collect() } else { vec![None] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser as _;

    fn names(command: &[&str], models: &[&str], prompts: &[&str]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let command = [&["gage-host", "validate", "suite.yaml"], command].concat();
        let Command::Validate(arguments) = Arguments::parse_from(command).command else { panic!("validate") };
        let listed = SuiteChoices { models: owned(models), prompts: owned(prompts) };
        of(&arguments.config, listed).iter().map(Combination::name).collect()
    }

    #[test]
    fn options_replace_what_the_suite_lists() {
        assert_eq!(names(&[], &[], &[]), [""]);
        assert_eq!(names(&["--model", "a"], &["x", "y"], &["one"]), [""]);
        assert_eq!(names(&[], &["x", "y"], &["p", "q"]), ["x · p", "x · q", "y · p", "y · q"]);
        assert_eq!(names(&["--model", "a", "--model", "b"], &["x"], &["p", "q"])[1], "a · q");
        assert_eq!(names(&["--prompt", "p", "--prompt", "p"], &["x", "y"], &[]), ["x", "y"]);
    }
}
