//! The models that answered, by the names that their servers give them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of models of a task; answers of further ones are counted together.
const MAX_MODELS: usize = 20;

/// A model that answered, as its server names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServedModel {
    /// The name of the model; absent if the server gives none, or for the answers of models beyond the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of the server's configuration, which changes with its software.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<String>,
    /// Number of answers.
    pub answers: u64,
}

impl fmt::Display for ServedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServedModel { model, system_fingerprint, answers } = self;
        formatter.write_str(model.as_deref().unwrap_or("unnamed"))?;
        if let Some(fingerprint) = system_fingerprint {
            write!(formatter, " {fingerprint}")?;
        }
        let noun = if *answers == 1 { "answer" } else { "answers" };
        write!(formatter, " ({answers} {noun})")
    }
}

/// Describes models in one line.
pub fn describe_served(served: &[ServedModel]) -> String {
    served.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Counts answers by the model that gave them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedTally(BTreeMap<(Option<String>, Option<String>), u64>);

impl ServedTally {
    /// Counts an answer; nothing if its server gives no names.
    pub(crate) fn add(&mut self, model: Option<String>, fingerprint: Option<String>) {
        if model.is_none() && fingerprint.is_none() {
            return;
        }
        let mut served = (model, fingerprint);
        if self.0.len() >= MAX_MODELS && !self.0.contains_key(&served) {
            served = (None, None);
        }
        *self.0.entry(served).or_default() += 1;
    }

    /// Returns the models, by name.
    pub(crate) fn finish(self) -> Vec<ServedModel> {
        let named =
            |((model, system_fingerprint), answers)| ServedModel { model, system_fingerprint, answers };
        self.0.into_iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_model_up_to_a_limit() {
        let mut tally = ServedTally::default();
        tally.add(None, None);
        assert!(tally.clone().finish().is_empty());
        let name = |text: &str| Some(text.to_owned());
        tally.add(name("m"), name("fp_1"));
        tally.add(name("m"), name("fp_2"));
        tally.add(name("m"), name("fp_1"));
        assert_eq!(describe_served(&tally.clone().finish()), "m fp_1 (2 answers), m fp_2 (1 answer)");
        (0..50).for_each(|number| tally.add(name(&format!("other {number}")), None));
        let served = tally.finish();
        assert_eq!((served.len(), served.iter().map(|one| one.answers).sum::<u64>()), (MAX_MODELS + 1, 53));
    }
}
