//! `${VARIABLE}`, `${VARIABLE:-default}` and `${VARIABLE:?message}`, anywhere in a string.

use crate::placeholder::{MAX_LEVELS, closing_brace, nests_too_deep};
use crate::secret_marking::note_variable;
use std::borrow::Cow;

/// Source of the values of variables.
pub struct Environment<'e> {
    /// Returns the value of an environment variable.
    pub variable: &'e dyn Fn(&str) -> Option<String>,
    /// The value of `${config_dir}`: the folder of the configuration file.
    pub config_dir: String,
}

/// A variable that cannot be replaced.
pub(crate) struct ExpandError {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Maximum length of a text after its variables were replaced, in bytes.
const MAX_EXPANDED_BYTES: usize = 1 << 20;

const FORMS: &str = "write ${NAME}, ${NAME:-default} or ${NAME:?message}; for a literal ${ write $${";

/// Rejects a text whose variables nest too deep.
pub(crate) fn check_levels(text: &str) -> Result<(), ExpandError> {
    if !nests_too_deep(text) {
        return Ok(());
    }
    Err(ExpandError {
        message: format!("variables in this text are nested more than {MAX_LEVELS} levels deep"),
        help: format!(
            "use at most {MAX_LEVELS} levels of ${{NAME:-default}} in one text; an escaped $${{ counts as a level"
        ),
    })
}

/// Replaces every variable; a text without any is returned unchanged.
pub(crate) fn expand<'t>(text: &'t str, environment: &Environment<'_>) -> Result<Cow<'t, str>, ExpandError> {
    check_levels(text)?;
    replace(text, environment)
}

/// Replaces the variables of a text whose nesting was checked.
fn replace<'t>(text: &'t str, environment: &Environment<'_>) -> Result<Cow<'t, str>, ExpandError> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        if rest[..start].ends_with('$') {
            expanded.push_str(&rest[..start]);
            expanded.push('{');
            rest = &rest[start + 2..];
            continue;
        }
        expanded.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let Some(length) = closing_brace(inner) else {
            // A longer text is only shown at its place.
            let shown = if text.len() > 1_000 { "this text".to_owned() } else { format!("'{text}'") };
            return Err(ExpandError {
                message: format!("the variable in {shown} has no closing brace"),
                help: FORMS.to_owned(),
            });
        };
        expanded.push_str(&value_of(&inner[..length], environment)?);
        if expanded.len() > MAX_EXPANDED_BYTES {
            return Err(ExpandError {
                message: format!(
                    "the values of variables make this text longer than {MAX_EXPANDED_BYTES} bytes"
                ),
                help: "use fewer or shorter variables in one text".to_owned(),
            });
        }
        rest = &inner[length + 1..];
    }
    expanded.push_str(rest);
    Ok(Cow::Owned(expanded))
}

