//! The step `embed`: semantic similarity of an answer to its references, by a model's embeddings.
//!
//! ```yaml
//! - step: embed
//!   adapter_id: embedder                        # a role of the type helper_model
//!   prediction_field: model_output.answer
//!   references_field: sample.references
//! ```

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::{FieldPath, Root};

/// The step `embed`.
#[derive(Clone, Debug)]
pub struct EmbedStep {
    /// The role whose backend computes the embeddings; default the only one of the type `helper_model`.
    pub adapter_id: Option<String>,
    /// The text that is compared; default `model_output.answer`.
    pub prediction_field: FieldPath,
    /// The texts that it is compared with: the first of these paths that has any in a Sample.
    pub references_fields: Vec<FieldPath>,
    /// Span of the step, or of its adapter.
    pub span: Span,
}

/// Path of the answer.
const DEFAULT_PREDICTION: &str = "model_output.answer";
/// Paths of references in Samples.
const DEFAULT_REFERENCES: [&str; 3] = ["sample.references", "sample.metadata.references", "sample.label"];
/// Keys that are not yet available when the step runs, or that vary from run to run.
const LATER: [&str; 7] =
    ["parsed", "extraction", "written", "semantic", "latency_ms", "queue_ms", "attempts"];

impl EmbedStep {
    /// Reads the keys next to `step`.
    pub(crate) fn read(table: &mut MappingReader<'_>, node: &Node, problems: &mut Problems) -> EmbedStep {
        let adapter_id = table.text("adapter_id", problems);
        let span = table.get("adapter_id").map_or(node.span, |node| node.span);
        let prediction = path(table, "prediction_field", Root::ModelOutput, "model_output.", problems);
        if let Some(key) =
            prediction.as_ref().and_then(FieldPath::first_key).filter(|key| LATER.contains(key))
        {
            let message = format!("`model_output.{key}` is not there yet when the step `embed` is done");
            table
                .error("prediction_field", message, problems)
                .help("name something that the model said: model_output.answer, model_output.reasoning");
        }
        let references = path(table, "references_field", Root::Sample, "sample.", problems);
        EmbedStep {
            adapter_id,
            prediction_field: prediction.unwrap_or_else(|| FieldPath::new(DEFAULT_PREDICTION)),
            references_fields: match references {
                Some(path) => vec![path],
                None => DEFAULT_REFERENCES.map(FieldPath::new).to_vec(),
            },
            span,
        }
    }
}

/// Reads a path that must begin in one document.
fn path(
    table: &mut MappingReader<'_>,
    key: &'static str,
    root: Root,
    begins: &str,
    problems: &mut Problems,
) -> Option<FieldPath> {
    let found = FieldPath::new(&table.text(key, problems)?);
    if found.root() != root || found.first_key().is_none_or(str::is_empty) {
        let message = format!("`{key}` must be a path that begins with `{begins}`, not `{found}`");
        table.error(key, message, problems);
        return None;
    }
    Some(found)
}
