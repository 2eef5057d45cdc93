//! Encoding of a Sample in its standard form.

use super::content::BriefMessages;
use super::{JsonMembers, Member, always, filled_list, filled_object, list, object, serialize, text, value};
use crate::Object;
use crate::sample::derived::{Choices, DerivedChoices, MetadataMember, OF_OPTIONS, are_references_implied};
use crate::sample::{ChoiceOption, FewShotExample, Reference, Sample, SandboxSpec};
use crate::schema::SCHEMA_VERSION;
use serde_json::Value;

serialize!(Sample, ChoiceOption, Reference, FewShotExample, SandboxSpec);

/// Returns a member of a Sample, or `None` if a form leaves it out.
type SampleMember = for<'s> fn(&'s Sample) -> Option<Member<'s>>;

/// A known member of a Sample.
struct KnownMember {
    key: &'static str,
    full: SampleMember,
    /// The member in the recorded form, which leaves out what follows from others.
    recorded: SampleMember,
}

impl KnownMember {
    /// Returns a member that has the same form everywhere.
    const fn same(key: &'static str, member: SampleMember) -> KnownMember {
        KnownMember { key, full: member, recorded: member }
    }
}

/// The members after the version, in output order.
const MEMBERS: [KnownMember; 30] = [
    KnownMember::same("id", |sample| Some(Member::Text(&sample.id))),
    KnownMember::same("task_type", |sample| Some(Member::Text(sample.task_type.as_ref()?.name()))),
    KnownMember {
        key: "messages",
        full: |sample| Some(Member::Messages(&sample.messages)),
        recorded: |sample| Some(Member::BriefMessages(BriefMessages(&sample.messages))),
    },
    KnownMember::same("options", |sample| filled_list(&sample.options, Member::Options)),
    KnownMember {
        key: "references",
        full: |sample| Some(Member::References(&sample.references)),
        recorded: |sample| {
            (!are_references_implied(sample)).then_some(Member::References(&sample.references))
        },
    },
    KnownMember::same("label", |sample| sample.label.as_deref().map(Member::Text)),
    KnownMember::same("few_shot_examples", |sample| filled_list(&sample.few_shot_examples, Member::Examples)),
    KnownMember::same("golden_trajectories", |sample| {
        filled_list(&sample.golden_trajectories, Member::Conversations)
    }),
    KnownMember::same("sandbox", |sample| sample.sandbox.as_deref().map(Member::Sandbox)),
    KnownMember {
        key: "metadata",
        full: |sample| {
            let metadata = MetadataMember::of(sample);
            (!metadata.is_empty()).then_some(Member::Metadata(metadata))
        },
        recorded: |sample| filled_object(&sample.metadata),
    },
    KnownMember::same("data_tag", |sample| filled_object(&sample.data_tag)),
    KnownMember::same("raw_assets", |sample| filled_object(&sample.raw_assets)),
    KnownMember::same("tools", |sample| filled_list(&sample.tools, Member::Values)),
    KnownMember::same("tool_choice", |sample| sample.tool_choice.as_ref().map(Member::Value)),
    KnownMember::same("sampling_params", |sample| filled_object(&sample.sampling_params)),
    KnownMember::same("generation_params", |sample| filled_object(&sample.generation_params)),
    KnownMember::same("eval_config", |sample| filled_object(&sample.eval_config)),
    KnownMember::same("unconditioned_input", |sample| sample.unconditioned_input.as_ref().map(Member::Value)),
    KnownMember::same("predict_result", |sample| filled_list(&sample.predict_result, Member::Values)),
    KnownMember::same("eval_result", |sample| filled_object(&sample.eval_result)),
    KnownMember {
        key: "choices",
        full: |sample| match &sample.choices {
            Choices::None => None,
            Choices::OfOptions => Some(Member::Choices(DerivedChoices(&sample.options))),
            Choices::Listed(choices) => Some(Member::Values(choices)),
        },
        recorded: |sample| match &sample.choices {
            Choices::None => None,
            Choices::OfOptions => Some(Member::Text(OF_OPTIONS)),
            Choices::Listed(choices) => Some(Member::Values(choices)),
        },
    },
    KnownMember::same("inputs", |sample| filled_object(&sample.inputs)),
    KnownMember::same("_dataset_id", |sample| sample.dataset_id.as_deref().map(Member::Text)),
    KnownMember::same("_dataset_metadata", |sample| filled_object(&sample.dataset_metadata)),
    KnownMember::same("chat_template_mode", |sample| sample.chat_template_mode.as_deref().map(Member::Text)),
    KnownMember::same("rendered_by", |sample| sample.rendered_by.as_deref().map(Member::Text)),
    KnownMember::same("template_source", |sample| sample.template_source.as_deref().map(Member::Text)),
    KnownMember::same("cache_suffix", |sample| sample.cache_suffix.as_deref().map(Member::Text)),
    KnownMember::same("_tokenizer_path", |sample| sample.tokenizer_path.as_deref().map(Member::Text)),
    KnownMember::same("_media_meta", |sample| filled_object(&sample.media_meta)),
];

/// Key of the version, which comes first.
const VERSION_KEY: &str = "schema_version";

impl JsonMembers for Sample {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        let others = MEMBERS.iter().filter_map(|member| Some((member.key, (member.full)(self)?)));
        std::iter::once((VERSION_KEY, Member::Text(SCHEMA_VERSION))).chain(others)
    }

    fn member(&self, key: &str) -> Option<Member<'_>> {
        if key == VERSION_KEY {
            return Some(Member::Text(SCHEMA_VERSION));
        }
        let known = MEMBERS.iter().find(|member| member.key == key)?;
        (known.full)(self)
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}

impl Sample {
    /// Returns the members of the recorded form, which leaves out the version and what follows from other members.
    pub(crate) fn recorded_members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        MEMBERS.iter().filter_map(|member| Some((member.key, (member.recorded)(self)?)))
    }

    /// Returns the unknown members.
    pub(crate) fn other_members(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.extra.iter().filter(|(key, _)| self.member(key).is_none())
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
