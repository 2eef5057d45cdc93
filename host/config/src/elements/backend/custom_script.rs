//! `custom_script`: a component that answers in place of a model.

use crate::elements::{PluginReference, refuse_python, sampling};
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::SamplingParams;

/// A component that answers requests.
#[derive(Clone, Debug)]
pub struct CustomScriptConfig {
    /// The component; required.
    pub component: PluginReference,
    /// Span of the component's reference.
    pub component_span: Span,
    /// Configuration passed to the component.
    pub config: Option<Node>,
    /// Sampling parameters of the lowest precedence.
    pub default_params: SamplingParams,
}

pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<CustomScriptConfig> {
    for key in ["module_path", "file_path", "class_name"] {
        if let Some(node) = table.refused(key) {
            refuse_python(node.span, &table.path_of(key), &format!("`{key}`"), "backend", problems);
        }
    }
    let text = table.required_text("component", problems);
    let config = table.free_map("config", problems).cloned();
    let default_params = sampling::read(table, "default_params", problems);
    let (text, node) = (text?, table.get("component")?);
    let component = PluginReference::read(node.span, &table.path_of("component"), &text, "backend", problems);
    Some(CustomScriptConfig { component: component?, component_span: node.span, config, default_params })
}
