//! Computed fields of rows: expressions of a dataset, evaluated by the component `template`.

use crate::sandbox::{CallFailure, TemplateSandbox, call, call_once};
use crate::unknown_name::UnknownName;
use gage_core::Object;
use gage_plugin::RoleAdapter;
use serde::Deserialize;
use serde_json::{Value, json};

/// Name of the component's member.
const MEMBER: &str = "fields";

/// An expression that cannot be used, or that has no value for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Index of the field, counted from 0. `None` if the error is not about one field.
    pub field: Option<usize>,
    /// The error message. It names the field.
    pub text: String,
}

/// The expressions of a dataset, each with the name of its field. An expression sees the fields of the row by their names,
/// those computed before it, and all of them as `row`. An undefined variable is an error, and so is a null value that
/// would become a text.
pub struct FieldExpressions {
    member: RoleAdapter,
    names: Vec<String>,
}

/// Faults of expressions that the component finds without a row.
#[derive(Deserialize)]
struct Inspection {
    faults: Vec<ExpressionFault>,
    unknown: Vec<(usize, UnknownName)>,
}

/// An invalid expression.
#[derive(Deserialize)]
struct ExpressionFault {
    template: usize,
    line: Option<usize>,
    text: String,
}

impl FieldExpressions {
    /// Compiles expressions from the names of their fields and their texts.
    ///
    /// # Errors
    /// Returns every invalid expression. If all are valid, returns every unknown filter, test and function.
    pub fn new<'f>(
        sandbox: &TemplateSandbox,
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Result<FieldExpressions, Vec<ExpressionError>> {
        let (mut names, mut entries) = (Vec::new(), Vec::new());
        for (name, expression) in fields {
            names.push(name.to_owned());
            entries.push(json!({"name": name, "expression": expression}));
        }
        let whole = |failure: CallFailure| vec![error_of(&names, failure)];
        let member = sandbox.member(MEMBER, json!({ "fields": entries })).map_err(whole)?;
        let output = call_once(&member, json!({"inspect": true}).to_string()).map_err(whole)?;
        let found: Inspection = serde_json::from_value(Value::Object(output))
            .map_err(|error| whole(CallFailure::Stopped(format!("returned no inspection: {error}"))))?;
        let faults = found.faults.into_iter().map(|fault| (fault.template, fault.line, fault.text));
        let unknown = found.unknown.into_iter().map(|(field, name)| (field, name.line, name.text()));
        let errors: Vec<ExpressionError> =
            faults.chain(unknown).map(|(field, line, text)| error_at(&names, field, line, text)).collect();
        if errors.is_empty() { Ok(FieldExpressions { member, names }) } else { Err(errors) }
    }

    /// Returns the names of the fields, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Computes the fields of each row, a JSON object, with one result for each, in order. A row that fails does not affect
    /// the others. Blocks.
    pub fn compute_batch(&self, rows: &[&str]) -> Vec<Result<Object, ExpressionError>> {
        let payloads: Vec<String> = rows.iter().map(|row| format!("{{\"row\":{row}}}")).collect();
        let fields = |output: Result<Object, CallFailure>| {
            output.and_then(fields_in).map_err(|failure| error_of(&self.names, failure))
        };
        call(&self.member, &payloads).into_iter().map(fields).collect()
    }
}

fn fields_in(mut output: Object) -> Result<Object, CallFailure> {
    match output.swap_remove("fields") {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Err(CallFailure::Stopped("returned no fields".to_owned())),
    }
}

/// Returns the error of a failed call. The pointer of a rejection has the number of the field and the line: `/0/3`.
fn error_of(names: &[String], failure: CallFailure) -> ExpressionError {
    let whole = |text: String| ExpressionError { field: None, text: format!("the fields: {text}") };
    match failure {
        CallFailure::InvalidTemplate(reason) => whole(reason),
        CallFailure::Stopped(reason) => whole(format!("their computation {reason}")),
        CallFailure::Rejected { message: text, pointer } => {
            let mut numbers = pointer.iter().flat_map(|pointer| pointer.split('/')).skip(1);
            let mut next = || numbers.next().and_then(|number| number.parse::<usize>().ok());
            match (next(), next()) {
                (Some(field), line) => error_at(names, field, line, text),
                (None, _) => whole(text),
            }
        }
    }
}

/// Returns the error of a field. The line is named only if the expression has several.
fn error_at(names: &[String], field: usize, line: Option<usize>, text: String) -> ExpressionError {
    let name = names.get(field).map(String::as_str).unwrap_or_default();
    let place = match line.filter(|line| *line > 1) {
        Some(line) => format!("line {line} of the field `{name}`"),
        None => format!("the field `{name}`"),
    };
    ExpressionError { field: Some(field), text: format!("{place}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_sandbox::sandbox;

    fn compiled(fields: &[(&str, &str)]) -> Result<FieldExpressions, Vec<String>> {
        let compiled = FieldExpressions::new(sandbox(), fields.iter().copied());
        compiled.map_err(|errors| errors.into_iter().map(|error| error.text).collect())
    }

    #[test]
    fn rows_are_computed_independently() {
        let fields = compiled(&[("b", "a"), ("c", "[b * 2, none, {'d': row.a}]")]).expect("valid");
        assert_eq!(fields.names(), ["b", "c"]);
        let found = fields.compute_batch(&["{\"a\": 1}", "{}", "{\"a\": 2.5}"]);
        let found: Vec<Result<Value, String>> =
            found.into_iter().map(|fields| fields.map(Value::Object).map_err(|error| error.text)).collect();
        assert_eq!(found[0], Ok(json!({"b": 1, "c": [2, null, {"d": 1}]})));
        assert_eq!(found[1], Err("the field `b`: `a` is undefined".to_owned()));
        assert_eq!(found[2], Ok(json!({"b": 2.5, "c": [5.0, null, {"d": 2.5}]})));
    }

    #[test]
    fn invalid_expressions_are_all_reported() {
        for (fields, expected) in [
            (
                &[("a", "1 +"), ("b", "1"), ("c", "x }}")][..],
                &["the field `a`: syntax error", "the field `c`: syntax error"][..],
            ),
            (
                &[("a", "x | uper"), ("b", "y | suffle(1)"), ("c", "y | regex_replac('a', '')")],
                &[
                    "the field `a`: there is no filter `uper`; did you mean `upper`?",
                    "the field `b`: there is no filter `suffle`; did you mean `shuffle`?",
                    "the field `c`: there is no filter `regex_replac`; did you mean `regex_replace`?",
                ],
            ),
            (&[("a", "rnge(3)")], &["the field `a`: there is no function `rnge`"]),
        ] {
            let Err(errors) = compiled(fields) else { panic!("{fields:?} is invalid") };
            let is_expected = |(error, expected): (&String, &&str)| error.starts_with(*expected);
            let all = errors.len() == expected.len() && errors.iter().zip(expected).all(is_expected);
            assert!(all, "{fields:?}: {errors:?}");
        }
    }
}
