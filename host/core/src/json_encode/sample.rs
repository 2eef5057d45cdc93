//! Encoding of a Sample in its standard form.

use super::content::BriefMessages;
use super::{JsonMembers, Member, always, list, object, serialize, text, value};
use crate::Object;
use crate::sample::derived::{Choices, DerivedChoices, MetadataMember, OF_OPTIONS, are_references_implied};
use crate::sample::{ChoiceOption, FewShotExample, Reference, Sample, SandboxSpec};
use crate::schema::SCHEMA_VERSION;
use serde_json::Value;

serialize!(Sample, ChoiceOption, Reference, FewShotExample, SandboxSpec);

impl JsonMembers for Sample {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let metadata = MetadataMember::of(self);
        let metadata = (!metadata.is_empty()).then_some(Member::Metadata(metadata));
        let choices = match &self.choices {
            Choices::None => None,
            Choices::OfOptions => Some(Member::Choices(DerivedChoices(&self.options))),
            Choices::Listed(choices) => Some(Member::Values(choices)),
        };
        let references = Some(Member::References(&self.references));
        let version = always("schema_version", Member::Text(SCHEMA_VERSION));
        version.into_iter().chain(self.members_with(
            Member::Messages(&self.messages),
            references,
            metadata,
            choices,
        ))
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}

impl Sample {
    /// Returns the members of the recorded form, which leaves out what follows from others.
    pub(crate) fn recorded_members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let references = match are_references_implied(self) {
            true => None,
            false => Some(Member::References(&self.references)),
        };
        let metadata = (!self.metadata.is_empty()).then_some(Member::Object(&self.metadata));
        let choices = match &self.choices {
            Choices::None => None,
            Choices::OfOptions => Some(Member::Text(OF_OPTIONS)),
            Choices::Listed(choices) => Some(Member::Values(choices)),
        };
        let messages = Member::BriefMessages(BriefMessages(&self.messages));
        self.members_with(messages, references, metadata, choices)
    }

    /// Returns the unknown members.
    pub(crate) fn other_members(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.extra.iter().filter(|(key, _)| !self.members().any(|(known, _)| known == *key))
    }

    /// Returns the known members but the version.
    fn members_with<'s>(
        &'s self,
        messages: Member<'s>,
        references: Option<Member<'s>>,
        metadata: Option<Member<'s>>,
        choices: Option<Member<'s>>,
    ) -> impl Iterator<Item = (&'static str, Member<'s>)> {
        let some = |key, member: Option<Member<'s>>| member.map(|member| (key, member));
        [
            always("id", Member::Text(&self.id)),
            text("task_type", self.task_type.as_ref().map(crate::TaskType::name)),
            always("messages", messages),
            list("options", &self.options, Member::Options),
            some("references", references),
            text("label", self.label.as_deref()),
            list("few_shot_examples", &self.few_shot_examples, Member::Examples),
            list("golden_trajectories", &self.golden_trajectories, Member::Conversations),
            self.sandbox.as_ref().map(|sandbox| ("sandbox", Member::Sandbox(sandbox))),
            some("metadata", metadata),
            object("data_tag", &self.data_tag),
            object("raw_assets", &self.raw_assets),
            list("tools", &self.tools, Member::Values),
            value("tool_choice", self.tool_choice.as_ref()),
            object("sampling_params", &self.sampling_params),
            object("generation_params", &self.generation_params),
            object("eval_config", &self.eval_config),
            value("unconditioned_input", self.unconditioned_input.as_ref()),
            list("predict_result", &self.predict_result, Member::Values),
            object("eval_result", &self.eval_result),
            some("choices", choices),
            object("inputs", &self.inputs),
            text("_dataset_id", self.dataset_id.as_deref()),
            object("_dataset_metadata", &self.dataset_metadata),
            text("chat_template_mode", self.chat_template_mode.as_deref()),
            text("rendered_by", self.rendered_by.as_deref()),
            text("template_source", self.template_source.as_deref()),
            text("cache_suffix", self.cache_suffix.as_deref()),
            text("_tokenizer_path", self.tokenizer_path.as_deref()),
            object("_media_meta", &self.media_meta),
        ]
        .into_iter()
        .flatten()
    }
}

impl JsonMembers for ChoiceOption {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        [("id", Member::Text(&self.id)), ("content", Member::Text(&self.content))].into_iter()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}

impl JsonMembers for Reference {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        [always("answer", Member::Parts(&self.answer)), object("meta", &self.meta)].into_iter().flatten()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}

impl JsonMembers for FewShotExample {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        [
            always("messages", Member::Messages(&self.messages)),
            list("options", &self.options, Member::Options),
            always("references", Member::References(&self.references)),
            text("label", self.label.as_deref()),
            list("tools", &self.tools, Member::Values),
            value("tool_choice", self.tool_choice.as_ref()),
        ]
        .into_iter()
        .flatten()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}

impl JsonMembers for SandboxSpec {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        [
            text("image", self.image.as_deref()),
            object("files", &self.files),
            text("setup", self.setup.as_deref()),
            object("env", &self.env),
        ]
        .into_iter()
        .flatten()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}
