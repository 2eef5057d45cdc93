//! The chain from rows to Samples: preprocessors, and hooks that add text and media.

use crate::elements::PluginReference;
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;

/// A preprocessor of a chain.
#[derive(Clone, Debug)]
pub struct PreprocessSpec {
    /// The preprocessor.
    pub reference: PluginReference,
    /// The parameters.
    pub kwargs: Option<Node>,
    /// Span of its name.
    pub span: Span,
}

/// The kind of content that a hook returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// `doc_to_text`: messages.
    Text,
    /// `doc_to_visual`: images and videos.
    Visual,
    /// `doc_to_audio`: audio.
    Audio,
}

impl HookKind {
    /// Returns the key of the dataset.
    pub fn key(self) -> &'static str {
        match self {
            HookKind::Text => "doc_to_text",
            HookKind::Visual => "doc_to_visual",
            HookKind::Audio => "doc_to_audio",
        }
    }
}

/// A doc hook of a dataset.
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// The kind of content.
    pub kind: HookKind,
    /// The hook.
    pub reference: PluginReference,
    /// The hook's own parameters.
    pub kwargs: Option<Node>,
    /// Parameters of the preprocessor. The hook takes those that it declares and its own parameters do not set.
    pub inherited: Option<Node>,
    /// Span of its name.
    pub span: Span,
}

/// Reads `preprocess`: a name, or a list of names and of `{name, kwargs}`. Also reads `preprocess_kwargs`, which
/// apply to a single preprocessor.
pub(super) fn read_preprocess(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<PreprocessSpec> {
    let path = table.path_of("preprocess");
    let kwargs = table.free_map("preprocess_kwargs", problems).cloned();
    let Some(node) = table.get("preprocess") else {
        let reference = PluginReference::parse("default");
        return vec![PreprocessSpec { reference, kwargs, span: table.span }];
    };
    let items: Vec<(&Node, String)> = match &node.value {
        NodeValue::List(items) => {
            items.iter().enumerate().map(|(index, item)| (item, format!("{path}[{index}]"))).collect()
        }
        _ => vec![(node, path.clone())],
    };
    if items.is_empty() {
        problems.error(node.span, &path, "`preprocess` names no preprocessor");
    }
    let is_single = items.len() == 1;
    if let Some(kwargs) = kwargs.as_ref().filter(|_| !is_single) {
        problems
            .error(
                kwargs.span,
                &table.path_of("preprocess_kwargs"),
                "each preprocessor of a list has parameters of its own",
            )
            .help("write preprocess: [{name: multi_choice, kwargs: {…}}, {name: default}]");
    }
    let mut chain: Vec<PreprocessSpec> =
        items.iter().filter_map(|(item, path)| read_link(item, path, problems)).collect();
    if let ([only], Some(kwargs)) = (chain.as_mut_slice(), kwargs) {
        match &only.kwargs {
            None => only.kwargs = Some(kwargs),
            Some(own) => {
                let message = "parameters are given twice, here and as `preprocess_kwargs`";
                problems.error(own.span, &path, message);
            }
        }
    }
    chain
}

fn read_link(node: &Node, path: &str, problems: &mut Problems) -> Option<PreprocessSpec> {
    let (name, kwargs) = match &node.value {
        NodeValue::Map(_) => {
            let mut table = MappingReader::open(node, path, problems)?;
            let name = table.required("name", problems).cloned();
            let kwargs = table.free_map("kwargs", problems).cloned();
            table.finish(problems);
            (name?, kwargs)
        }
        _ => (node.clone(), None),
    };
    let Some(text) = name.as_text() else {
        problems.error(
            name.span,
            path,
            format!("expected the name of a preprocessor, found {}", name.kind()),
        );
        return None;
    };
    let reference = PluginReference::read(name.span, path, text, "preprocessor", problems)?;
    Some(PreprocessSpec { reference, kwargs, span: name.span })
}

/// Reads `doc_to_text`, `doc_to_visual` and `doc_to_audio`, each with its `…_kwargs`.
pub(super) fn read_hooks(
    table: &mut MappingReader<'_>,
    preprocess: &[PreprocessSpec],
    problems: &mut Problems,
) -> Vec<HookSpec> {
    const HOOKS: [(HookKind, &str, &str); 3] = [
        (HookKind::Text, "doc_to_text", "doc_to_text_kwargs"),
        (HookKind::Visual, "doc_to_visual", "doc_to_visual_kwargs"),
        (HookKind::Audio, "doc_to_audio", "doc_to_audio_kwargs"),
    ];
    let mut hooks = Vec::new();
    for (kind, key, kwargs_key) in HOOKS {
        let kwargs = table.free_map(kwargs_key, problems).cloned();
        let Some(text) = table.text(key, problems) else {
            if let Some(kwargs) = kwargs {
                let message = format!("`{kwargs_key}` without `{key}` does nothing");
                problems.error(kwargs.span, &table.path_of(kwargs_key), message);
            }
            continue;
        };
        let Some(node) = table.get(key) else { continue };
        let path = table.path_of(key);
        if let Some(reference) = PluginReference::read(node.span, &path, &text, "doc-hook", problems) {
            let inherited = preprocess.last().and_then(|last| last.kwargs.clone());
            hooks.push(HookSpec { kind, reference, kwargs, inherited, span: node.span });
        }
    }
    hooks
}
