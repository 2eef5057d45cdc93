//! Source of a suite: its file, overriding values and defaults.

use crate::{Context, RunEvent};
use gage_config::{Permissions, Purpose, SuiteChoices, is_secret_name};
use gage_secrets::SECRET_MARK;
use gage_suite::{LoadedSuite, SuiteInputs, secret_variables, without_default};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A suite file with its overrides.
#[derive(Clone, Debug, Default)]
pub struct SuiteSource {
    /// The file, a YAML document of the kind PipelineConfig or RunConfig.
    pub path: PathBuf,
    /// Values that override those of the file: `tasks.0.max_samples=5`.
    pub overrides: Vec<String>,
    /// Folders of components, each `.wasm` file under its own name and without grants.
    pub plugin_folders: Vec<PathBuf>,
}

impl From<PathBuf> for SuiteSource {
    fn from(path: PathBuf) -> SuiteSource {
        SuiteSource { path, ..SuiteSource::default() }
    }
}

impl From<&Path> for SuiteSource {
    fn from(path: &Path) -> SuiteSource {
        path.to_owned().into()
    }
}

impl From<&str> for SuiteSource {
    fn from(path: &str) -> SuiteSource {
        PathBuf::from(path).into()
    }
}

/// The environment variables available to a suite.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// Variables that may be unset, because nothing is sent.
    idle: BTreeSet<String>,
}

impl Variables {
    /// Creates the variables of a replay: backend secrets without a default may be unset, and a placeholder replaces
    /// them.
    pub(crate) fn of_replay(suite: &SuiteSource, permissions: &Permissions) -> Variables {
        let mut idle = secret_variables(&suite.path, permissions);
        let set = suite.overrides.iter().filter(|text| text.contains("backend"));
        let set = set.flat_map(|text| without_default(text));
        idle.extend(set.filter(|name| is_secret_name(name)).map(str::to_owned));
        Variables { idle }
    }

    /// Returns the value of a variable that a suite may read.
    pub fn get(&self, name: &str, permissions: &Permissions) -> Option<String> {
        permissions.check_env(name).ok()?;
        let set = gage_core::variable(name);
        set.or_else(|| self.idle.contains(name).then(|| SECRET_MARK.to_owned()))
    }
}

impl Context {
    /// Loads a suite of either kind from a file.
    pub fn load(
        &self,
        path: &Path,
        overrides: &[String],
        variables: &Variables,
        purpose: Purpose,
    ) -> LoadedSuite {
        let permissions = &self.permissions_of(path);
        let variable = |name: &str| variables.get(name, permissions);
        let inputs = SuiteInputs { overrides, variable: &variable, permissions };
        let mut loaded = gage_suite::load(path, &inputs, purpose);
        self.defaults.rename_sources(&mut loaded.problems);
        loaded
    }

    /// Returns the models and prompts that a suite lists, of which a run takes one each.
    pub fn choices(&self, path: &Path, variables: &Variables) -> SuiteChoices {
        let permissions = &self.permissions_of(path);
        let variable = |name: &str| variables.get(name, permissions);
        gage_suite::choices(path, &SuiteInputs { overrides: &[], variable: &variable, permissions })
    }

    /// Returns the overrides of a source, followed by the defaults for omitted values.
    pub fn all_overrides(&self, suite: &SuiteSource, variables: &Variables) -> Vec<String> {
        let read = self.load(&suite.path, &suite.overrides, variables, Purpose::Run).config;
        let defaults = read.map(|config| self.defaults.overrides(&config.document)).unwrap_or_default();
        [suite.overrides.clone(), defaults].concat()
    }
}

/// A suite that was read, with the sources of its values.
pub(crate) struct ReadSuite {
    pub(crate) variables: Variables,
    pub(crate) permissions: Permissions,
    pub(crate) overrides: Vec<String>,
    pub(crate) loaded: LoadedSuite,
}

impl ReadSuite {
    /// Reads a suite, and reports that it was read.
    pub(crate) fn new(context: &Context, suite: &SuiteSource, variables: Variables) -> ReadSuite {
        let overrides = context.all_overrides(suite, &variables);
        let loaded = context.load(&suite.path, &overrides, &variables, Purpose::Run);
        context.progress.on_event(&RunEvent::SuiteRead { config: loaded.config.as_ref() });
        ReadSuite { variables, permissions: context.permissions_of(&suite.path), overrides, loaded }
    }

    /// Calls a function with what the suite gets from outside its file.
    pub(crate) fn with_inputs<T>(&self, call: impl FnOnce(&SuiteInputs<'_>) -> T) -> T {
        let variable = |name: &str| self.variables.get(name, &self.permissions);
        call(&SuiteInputs { overrides: &self.overrides, variable: &variable, permissions: &self.permissions })
    }
}
