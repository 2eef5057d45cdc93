//! Names in templates that do not exist, as the sandbox reports them.

use serde::Deserialize;

/// A name in a template that does not exist.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct UnknownName {
    /// The line within the template, from 1.
    pub(crate) line: Option<usize>,
    /// What the name should be: `filter`, `test`, `function` or `template`.
    pub(crate) kind: String,
    /// The name. For a template, a list of names, one of them sufficient.
    names: Vec<String>,
    /// The names that exist; none for a template.
    known: Vec<String>,
}

impl UnknownName {
    /// Returns the error message, with the most similar known name.
    pub(crate) fn text(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let absence = format!("there is no {} {}", self.kind, names.join(" or "));
        if self.kind == "template" {
            return format!("{absence}; a template cannot include files, write its text here");
        }
        let name = self.names.first().map(String::as_str).unwrap_or_default();
        match gage_core::nearest(name, self.known.iter().map(String::as_str)) {
            Some(nearest) => format!("{absence}; did you mean `{nearest}`?"),
            None => format!("{absence}; expected one of: {}", self.known.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_propose_what_exists() {
        for (kind, names, known, expected) in [
            (
                "filter",
                &["uper"][..],
                &["abs", "upper"][..],
                "there is no filter `uper`; did you mean `upper`?",
            ),
            ("test", &["own"], &["odd", "even"], "there is no test `own`; expected one of: odd, even"),
            (
                "template",
                &["a", "b"],
                &[],
                "there is no template `a` or `b`; a template cannot include files, write its text here",
            ),
        ] {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let unknown =
                UnknownName { line: None, kind: kind.to_owned(), names: owned(names), known: owned(known) };
            assert_eq!(unknown.text(), expected);
        }
    }
}
