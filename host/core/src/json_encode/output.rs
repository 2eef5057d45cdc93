//! Encoding of a model's output.

use super::{JsonMembers, Member, always, list, serialize, text};
use crate::Object;
use crate::output::ModelOutput;

serialize!(ModelOutput);

impl JsonMembers for ModelOutput {
    fn members(&self) -> impl Iterator<Item = (&'static str, Member<'_>)> {
        [
            always("answer", Member::Text(&self.answer)),
            text("answer_normalized", self.answer_normalized.as_deref()),
            always("finish_reason", Member::Finish(self.finish_reason)),
            self.usage.map(|usage| ("usage", Member::Usage(usage))),
            list("continuations", &self.continuations, Member::Continuations),
            self.rolling.map(|rolling| ("rolling", Member::Rolling(rolling))),
        ]
        .into_iter()
        .flatten()
    }

    fn extra(&self) -> &Object {
        &self.extra
    }
}
