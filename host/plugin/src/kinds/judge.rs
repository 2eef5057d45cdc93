//! Judges: prompts for a judge model, and interpretation of its replies. The host makes the calls.

use super::{bindings, plain};
use crate::batch::ItemError;
use crate::bindings::judge_exports::{Prompt as GuestPrompt, Verdict as GuestVerdict};
use crate::bindings::judge_world::{JudgePlugin, JudgePluginPre};
use crate::bindings::types::Message;
use crate::component_members::{ConfiguredMember, PluginKind};
use crate::validate_output;
use crate::world::World;
use gage_core::Object;

pub use crate::bindings::judge_exports::{Answered as JudgeReply, Case as JudgeCase};

/// The bindings of judges.
pub struct JudgeKind;

/// A judge with its parameters, ready to be called.
pub type Judge = ConfiguredMember<JudgeKind>;

impl PluginKind for JudgeKind {
    const WORLD: World = World::Judge;
    type Detail = ();
    bindings!(JudgePlugin, JudgePluginPre, gage_plugin_judge, call_judges, plain);
}

/// A conversation for a model to continue.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The conversation.
    pub messages: Vec<Message>,
    /// Sampling parameters that override those of the role.
    pub params: Object,
}

/// A judge's interpretation of the replies.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The `judge_output` that metrics read.
    Output(Object),
    /// The replies are unusable, for this reason.
    Unparseable(String),
}

impl Judge {
    /// Returns whether it can only read replies to its own prompts, as for a comparison in both orders. A
    /// prompt of the suite then cannot replace them. Its component declares this in `own_prompts`, a list in
    /// its `extra` metadata.
    pub fn needs_own_prompts(&self) -> bool {
        self.is_named_in("own_prompts")
    }

    /// Renders the prompts of a batch of cases, with one result per case, in order.
    pub fn render(&self, cases: &[JudgeCase]) -> Vec<Result<Vec<Prompt>, ItemError>> {
        let limits = self.limits();
        self.batch(
            cases,
            async |plugin, store, batch| {
                plugin.gage_plugin_judge().call_render(store, self.name(), self.params(), batch).await
            },
            |prompts, _| {
                validate_output::count(prompts.len(), "prompts", limits)?;
                let read = prompts.into_iter().map(|GuestPrompt { messages, params }| {
                    let messages = validate_output::messages(messages, limits)?;
                    let params = validate_output::object(&params, "`params` of a prompt", limits)?;
                    Ok(Prompt { messages, params })
                });
                read.collect()
            },
        )
    }

    /// Interprets the replies of a batch of cases, with one result per case, in order.
    pub fn parse(&self, replies: &[JudgeReply]) -> Vec<Result<Verdict, ItemError>> {
        let limits = self.limits();
        self.batch(
            replies,
            async |plugin, store, batch| {
                plugin.gage_plugin_judge().call_parse(store, self.name(), self.params(), batch).await
            },
            |verdict, _| match verdict {
                GuestVerdict::Output(text) => {
                    validate_output::object(&text, "the judge's output", limits).map(Verdict::Output)
                }
                GuestVerdict::Unparseable(reason) => {
                    Ok(Verdict::Unparseable(validate_output::cut(reason, limits.error_bytes)))
                }
            },
        )
    }
}
