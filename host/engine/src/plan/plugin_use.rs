//! Lookup of the plugins that a suite uses: finds each, checks its parameters, and reports problems at their place in the
//! suite.

use gage_config::{Node, PluginCall, PluginReference, Problems, Span};
use gage_core::FieldError;
use gage_plugin::{AnyKind, ConfiguredMember, InputDescription, PluginComponent, Registry, RegistryError};
use serde_json::Value;
use std::sync::Arc;

/// A plugin as a suite uses it.
#[derive(Clone, Copy)]
pub(super) struct PluginUse<'u> {
    pub(super) reference: &'u PluginReference,
    pub(super) params: Option<&'u Node>,
    pub(super) span: Span,
    /// The key of the reference.
    pub(super) key: &'u str,
    /// The key of the parameters.
    pub(super) params_key: &'u str,
}

impl<'u> PluginUse<'u> {
    pub(super) fn of_call(call: &'u PluginCall, key: &'u str) -> PluginUse<'u> {
        let PluginCall { reference, params, span, .. } = call;
        PluginUse { reference, params: Some(params), span: *span, key, params_key: key }
    }

    /// Finds the component, and the name of its member. A name without a plugin is not reported if it may belong to one
    /// that failed to load, which is already an error.
    pub(super) fn find<K: AnyKind>(
        &self,
        registry: &Registry,
        problems: &mut Problems,
    ) -> Option<(Arc<PluginComponent<K>>, Option<String>)> {
        let error = match registry.find::<K>(self.reference) {
            Ok(found) => return Some(found),
            Err(error) => error,
        };
        let is_unknown = matches!(
            error,
            RegistryError::Unknown { .. }
                | RegistryError::UnknownPlugin { .. }
                | RegistryError::NotInstalled { .. }
        );
        if !(is_unknown && registry.is_lacking()) {
            report_registry(&error, self.span, self.key, &self.reference.to_string(), problems);
        }
        None
    }

    /// Finds the plugin and checks its parameters.
    pub(super) fn configure<K: AnyKind>(
        &self,
        registry: &Registry,
        problems: &mut Problems,
    ) -> Option<ConfiguredMember<K>> {
        let (component, member) = self.find::<K>(registry, problems)?;
        let params = self.params.map_or(Value::Null, Node::to_json);
        component
            .configure(member.as_deref(), params)
            .map_err(|found| self.report_params(found, problems))
            .ok()
    }

    /// Reports wrong parameters at their place in the suite.
    pub(super) fn report_params(&self, found: Vec<FieldError>, problems: &mut Problems) {
        for problem in found {
            let span = self.params.map_or(self.span, |node| node.nearest(&problem.pointer).span);
            let path = format!("{}{}", self.params_key, problem.pointer.replace('/', "."));
            // The place of a parameter names its plugin, and that of missing parameters may not.
            let message = match problem.pointer.as_str() {
                "" => format!("`{}`: {}", self.reference, problem.message),
                _ => problem.message,
            };
            problems.error(span, &path, message);
        }
    }

    /// Rejects path parameters that contain a secret, because paths appear unredacted in records and reports.
    pub(super) fn check_paths(&self, inputs: &[InputDescription], problems: &mut Problems) -> Option<()> {
        let params = self.params?;
        let (given, public) = (params.to_json(), params.to_public_json());
        let keys = inputs.iter().flat_map(|input| &input.path_params);
        let secret = keys.filter_map(|key| {
            let path = given.get(key)?.as_str()?;
            let spelled =
                public.get(key)?.as_str().filter(|public| *public != path && public.contains("${"))?;
            let message = format!(
                "this path uses `{spelled}`, and a variable with such a name is a secret: paths appear in \
                 records and reports as they are; write it out, or take it from a variable without KEY, \
                 TOKEN, SECRET or PASSWORD in its name"
            );
            Some(FieldError { pointer: format!("/{key}"), message })
        });
        let secret: Vec<FieldError> = secret.collect();
        let is_public = secret.is_empty();
        self.report_params(secret, problems);
        is_public.then_some(())
    }
}

pub(super) fn report_registry(
    error: &RegistryError,
    span: Span,
    key: &str,
    name: &str,
    problems: &mut Problems,
) {
    let problem = problems.error(span, key, error.to_string());
    problem.help = error.help();
    match error {
        RegistryError::Unknown { known, .. } => {
            problem.known(name, known.iter().map(String::as_str));
        }
        RegistryError::UnknownPlugin { id, known } => {
            problem.known(id, known.iter().map(String::as_str));
        }
        RegistryError::Untrusted(_) => problems.note_untrusted_plugin(),
        _ => {}
    }
}
