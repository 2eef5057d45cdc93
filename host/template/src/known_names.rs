//! Check of the variables of a prompt against the names that exist.

use crate::name_uses::NameUse;
use gage_core::Object;
use std::collections::BTreeSet;

/// Key of a Sample that holds the row as read from the dataset. Only Samples of prompts that read `row` have it.
pub const ROW_KEY: &str = "_row";

/// Variables of every prompt.
pub(crate) const VARIABLES: [&str; 8] =
    ["sample", "row", "raw", "params", "payload", "history", "adapter_id", "role_type"];

/// Maximum number of names in a message.
const MAX_SHOWN_NAMES: usize = 20;

/// Names that exist while a prompt is rendered.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'n> {
    /// Fields of the rows; `None` if no row was read.
    pub row: Option<&'n BTreeSet<String>>,
    /// Fields of the Samples; `None` if none was made.
    pub sample: Option<&'n BTreeSet<String>>,
    /// Keys of the payload.
    pub payload: &'n BTreeSet<String>,
}

impl KnownNames<'_> {
    /// Returns the reason why a variable is undefined or ambiguous, if it is. `params` are those of the prompt.
    pub(crate) fn problem_of(&self, name: &NameUse, params: &Object) -> Option<String> {
        let of_params: BTreeSet<String> = params.keys().cloned().collect();
        match (name.root.as_str(), &name.member) {
            ("params", Some(member)) => {
                let advice = "add it to the `params` of the prompt, or to `prompt_params` of the role";
                absent(&of_params, member, "params", &format!("; {advice}"))
            }
            ("payload", Some(member)) => absent(self.payload, member, "payload", ""),
            (root @ ("row" | "raw"), Some(member)) => absent(self.row?, member, root, ""),
            ("sample", Some(member)) => {
                let in_row = self.row.is_some_and(|row| row.contains(member));
                let advice = if in_row {
                    format!("; write `row.{member}` for the field of the row")
                } else {
                    String::new()
                };
                absent(self.sample?, member, "sample", &advice)
            }
            (root, _) if VARIABLES.contains(&root) => None,
            (root, _) => self.problem_of_plain(root, &of_params),
        }
    }

    /// Returns the problem of a plain name, which is a parameter or a field of the row.
    fn problem_of_plain(&self, name: &str, params: &BTreeSet<String>) -> Option<String> {
        let row = self.row?;
        match (params.contains(name), row.contains(name)) {
            (true, true) => Some(format!(
                "`{name}` is both a parameter and a field of the rows; write `params.{name}` or `row.{name}`"
            )),
            (false, false) => {
                let all = VARIABLES.iter().copied().map(str::to_owned);
                let of_params = params.iter().map(|name| format!("params.{name}"));
                let of_row = row.iter().map(|name| format!("row.{name}"));
                let known: Vec<String> = all.chain(of_params).chain(of_row).collect();
                let plain = known.iter().map(|known| known.rsplit('.').next().unwrap_or(known));
                let nearest = gage_core::nearest(name, plain.collect::<Vec<_>>());
                Some(match nearest {
                    Some(nearest) => format!("there is no variable `{name}`; did you mean `{nearest}`?"),
                    None => {
                        format!("there is no variable `{name}`; expected one of: {}", listed(known.iter()))
                    }
                })
            }
            _ => None,
        }
    }
}

/// Returns the message for a member that does not exist.
fn absent(known: &BTreeSet<String>, member: &str, root: &str, advice: &str) -> Option<String> {
    if known.contains(member) {
        return None;
    }
    let nearest = gage_core::nearest(member, known.iter().map(String::as_str));
    let hint = match nearest {
        _ if !advice.is_empty() => advice.to_owned(),
        Some(nearest) => format!("; did you mean `{root}.{nearest}`?"),
        None if known.is_empty() => "; it is empty".to_owned(),
        None => format!("; `{root}` has: {}", listed(known.iter())),
    };
    Some(format!("`{root}.{member}` is undefined{hint}"))
}

fn listed<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    let left_out = names.len().saturating_sub(MAX_SHOWN_NAMES);
    let shown: Vec<&str> = names.take(MAX_SHOWN_NAMES).map(String::as_str).collect();
    let rest = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
