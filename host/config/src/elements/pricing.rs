//! `pricing[]`: prices of models' tokens.

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;

/// Target of a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriceTarget {
    /// A backend, by its id.
    Backend(String),
    /// Every backend that requests a model of this name.
    Model(String),
}

/// Price per million tokens, in a currency that the suite does not name.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceSpec {
    /// The backend or model.
    pub of: PriceTarget,
    /// Price per million prompt tokens.
    pub prompt: f64,
    /// Price per million completion tokens.
    pub completion: f64,
    /// Span of the entry.
    pub span: Span,
}

impl PriceSpec {
    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<PriceSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let backend = table.text("backend_id", problems);
        let model = table.text("model", problems);
        let mut price = |key| {
            table.required(key, problems);
            table.float(key, 0.0..=1e9, problems).unwrap_or(0.0)
        };
        let (prompt, completion) = (price("prompt"), price("completion"));
        let of = match (backend, model) {
            (Some(id), None) => Some(PriceTarget::Backend(id)),
            (None, Some(name)) => Some(PriceTarget::Model(name)),
            _ => {
                problems
                    .error(node.span, &table.path, "a price is for a `backend_id` or for a `model`")
                    .help("give one of the two");
                None
            }
        };
        table.finish(problems);
        Some(PriceSpec { of: of?, prompt, completion, span: node.span })
    }

    /// Returns the cost of the given numbers of tokens.
    pub fn cost(&self, prompt_tokens: f64, completion_tokens: f64) -> f64 {
        (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6
    }
}
