//! Judges: they ask a judge model and read its reply. The host makes the call.

use crate::bindings::judge::exports::gage::plugin::judge as exports;
use crate::component::{Component, Plugin, each, kind, members, read_json};
pub use crate::message::{Generation, Message, Role, sample_text};
use crate::text::text_of;
use crate::{MemberSpec, PluginError};
use exports::Guest;
pub use exports::Prompt;
use serde_json::Value;

/// What is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The id of the Sample.
    pub sample_id: String,
    /// The Sample, an object.
    pub sample: Value,
    /// What the model under test gave: an object with `answer`.
    pub model_output: Value,
}

/// What the replies say.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// `judge_output`, an object with `score` or `answer` as metrics read them.
    Output(Value),
    /// Nothing that can be used, and why. Never a score of 0.
    Unparseable(String),
}

/// One judge of a component.
pub trait Judge {
    /// What it is called in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Makes the judge from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// The prompts of a case; several where answers are compared in both orders.
    ///
    /// # Errors
    /// An error is the outcome of this sample alone.
    fn render(&self, case: &Case) -> Result<Vec<Prompt>, PluginError>;

    /// Reads the replies, one for each prompt, in order.
    ///
    /// # Errors
    /// As for [`Judge::render`].
    fn parse(&self, case: &Case, replies: &[Generation]) -> Result<Verdict, PluginError>;
}

impl Case {
    /// The text of the user messages.
    pub fn question(&self) -> String {
        sample_text(&self.sample, "user")
    }

    /// The label of the Sample as text; empty where there is none.
    pub fn reference(&self) -> String {
        text_of(&self.sample["label"])
    }

    /// What the model under test answered; empty where it gave nothing.
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
    /// A conversation that the judge model is to continue.
    pub fn new(messages: Vec<Message>) -> Prompt {
        Prompt { messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters that win over those of the role; an object.
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
                Verdict::Output(output) => exports::Verdict::Output(output.to_string()),
                Verdict::Unparseable(reason) => exports::Verdict::Unparseable(reason),
            })
        })
    }
}

/// Makes a component of the world `judge-plugin` from [`Judge`](crate::judge::Judge)s.
///
/// `extra`, an object, may stand before `judges`.
#[macro_export]
macro_rules! judges {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? judges: [$($judge:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(judge, $crate::judge::Judge, $crate::judge::Judge, $name, $description, [$($extra)?], [$($judge),+]);
    };
}
