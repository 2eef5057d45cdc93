//! `regex`: the text of a pattern's group.

use crate::kinds::{ReadAs, takes_last, which_schema, with_evidence};
use gage_python_regex::{Group, Occurrence, PythonRegex};
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;

/// Returns the text of a pattern's group in its last match, or the first. Patterns have the syntax and the meaning of
/// Python's `re`; matches without the group do not count.
///
/// The budget of the sample ends a search that backtracks too long.
pub struct Regex {
    regex: PythonRegex,
    group: Group,
    occurrence: Occurrence,
    read_as: ReadAs,
}

impl Extractor for Regex {
    fn name() -> &'static str {
        "regex"
    }

    fn spec() -> ExtractorSpec {
        let member = MemberSpec::new(
            "4",
            "Text matched by a group of a regular expression",
            json!({
                "pattern": {
                    "type": "string", "minLength": 1,
                    "description": "Pattern in the syntax of Python's `re`; it can match anywhere in the text",
                    "examples": [r"Result: (\d+)"],
                },
                "group": {
                    "type": ["integer", "string"],
                    "description": "Number or name of the group; default 1, or the whole match if the \
                     pattern has no group",
                },
                "which": which_schema(),
                "ignore_case": flag_schema(true, "Ignore case"),
                "kind": ReadAs::schema(),
            }),
        );
        ExtractorSpec::new(member.required(&["pattern"]))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let Some(pattern) = params.text("pattern")?.filter(|pattern| !pattern.is_empty()) else {
            return Err(PluginError::invalid_config("params: 'pattern' is required").at("/pattern"));
        };
        let regex = PythonRegex::new(pattern, params.flag("ignore_case", true)?).map_err(|error| {
            PluginError::invalid_config(format!("params: pattern: {error}")).at("/pattern")
        })?;
        let group = match params.get("group") {
            None if regex.group_count() == 0 => Ok(Group::WHOLE),
            None => regex.group("1"),
            Some(serde_json::Value::String(name)) => regex.group(name),
            Some(number) => regex.group(&number.to_string()),
        };
        let group = group.map_err(|error| {
            PluginError::invalid_config(format!("params: group: {error} in the pattern")).at("/group")
        })?;
        let occurrence = if takes_last(&params)? { Occurrence::Last } else { Occurrence::First };
        Ok(Regex { regex, group, occurrence, read_as: ReadAs::from_params(&params)? })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let found = self
            .regex
            .find(text, self.group, self.occurrence)
            .map_err(|error| PluginError::invalid_input(format!("the pattern cannot be tried: {error}")))?;
        let Some(held) = found else { return Ok(None) };
        Ok(self.read_as.answer(held)?.map(|answer| with_evidence(answer, held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};
    use gage_sdk::ErrorKind;

    #[test]
    fn groups() {
        for (params, text, expected) in [
            (json!({ "pattern": r"ans=(\w+)" }), "ans=a ANS=b", json!({ "value": "b" })),
            (json!({ "pattern": r"ans=(\w+)", "which": "first" }), "ans=a ans=b", json!({ "value": "a" })),
            (
                json!({ "pattern": r"ans=(\w+)", "ignore_case": false }),
                "ans=a ANS=b",
                json!({ "value": "a" }),
            ),
            (json!({ "pattern": r"ans=\w" }), "ans=a", json!({ "value": "ans=a" })),
            (json!({ "pattern": "(a)|(?P<b>b)", "group": "b" }), "ba", json!({ "value": "b" })),
            (json!({ "pattern": "(a)(b)?", "group": 2 }), "a", json!(null)),
            (json!({ "pattern": "得(.*?)分", "kind": "number" }), "得 95 分", json!({ "value": 95 })),
            (json!({ "pattern": "x" }), "", json!(null)),
            (json!({ "pattern": "x*" }), "ab", json!(null)),
        ] {
            assert_eq!(value::<Regex>(params.clone(), text), expected, "{params}");
        }
        assert_eq!(absent::<Regex>(json!({ "pattern": "x" })), Ok(None));
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({}),
            json!({ "pattern": "" }),
            json!({ "pattern": "(" }),
            json!({ "pattern": "(a)", "group": 2 }),
            json!({ "pattern": "(a)", "group": "b" }),
            json!({ "pattern": "(a)", "group": 1.5 }),
        ] {
            let kind = Regex::prepare(params.clone()).err().map(|error| error.kind);
            assert_eq!(kind, Some(ErrorKind::InvalidConfig), "{params}");
        }
    }

    #[test]
    fn endless_backtracking_is_an_error() {
        let params = json!({ "pattern": r"^(a|aa)+\1?(?=b)c" });
        let kind = answer::<Regex>(params, &"a".repeat(60)).err().map(|error| error.kind);
        assert_eq!(kind, Some(ErrorKind::InvalidInput));
    }
}
