//! Prerequisites of a dataset before its rows are read: its plugins and its tokenizer.

use super::plugin_use::PluginUse;
use super::templates::load_sandbox;
use gage_config::{DataSource, DatasetSpec, HookKind, HookSpec, Node, Permissions, PreprocessSpec, Problems};
use gage_core::{FieldError, OptionDisplay};
use gage_plugin::{DocHook, DocHookKind, Preprocessor, PreprocessorKind, Registry};
use gage_template::{FieldExpressions, TokenizerConfig, TokenizerTemplate};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A dataset, ready to be read.
#[derive(Clone)]
pub struct PlannedDataset {
    /// The settings.
    pub spec: DatasetSpec,
    /// Computes fields of the rows, before the preprocessors.
    pub fields: Option<Arc<FieldExpressions>>,
    /// The preprocessors, in order.
    pub chain: Vec<Arc<Preprocessor>>,
    /// The doc hooks.
    pub hooks: Vec<(HookKind, Arc<DocHook>)>,
    /// The tokenizer template that renders prompts while Samples are prepared.
    pub tokenizer: Option<Arc<TokenizerTemplate>>,
    /// Says if requests show the options of Samples. A prompt of the suite comes first.
    pub option_display: OptionDisplay,
    /// True if a prompt reads the row of a Sample. Samples then hold it.
    pub keeps_row: bool,
    /// What the suite may reach.
    pub permissions: Permissions,
}

impl PlannedDataset {
    /// Returns a dataset that is not read, for requests that are built from records.
    pub(crate) fn unread(spec: &DatasetSpec) -> PlannedDataset {
        PlannedDataset {
            spec: spec.clone(),
            fields: None,
            chain: Vec::new(),
            hooks: Vec::new(),
            tokenizer: None,
            option_display: option_display(spec),
            keeps_row: false,
            permissions: Permissions::default(),
        }
    }

    /// Loads the plugins of a dataset and checks its files. Fetches nothing.
    pub fn new(spec: &DatasetSpec, registry: &Registry, problems: &mut Problems) -> Option<PlannedDataset> {
        let before = problems.counts().0;
        check_files(spec, problems);
        let fields = compiled_fields(spec, registry, problems);
        let chain: Vec<Option<Arc<Preprocessor>>> =
            spec.preprocess.iter().map(|link| preprocessor(link, registry, problems)).collect();
        let hooks: Vec<Option<(HookKind, Arc<DocHook>)>> =
            spec.hooks.iter().map(|hook| doc_hook(hook, registry, problems)).collect();
        let tokenizer = spec
            .tokenizer_config
            .as_ref()
            .and_then(|path| compiled_tokenizer(path, spec, registry, problems));
        if problems.counts().0 > before {
            return None;
        }
        Some(PlannedDataset {
            spec: spec.clone(),
            fields,
            chain: chain.into_iter().collect::<Option<_>>()?,
            hooks: hooks.into_iter().collect::<Option<_>>()?,
            tokenizer,
            option_display: option_display(spec),
            keeps_row: false,
            permissions: problems.resources.permissions().clone(),
        })
    }
}

