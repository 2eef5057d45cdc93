//! Answer extractors: find the answer in a model's output.

use super::{bindings, plain};
use crate::batch::ItemError;
use crate::bindings::extractor_exports::{AnswerKind, ExtractorSpec};
use crate::bindings::extractor_world::{ExtractorPlugin, ExtractorPluginPre};
use crate::bindings::types::Item;
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginKind};
use crate::inputs::{MetricItem, ResolvedInputs, with_sound_items};
use crate::validate_output;
use crate::world::World;
use gage_core::Object;

/// The bindings of extractors.
pub struct ExtractorKind;

/// An extractor with its parameters, ready to be called.
pub type Extractor = ConfiguredMember<ExtractorKind>;

impl PluginKind for ExtractorKind {
    const WORLD: World = World::Extractor;
    type Detail = ();
    bindings!(ExtractorPlugin, ExtractorPluginPre, gage_plugin_answer_extractor, call_extractors, declared);
}

impl ResolvedInputs for ExtractorKind {}

fn declared(extractor: ExtractorSpec) -> DeclaredMember<ExtractorKind> {
    DeclaredMember { inputs: extractor.inputs, ..plain(extractor.member) }
}

/// An extracted answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExtractedAnswer {
    /// `choice`, `number`, `list`, `text` or `reasoning`.
    pub kind: &'static str,
    /// Value in the shape of its kind.
    pub value: Object,
    /// Part of the text from which it was read.
    pub evidence: Option<String>,
}

impl Extractor {
    /// Returns whether it only shortens the text for later extractors and decides nothing. Its component
    /// declares this in `shortens`, a list in its `extra` metadata.
    pub fn shortens(&self) -> bool {
        self.is_named_in("shortens")
    }

    /// Extracts the answers of a batch, with one result per item, in order; `None` if there is no answer.
    pub fn extract(&self, items: Vec<MetricItem>) -> Vec<Result<Option<ExtractedAnswer>, ItemError>> {
        with_sound_items(items, |sound| self.extract_sound(sound))
    }

    pub(crate) fn extract_sound(&self, items: &[Item]) -> Vec<Result<Option<ExtractedAnswer>, ItemError>> {
        let limits = self.limits();
        self.batch(
            items,
            async |plugin, store, batch| {
                let guest = plugin.gage_plugin_answer_extractor();
                guest.call_extract(store, self.name(), self.params(), batch).await
            },
            |answer, _| {
                let Some(answer) = answer else { return Ok(None) };
                if let Some(evidence) = &answer.evidence {
                    validate_output::text(evidence, "the evidence of an answer", limits)?;
                }
                Ok(Some(ExtractedAnswer {
                    kind: name_of(answer.kind),
                    value: validate_output::object(&answer.value, "the value of an answer", limits)?,
                    evidence: answer.evidence,
                }))
            },
        )
    }
}

fn name_of(kind: AnswerKind) -> &'static str {
    match kind {
        AnswerKind::Choice => "choice",
        AnswerKind::Number => "number",
        AnswerKind::List => "list",
        AnswerKind::Text => "text",
        AnswerKind::Reasoning => "reasoning",
    }
}