fn value_of(reference: &str, environment: &Environment<'_>) -> Result<String, ExpandError> {
    let operator = reference.find(":-").into_iter().chain(reference.find(":?")).min();
    let (name, rest) = reference.split_at(operator.unwrap_or(reference.len()));
    let (default, message) = (rest.strip_prefix(":-"), rest.strip_prefix(":?"));
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    // Template parameters, which only exist in documents built from a template.
    let is_parameter = name.starts_with("runtime.");
    if !is_name && !is_parameter {
        return Err(ExpandError {
            message: format!("'{name}' is not the name of a variable"),
            help: FORMS.to_owned(),
        });
    }
    if name == "config_dir" {
        return Ok(environment.config_dir.clone());
    }
    // As in a shell, `:-` also replaces a value that is empty.
    let noted = |value: String| {
        note_variable(name, &value);
        Ok(value)
    };
    let value = (environment.variable)(name);
    if let Some(message) = message.filter(|_| value.as_deref().is_none_or(str::is_empty)) {
        let message = if message.trim().is_empty() { "it is not set or empty" } else { message.trim() };
        return Err(ExpandError {
            message: format!("the environment variable {name} is required: {message}"),
            help: format!("set it, or give a default: ${{{name}:-default}}"),
        });
    }
    match (value, default) {
        (Some(value), None) => noted(value),
        (Some(value), Some(_)) if !value.is_empty() => noted(value),
        (_, Some(default)) => noted(replace(default, environment)?.into_owned()),
        (None, None) if is_parameter => Err(ExpandError {
            message: format!("the parameter ${{{name}}} has no value"),
            help: format!("give it a default, ${{{name}:-default}}; in a RunConfig, set it below `runtime`"),
        }),
        (None, None) => Err(ExpandError {
            message: format!("the environment variable {name} is not set"),
            help: format!("set it, or give a default: ${{{name}:-default}}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::parse_document;
    use crate::problems::Problems;

    fn expanded(text: &str) -> Result<String, String> {
        let variable = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let environment = Environment { variable: &variable, config_dir: "conf".to_owned() };
        expand(text, &environment).map(Cow::into_owned).map_err(|error| error.message)
    }

    #[test]
    fn variables_are_replaced_anywhere_in_a_string() {
        let cases = [
            ("plain $5 {x}", "plain $5 {x}"),
            ("${A}", "one"),
            ("x/${A}/y-${B:-two}-z", "x/one/y-two-z"),
            ("${EMPTY:-full}", "full"),
            ("${A:?no :- here}", "one"),
            ("${B:-what:?}", "what:?"),
            ("[${EMPTY}]", "[]"),
            ("${B:-${C:-${A}}}", "one"),
            ("${B:-}", ""),
            ("$${A} costs $$5", "${A} costs $$5"),
            ("${config_dir}/d.jsonl", "conf/d.jsonl"),
            ("^a$", "^a$"),
        ];
        for (text, expected) in cases {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_an_error() {
        for (text, expected) in [
            ("${B}", "the environment variable B is not set"),
            ("${B:?set it: or else}", "the environment variable B is required: set it: or else"),
            ("${EMPTY:?}", "the environment variable EMPTY is required: it is not set or empty"),
            ("${A", "the variable in '${A' has no closing brace"),
            ("${1A}", "'1A' is not the name of a variable"),
            ("${}", "'' is not the name of a variable"),
        ] {
            assert_eq!(expanded(text), Err(expected.to_owned()), "{text}");
        }
    }

    /// Builds nested variables.
    fn nested(open: &str, levels: usize) -> String {
        open.repeat(levels) + "end" + &"}".repeat(levels)
    }

    #[test]
    fn variables_nest_up_to_64_levels() {
        let too_deep = Err("variables in this text are nested more than 64 levels deep".to_owned());
        assert_eq!(expanded(&nested("${B:-", 64)).as_deref(), Ok("end"));
        // Braces that are not variables belong to the defaults, and do not count.
        assert_eq!(expanded(&nested("${B:-{", 64).replace('}', "}}")).map(|text| text.len()), Ok(3 + 128));
        for levels in [65, 255, 256, 300, 30_000] {
            assert_eq!(expanded(&nested("${B:-", levels)), too_deep, "{levels} levels");
            // The limit does not depend on which variables are set.
            assert_eq!(expanded(&nested("${A:-", levels)), too_deep, "{levels} levels");
            assert_eq!(expanded(&nested("$${B:-", levels)), too_deep, "{levels} levels");
        }
        // Consecutive variables are not nested, nor are unclosed braces.
        assert_eq!(expanded(&"${A}".repeat(1_000)), Ok("one".repeat(1_000)));
        assert_eq!(expanded(&"$${ ".repeat(1_000)), Ok("${ ".repeat(1_000)));
        assert!(
            expanded(&"${A:-".repeat(30_000)).is_err_and(|message| message.ends_with("no closing brace"))
        );
    }

    #[test]
    fn too_deeply_nested_variables_are_an_error_with_a_position() {
        let unset = |_: &str| None;
        let environment = Environment { variable: &unset, config_dir: String::new() };
        for value in [
            // Messages search for passwords in addresses, including in rejected texts.
            format!("http://me:{}@host", nested("${B:-", 30_000)),
            nested("$${B:-", 65),
            nested("${API_KEY:-hidden", 65),
        ] {
            let text = format!("first: 1\nsecond: \"{value}\"\n");
            for known in [Some(&environment), None] {
                let mut problems = Problems::default();
                assert_eq!(parse_document("suite.yaml", &text, known, &mut problems), None);
                let errors = problems.to_json();
                assert_eq!(errors.as_array().map(Vec::len), Some(1), "{errors}");
                assert_eq!((&errors[0]["line"], &errors[0]["column"]), (&2.into(), &9.into()));
                assert_eq!(
                    errors[0]["message"],
                    "variables in this text are nested more than 64 levels deep"
                );
                let shown = problems.render(false);
                assert!(shown.contains("suite.yaml:2:9") && shown.contains("at most 64 levels"), "{shown}");
                assert!(!shown.contains("hidden"), "a default is shown: {shown}");
            }
        }
    }
}
