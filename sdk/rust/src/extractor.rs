//! Answer extractors: they find the answer in what a model wrote.

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

/// One extractor of a component.
pub trait Extractor {
    /// What it is called in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version, its parameters and its inputs.
    fn spec() -> ExtractorSpec
    where
        Self: Sized;

    /// Makes the extractor from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: serde_json::Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// The answer in one item; `None` where there is none.
    ///
    /// # Errors
    /// An error is the outcome of this sample alone.
    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError>;
}

impl ExtractorSpec {
    /// An extractor that searches the input `text`: the model's answer, unless the parameter
    /// `text_field` names another path.
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
    /// An answer of a kind; the value is an object in the shape of the kind.
    pub fn new(kind: AnswerKind, value: &serde_json::Value) -> Answer {
        Answer { kind, value: value.to_string(), evidence: None }
    }

    /// The name of an option.
    pub fn choice(name: &str) -> Answer {
        Answer::new(AnswerKind::Choice, &json!({ "value": name }))
    }

    /// A number without a unit.
    pub fn number(number: f64) -> Answer {
        Answer::new(AnswerKind::Number, &json!({ "value": number_to_json(number) }))
    }

    /// A text.
    pub fn text(text: &str) -> Answer {
        Answer::new(AnswerKind::Text, &json!({ "value": text }))
    }

    /// A list.
    pub fn list(items: &[serde_json::Value]) -> Answer {
        Answer::new(AnswerKind::List, &json!({ "items": items }))
    }

    /// Says which part of the text the answer was read from.
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

/// Makes a component of the world `extractor-plugin` from
/// [`Extractor`](crate::extractor::Extractor)s.
///
/// `extra`, an object, may stand before `extractors`.
#[macro_export]
macro_rules! extractors {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? extractors: [$($extractor:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(extractor, $crate::extractor::Extractor, $crate::extractor::Extractor, $name, $description, [$($extra)?], [$($extractor),+]);
    };
}
