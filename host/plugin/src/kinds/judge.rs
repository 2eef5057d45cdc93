//! Judges: the prompts for a judge model, and what its replies mean. The host makes the calls.

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

/// A conversation that a model is to continue.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The conversation.
    pub messages: Vec<Message>,
    /// Sampling parameters that win over those of the role.
    pub params: Object,
}

/// What a judge makes of the replies.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The `judge_output` that metrics read.
    Output(Object),
    /// The replies say nothing that can be used, and why.
    Unparseable(String),
}

impl Judge {
    /// Returns whether it reads replies to its own prompts alone, such as a comparison in both orders, so that a
    /// prompt of the suite
    /// cannot stand in for them: its component names it in `own_prompts`, a list in its `extra` metadata.
    pub fn needs_own_prompts(&self) -> bool {
        self.is_named_in("own_prompts")
    }

    /// The prompts of a batch of cases: one result for each, in order.
    pub fn render(&self, cases: &[JudgeCase]) -> Vec<Result<Vec<Prompt>, ItemError>> {
        let limits = self.limits();
        self.batch(
            cases,
            |plugin, store, batch| {
                plugin.gage_plugin_judge().call_render(store, self.name(), self.params(), batch)
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

    /// What the replies of a batch of cases mean: one result for each, in order.
    pub fn parse(&self, replies: &[JudgeReply]) -> Vec<Result<Verdict, ItemError>> {
        let limits = self.limits();
        self.batch(
            replies,
            |plugin, store, batch| {
                plugin.gage_plugin_judge().call_parse(store, self.name(), self.params(), batch)
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
