//! Answer extractors: find the answer in a model's output.

use crate::bindings::extractor::exports::gage::plugin::answer_extractor::Guest;
pub use crate::bindings::extractor::exports::gage::plugin::answer_extractor::{
    Answer, AnswerKind, ExtractorSpec,
};
pub use crate::bindings::types::{InputSpec, Item, Value, ValueKind};
use crate::component::{Component, Plugin, each, kind, members};
pub use crate::value::Inputs;
use crate::value::number_to_json;
use crate::{MemberSpec, PluginError};
use serde_json::json;

/// An extractor of a component.
pub trait Extractor {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version, its parameters and its inputs.
    fn spec() -> ExtractorSpec
    where
        Self: Sized;

    /// Creates the extractor from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: serde_json::Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Extracts the answer from one item; `None` if there is none.
    ///
    /// # Errors
    /// An error affects only this sample.
    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError>;
}

impl ExtractorSpec {
    /// Creates the spec of an extractor that searches the input `text`: the model's answer, unless the
    /// parameter `text_field` names another path.
    pub fn new(member: MemberSpec) -> ExtractorSpec {
        let text = InputSpec::new("text", &["text_field"], &["model_output.answer"], ValueKind::Text);
        ExtractorSpec { member, inputs: vec![text] }
    }

    /// Adds an input; see [`InputSpec::new`].
    #[must_use]
    pub fn input(
        mut self,
        name: &str,
        path_params: &[&str],
        default_paths: &[&str],
        kind: ValueKind,
    ) -> ExtractorSpec {
        self.inputs.push(InputSpec::new(name, path_params, default_paths, kind));
        self
    }
}

impl Answer {
    /// Creates an answer of this kind; the value is an object in the kind's shape.
    pub fn new(kind: AnswerKind, value: &serde_json::Value) -> Answer {
        Answer { kind, value: value.to_string(), evidence: None }
    }

    /// Creates an answer with the name of an option.
    pub fn choice(name: &str) -> Answer {
        Answer::new(AnswerKind::Choice, &json!({ "value": name }))
    }

    /// Creates an answer with a number without a unit.
    pub fn number(number: f64) -> Answer {
        Answer::new(AnswerKind::Number, &json!({ "value": number_to_json(number) }))
    }

    /// Creates an answer with a text.
    pub fn text(text: &str) -> Answer {
        Answer::new(AnswerKind::Text, &json!({ "value": text }))
    }

    /// Creates an answer with a list.
    pub fn list(items: &[serde_json::Value]) -> Answer {
        Answer::new(AnswerKind::List, &json!({ "items": items }))
    }

    /// Sets the part of the text that contains the answer.
    #[must_use]
    pub fn evidence(mut self, text: impl Into<String>) -> Answer {
        self.evidence = Some(text.into());
        self
    }
}

kind!(Extractor, "extractor", ExtractorSpec, member.name);

impl<P: Plugin<Kind = dyn Extractor>> Guest for Component<P> {
    members!(extractors, ExtractorSpec);

    fn extract(
        extractor: String,
        params: String,
        items: Vec<Item>,
    ) -> Vec<Result<Option<Answer>, PluginError>> {
        each::<P, _, _>(&extractor, &params, items, |extractor, item| {
            extractor.extract(Inputs::new(&item.inputs))
        })
    }
}

/// Creates a component of the world `extractor-plugin` from [`Extractor`](crate::extractor::Extractor)s.
///
/// An optional `extra`, an object, comes before `extractors`.
#[macro_export]
macro_rules! extractors {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? extractors: [$($extractor:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(extractor, $crate::extractor::Extractor, $crate::extractor::Extractor, $name, $description, [$($extra)?], [$($extractor),+]);
    };
}
