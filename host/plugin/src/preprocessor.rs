//! Preprocessor plugins: from a raw row to a Sample.

use crate::batch::{ItemError, call_and_split};
use crate::bindings::preprocessor_exports as guest;
use crate::bindings::preprocessor_world::PreprocessorPluginPre;
use crate::checked;
use crate::component::{CallError, Linked, LoadError, PluginIdentity};
use crate::host::PluginHost;
use crate::inspect::World;
use crate::limits::Limits;
use crate::metric::describe_failure;
use crate::sandbox::GuestState;
use crate::schema::ParamsSchema;
use gage_core::Problem;
use serde_json::Value;
use std::sync::Arc;

pub use guest::RawRow;

/// What a preprocessor says of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PreprocessorDescription {
    /// Its name in the registry.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Changes whenever a Sample could.
    pub version: String,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Converted {
    /// JSON that ought to be a Sample.
    Sample(Value),
    /// The row is left out, and why.
    Skipped(String),
}

/// A component with one or more preprocessors.
pub struct PreprocessorFamily {
    linked: Linked,
    plugin: PreprocessorPluginPre<GuestState>,
    identity: PluginIdentity,
    descriptions: Vec<PreprocessorDescription>,
}

impl PreprocessorFamily {
    /// Loads a component and asks it what it holds.
    ///
    /// # Errors
    /// When it is not a preprocessor plugin, does not compile, or declares something invalid.
    pub fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<PreprocessorFamily, LoadError> {
        let linked = Linked::load(host, name, bytes, World::Preprocessor, limits)?;
        let fail = |message: String| LoadError { name: name.to_owned(), message };
        let plugin = PreprocessorPluginPre::new(linked.instance.clone())
            .map_err(|error| fail(format!("{error:#}")))?;
        let described = linked.call(|store| {
            let instance = plugin.instantiate(&mut *store)?;
            let info = instance.gage_plugin_preprocessor().call_describe(&mut *store)?;
            Ok((info, instance.gage_plugin_preprocessor().call_preprocessors(&mut *store)?))
        });
        let (info, specs) = described.map_err(|error| fail(describe_failure("describing itself", &error)))?;
        let mut descriptions = Vec::with_capacity(specs.len());
        for spec in specs {
            gage_core::check_name(&spec.name).map_err(|error| fail(format!("preprocessor name: {error}")))?;
            ParamsSchema::compile(&spec.params_schema)
                .map_err(|error| fail(format!("'{}': {error}", spec.name)))?;
            descriptions.push(PreprocessorDescription {
                params_schema: serde_json::from_str(&spec.params_schema).unwrap_or(Value::Null),
                name: spec.name,
                description: spec.description,
                version: spec.version,
            });
        }
        let identity = linked.identity(info);
        Ok(PreprocessorFamily { linked, plugin, identity, descriptions })
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    /// What its preprocessors say of themselves.
    pub fn descriptions(&self) -> &[PreprocessorDescription] {
        &self.descriptions
    }

    /// Makes a converter of one of its preprocessors; without a name of the only one.
    ///
    /// # Errors
    /// Everything that is wrong with the name and the parameters; pointers lead into `params`.
    pub fn preprocessor(
        self: &Arc<PreprocessorFamily>,
        name: Option<&str>,
        params: Value,
    ) -> Result<Preprocessor, Vec<Problem>> {
        let problem = |message: String| vec![Problem { pointer: String::new(), message }];
        let known: Vec<&str> = self.descriptions.iter().map(|one| one.name.as_str()).collect();
        let description = match (name, self.descriptions.as_slice()) {
            (None, [only]) => only,
            (None, _) => {
                let known = known.join(", ");
                return Err(problem(format!(
                    "the component holds several preprocessors; name one with #: {known}"
                )));
            }
            (Some(name), all) => all.iter().find(|one| one.name == name).ok_or_else(|| {
                problem(format!(
                    "the component holds no preprocessor '{name}'; it holds {}",
                    known.join(", ")
                ))
            })?,
        };
        let params = if params.is_null() { Value::Object(gage_core::Object::new()) } else { params };
        let schema = ParamsSchema::compile(&description.params_schema.to_string()).map_err(problem)?;
        let problems = schema.problems(&params, &[]);
        if !problems.is_empty() {
            return Err(problems);
        }
        let params = params.to_string();
        let checked = self.linked.call(|store| {
            let instance = self.plugin.instantiate(&mut *store)?;
            instance.gage_plugin_preprocessor().call_check(store, &description.name, &params)
        });
        match checked {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = checked::error(error, &self.linked.limits);
                return Err(vec![Problem {
                    pointer: error.pointer.unwrap_or_default(),
                    message: error.message,
                }]);
            }
            Err(error) => return Err(problem(describe_failure("checking its parameters", &error))),
        }
        Ok(Preprocessor { description: description.clone(), family: Arc::clone(self), params })
    }
}

/// A preprocessor with its parameters, ready to convert.
pub struct Preprocessor {
    family: Arc<PreprocessorFamily>,
    description: PreprocessorDescription,
    params: String,
}

impl Preprocessor {
    /// What the preprocessor says of itself.
    pub fn description(&self) -> &PreprocessorDescription {
        &self.description
    }

    /// What a record of a run says about its component.
    pub fn identity(&self) -> &PluginIdentity {
        self.family.identity()
    }

    /// Converts a batch: one result for each row, in order.
    pub fn convert(&self, rows: &[RawRow]) -> Vec<Result<Converted, ItemError>> {
        let family = &self.family;
        let limits = &family.linked.limits;
        let of_sample = Limits { result_bytes: limits.sample_bytes, ..limits.clone() };
        call_and_split(rows, &mut |batch: &[RawRow]| {
            let returned = family.linked.call(|store| {
                let instance = family.plugin.instantiate(&mut *store)?;
                let preprocessor = instance.gage_plugin_preprocessor();
                preprocessor.call_convert(store, &self.description.name, &self.params, batch)
            })?;
            let check = |result: Result<guest::Outcome, _>| match result {
                Ok(guest::Outcome::Sample(text)) => {
                    checked::json(&text, "the Sample", &of_sample).map(Converted::Sample)
                }
                Ok(guest::Outcome::Skip(reason)) => {
                    Ok(Converted::Skipped(checked::cut(reason, limits.error_bytes)))
                }
                Err(error) => Err(checked::error(error, limits)),
            };
            Ok::<_, CallError>(returned.into_iter().map(check).collect())
        })
    }
}
