//! Questions that `gage-host new` asks in a terminal, for values that its command does not give.

use crate::terminal;
use std::io::{BufRead, IsTerminal as _, Write as _};

/// A value that cannot be used.
#[derive(Debug)]
pub(super) struct UnusableValue {
    message: String,
    help: Option<String>,
}

impl UnusableValue {
    pub(super) fn new(message: impl Into<String>, help: Option<String>) -> UnusableValue {
        UnusableValue { message: message.into(), help }
    }

    /// Prints the error of a value, with the flag that gave it.
    fn print(&self, flag: Option<&str>) -> anyhow::Error {
        let flag = flag.map(|flag| format!("{flag}: ")).unwrap_or_default();
        let message = format!("{flag}{}", gage_core::printable_line(&self.message));
        terminal::usage_error(&message, self.help.as_deref()).into()
    }
}

/// A question for a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'q> {
    /// The value, and its forms in parentheses.
    pub(super) what: &'q str,
    /// The value that an empty line takes.
    pub(super) usual: Option<&'q str>,
    /// The flag that gives the value; none for an argument.
    pub(super) flag: Option<&'q str>,
    /// How a command gives the value.
    pub(super) help: &'q str,
}

impl Question<'_> {
    /// Returns the given value, or asks for one until it can be used.
    ///
    /// # Errors
    /// If the given value cannot be used, if there is no terminal to ask in, or if the input ends.
    pub(super) fn answer<T>(
        &self,
        given: Option<&str>,
        check: impl Fn(&str) -> Result<T, UnusableValue>,
    ) -> anyhow::Result<T> {
        match given {
            Some(given) => check(given).map_err(|unusable| unusable.print(self.flag)),
            None => until_usable(|| self.ask(), check),
        }
    }

    /// Asks in a terminal.
    fn ask(&self) -> anyhow::Result<String> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return Err(self.refuse_missing());
        }
        self.typed(&mut stdin.lock())
    }

    /// Asks until a line is typed. An empty line takes the usual value, if there is one.
    fn typed(&self, input: &mut impl BufRead) -> anyhow::Result<String> {
        let mut stderr = std::io::stderr();
        let default = self.usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
        loop {
            write!(stderr, "{}{default}: ", self.what)?;
            stderr.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Err(self.refuse_missing());
            }
            match (line.trim(), self.usual) {
                ("", Some(usual)) => return Ok(usual.to_owned()),
                // The error is printed, and the question follows again.
                ("", None) => drop(self.refuse_missing()),
                (typed, _) => return Ok(typed.to_owned()),
            }
        }
    }

    /// Prints that there is no value.
    fn refuse_missing(&self) -> anyhow::Error {
        let what = self.what.split(" (").next().unwrap_or(self.what).to_lowercase();
        terminal::usage_error(&format!("the {what} is missing"), Some(self.help)).into()
    }
}

/// Asks until a value can be used, and prints what is wrong with each other one.
fn until_usable<T>(
    mut ask: impl FnMut() -> anyhow::Result<String>,
    check: impl Fn(&str) -> Result<T, UnusableValue>,
) -> anyhow::Result<T> {
    loop {
        match check(&ask()?) {
            Ok(value) => return Ok(value),
            // The error is printed, and the question follows again.
            Err(unusable) => drop(unusable.print(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_is_no_value() {
        for (usual, input, expected) in [
            (None, "\n  \nopenai:m\n", Some("openai:m")),
            (None, "openai:m", Some("openai:m")),
            (None, "\n", None),
            (None, "", None),
            (Some("exact_match"), "\ncontains\n", Some("exact_match")),
            (Some("exact_match"), "contains\n", Some("contains")),
            (Some("exact_match"), "", None),
        ] {
            let question = Question { what: "Model (openai:MODEL)", usual, flag: None, help: "give it" };
            let typed = question.typed(&mut input.as_bytes()).ok();
            assert_eq!(typed.as_deref(), expected, "{usual:?} {input:?}");
        }
    }

    #[test]
    fn unusable_values_are_asked_for_again() {
        let number = |text: &str| {
            text.parse::<u8>().map_err(|error| UnusableValue::new(format!("`{text}`: {error}"), None))
        };
        let mut typed = ["x", "300", "7", "8"].into_iter();
        let ask = || typed.next().map(str::to_owned).ok_or_else(|| anyhow::anyhow!("the end"));
        assert_eq!(until_usable(ask, number).expect("a number"), 7);
        let ask = || typed.next().map(|_| "x".to_owned()).ok_or_else(|| anyhow::anyhow!("the end"));
        assert_eq!(until_usable(ask, number).expect_err("the end").to_string(), "the end");
    }
}
