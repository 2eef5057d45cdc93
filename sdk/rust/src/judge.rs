//! Judges: prompt a judge model and interpret its reply. The host makes the call.

use crate::bindings::judge::exports::gage::plugin::judge as exports;
use crate::component::{Component, Plugin, each, json_text, kind, members, read_json};
pub use crate::message::{Generation, Message, Role, sample_text};
use crate::text::text_of;
use crate::{MemberSpec, PluginError};
use exports::Guest;
pub use exports::Prompt;
use serde_json::Value;

/// Input of a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Id of the Sample.
    pub sample_id: String,
    /// The Sample, as an object.
    pub sample: Value,
    /// Output of the model under test: an object with `answer`.
    pub model_output: Value,
}

/// Interpretation of the replies.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// `judge_output`, an object with `score` or `answer` for metrics.
    Output(Value),
    /// The replies are unusable, for this reason. Never counts as a score of 0.
    Unparseable(String),
}

/// A judge of a component.
pub trait Judge {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Creates the judge from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Returns the prompts of a case; several if answers are compared in both orders.
    ///
    /// # Errors
    /// An error affects only this sample.
    fn render(&self, case: &Case) -> Result<Vec<Prompt>, PluginError>;

    /// Interprets the replies, one per prompt, in order.
    ///
    /// # Errors
    /// Same as for [`Judge::render`].
    fn parse(&self, case: &Case, replies: &[Generation]) -> Result<Verdict, PluginError>;
}

impl Case {
    /// Returns the text of the user messages.
    pub fn question(&self) -> String {
        sample_text(&self.sample, "user")
    }

    /// Returns the label of the Sample as text; empty if there is none.
    pub fn reference(&self) -> String {
        text_of(&self.sample["label"])
    }

    /// Returns the answer of the model under test; empty if there is none.
    pub fn answer(&self) -> String {
        text_of(&self.model_output["answer"])
    }

    fn read(case: &exports::Case) -> Result<Case, PluginError> {
        Ok(Case {
            sample_id: case.sample_id.clone(),
            sample: read_json(&case.sample, "the sample")?,
            model_output: read_json(&case.model_output, "the model's output")?,
        })
    }
}

impl Prompt {
    /// Creates a prompt for the judge model to continue.
    pub fn new(messages: Vec<Message>) -> Prompt {
        Prompt { messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters, an object, that override those of the role.
    #[must_use]
    pub fn params(mut self, params: &Value) -> Prompt {
        self.params = params.to_string();
        self
    }
}

kind!(Judge, "judge", MemberSpec, name);

impl<P: Plugin<Kind = dyn Judge>> Guest for Component<P> {
    members!(judges, MemberSpec);

    fn render(
        judge: String,
        params: String,
        cases: Vec<exports::Case>,
    ) -> Vec<Result<Vec<Prompt>, PluginError>> {
        each::<P, _, _>(&judge, &params, cases, |judge, case| judge.render(&Case::read(&case)?))
    }

    fn parse(
        judge: String,
        params: String,
        cases: Vec<exports::Answered>,
    ) -> Vec<Result<exports::Verdict, PluginError>> {
        each::<P, _, _>(&judge, &params, cases, |judge, answered| {
            Ok(match judge.parse(&Case::read(&answered.case)?, &answered.replies)? {
                Verdict::Output(output) => exports::Verdict::Output(json_text(&output)),
                Verdict::Unparseable(reason) => exports::Verdict::Unparseable(reason),
            })
        })
    }
}

/// Creates a component of the world `judge-plugin` from [`Judge`](crate::judge::Judge)s.
///
/// An optional `extra`, an object, comes before `judges`.
#[macro_export]
macro_rules! judges {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? judges: [$($judge:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(judge, $crate::judge::Judge, $crate::judge::Judge, $name, $description, [$($extra)?], [$($judge),+]);
    };
}