/// Compiles the expressions of the computed fields, if there are any, and reports each that is invalid.
fn compiled_fields(
    spec: &DatasetSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Arc<FieldExpressions>> {
    let key = "fields";
    let span = spec.fields.first()?.span;
    let sandbox = load_sandbox(registry, span, key, problems)?;
    let expressions = spec.fields.iter().map(|field| (field.name.as_str(), field.expression.as_str()));
    match FieldExpressions::new(&sandbox, expressions) {
        Ok(fields) => Some(Arc::new(fields)),
        Err(errors) => {
            for error in errors {
                let field = error.field.and_then(|field| spec.fields.get(field));
                let span = field.map_or(span, |field| field.span);
                problems.error(span, key, format!("the expression is not valid: {}", error.text));
            }
            None
        }
    }
}

/// Compiles the chat template of a tokenizer.
fn compiled_tokenizer(
    path: &Path,
    spec: &DatasetSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Arc<TokenizerTemplate>> {
    let (span, key) = (spec.spans.of("tokenizer_config"), "tokenizer_config");
    let config = match TokenizerConfig::read(path, problems.resources.permissions()) {
        Ok(config) => config,
        Err(error) => {
            problems.error(span, key, error.to_string());
            return None;
        }
    };
    let sandbox = load_sandbox(registry, span, key, problems)?;
    match config.compile(&sandbox) {
        Ok(template) => Some(Arc::new(template)),
        Err(error) => {
            problems.error(span, key, error.to_string());
            None
        }
    }
}

/// Returns whether requests show options: they do, unless a preprocessor leaves them out on purpose.
fn option_display(spec: &DatasetSpec) -> OptionDisplay {
    let leaves_out = |link: &PreprocessSpec| {
        let style = link.kwargs.as_ref().and_then(|kwargs| kwargs.get("style"));
        style.is_some_and(|style| style.to_json() == "question_only")
    };
    match spec.preprocess.iter().any(leaves_out) {
        true => OptionDisplay::AsWritten,
        false => OptionDisplay::AfterQuestion,
    }
}

/// Checks that the files of a dataset can be read and hold rows.
fn check_files(spec: &DatasetSpec, problems: &mut Problems) {
    let DataSource::Files(files) = &spec.source else { return };
    if files.paths.is_empty() {
        // The paths could not be parsed, which is already an error.
        return;
    }
    if let Err(error) = gage_data::check(spec) {
        let key = error.key(spec);
        let problem = problems.error(spec.spans.of(key), key, error.to_string());
        if error.is_missing_file() {
            problem.help("relative paths start in the working folder; `${config_dir}/NAME` is a file next to the suite");
        }
    }
    if let Some(root) = spec.media.content_root.as_ref().filter(|root| !root.is_dir()) {
        let message = format!("{} is not a folder", gage_config::shown_path(root));
        problems.error(spec.spans.of("content_root"), "content_root", message);
    }
}

fn preprocessor(
    link: &PreprocessSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<Arc<Preprocessor>> {
    let used = PluginUse {
        reference: &link.reference,
        params: link.kwargs.as_ref(),
        span: link.span,
        key: "preprocess",
        params_key: "preprocess_kwargs",
    };
    used.configure::<PreprocessorKind>(registry, problems).map(Arc::new)
}

fn doc_hook(
    spec: &HookSpec,
    registry: &Registry,
    problems: &mut Problems,
) -> Option<(HookKind, Arc<DocHook>)> {
    let key = spec.kind.key();
    let (reference, params, span) = (&spec.reference, spec.kwargs.as_ref(), spec.span);
    let used = PluginUse { reference, params, span, key, params_key: &format!("{key}_kwargs") };
    let (plugin, member) = used.find::<DocHookKind>(registry, problems)?;
    let mut described = plugin.descriptions().iter();
    let declared = match &member {
        Some(name) => described.find(|described| described.name == *name),
        None => described.next(),
    };
    let declares = |name: &str| {
        declared.is_some_and(|described| described.params_schema["properties"].get(name).is_some())
    };
    let gives = declared.and_then(|described| described.hook.as_deref()).unwrap_or_default();
    // Images and sounds are both media. Text is not.
    if declared.is_some() && (gives == "text") != (spec.kind == HookKind::Text) {
        let message = format!("`{}` is a hook for {gives}, which `{key}` does not accept", spec.reference);
        problems.error(spec.span, key, message).help("`gage-host list hooks` says what each is for");
        return None;
    }
    let mut params = match spec.kwargs.as_ref().map(Node::to_json) {
        Some(Value::Object(own)) => own,
        _ => gage_core::Object::new(),
    };
    if let Some(Value::Object(inherited)) = spec.inherited.as_ref().map(Node::to_json) {
        for (name, value) in inherited {
            if declares(&name) && !params.contains_key(&name) {
                params.insert(name, value);
            }
        }
    }
    let hook = match plugin.configure(member.as_deref(), Value::Object(params)) {
        Ok(hook) => hook,
        Err(found) => {
            report_hook_params(found, spec, used, problems);
            return None;
        }
    };
    Some((spec.kind, Arc::new(hook)))
}

/// Reports wrong parameters of a hook, either its own or those taken from the preprocessor.
fn report_hook_params(found: Vec<FieldError>, spec: &HookSpec, used: PluginUse<'_>, problems: &mut Problems) {
    for problem in found {
        let name = problem.pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_own = spec.kwargs.as_ref().is_some_and(|kwargs| kwargs.get(name).is_some());
        let params =
            if is_own { spec.kwargs.as_ref() } else { spec.inherited.as_ref().or(spec.kwargs.as_ref()) };
        PluginUse { params, ..used }.report_params(vec![problem], problems);
    }
}
