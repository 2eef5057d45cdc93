//! Computed fields of rows: expressions of a suite, evaluated with the fields of each row.

use crate::environment::environment;
use crate::lint::{UnknownName, unknown_names_of_expression};
use crate::null_values::FilterExpression;
use crate::prompt::{TemplateFault, fault_of};
use crate::row_filters::add_row_filters;
use gage_sdk::serde_json;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

/// A JSON object.
type Object = serde_json::Map<String, serde_json::Value>;

/// Name of the variable that holds the whole row.
const ROW: &str = "row";

/// Faults of expressions that are found without a row. Each unknown name follows the number of its expression.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FieldInspection {
    /// The invalid expressions.
    pub faults: Vec<TemplateFault>,
    /// Unknown filters, tests and functions.
    pub unknown: Vec<(usize, UnknownName)>,
}

struct ComputedField {
    name: String,
    source: &'static str,
    expression: FilterExpression,
}

/// The compiled expressions of a dataset. A variable that is undefined is an error.
pub struct RowFields {
    environment: Environment<'static>,
    fields: Vec<ComputedField>,
    faults: Vec<TemplateFault>,
}

impl RowFields {
    /// Compiles fields from their names and expressions. The expressions stay in memory until the program ends: an
    /// instance of the component ends after each call.
    pub fn compile(expressions: Vec<(String, String)>) -> RowFields {
        let mut environment = environment(UndefinedBehavior::Strict);
        add_row_filters(&mut environment);
        let mut compiled = RowFields { environment, fields: Vec::new(), faults: Vec::new() };
        for (number, (name, text)) in expressions.into_iter().enumerate() {
            let source: &'static str = text.leak();
            match FilterExpression::compile(source) {
                Ok(expression) => compiled.fields.push(ComputedField { name, source, expression }),
                Err(error) => compiled.faults.push(syntax_fault(number, source, &error)),
            }
        }
        compiled
    }

    /// Returns what is known without a row.
    pub fn inspect(&self) -> FieldInspection {
        if !self.faults.is_empty() {
            return FieldInspection { faults: self.faults.clone(), ..FieldInspection::default() };
        }
        let mut inspection = FieldInspection::default();
        for (number, field) in self.fields.iter().enumerate() {
            let Ok(expression) = self.environment.compile_expression(field.source) else { continue };
            let undeclared = expression.undeclared_variables(false);
            let instructions = field.expression.instructions();
            let unknown = unknown_names_of_expression(&self.environment, instructions, undeclared);
            inspection.unknown.extend(unknown.into_iter().map(|name| (number, name)));
        }
        inspection
    }

    /// Computes the fields of a row, in order. An expression sees the fields of the row by their names, those computed
    /// before it, and all of them as `row`.
    ///
    /// # Errors
    /// Fails if an expression is invalid, a variable is undefined, or a value cannot be written as JSON.
    pub fn compute(&self, row: &Object) -> Result<Object, TemplateFault> {
        if let Some(fault) = self.faults.first() {
            return Err(fault.clone());
        }
        let mut values: Vec<(&str, Value)> =
            row.iter().map(|(name, value)| (name.as_str(), Value::from(Serde(value)))).collect();
        let mut computed = Object::new();
        for (number, field) in self.fields.iter().enumerate() {
            let whole = Value::from_pairs(values.iter().cloned());
            let context = Value::from_pairs(values.iter().cloned().chain([(ROW, whole)]));
            let found = field.expression.evaluate(&self.environment, context);
            let json = found.and_then(|value| json_of(&value)).map_err(|error| fault_of(number, &error))?;
            let value = Value::from(Serde(&json));
            match values.iter_mut().find(|(name, _)| *name == field.name) {
                Some((_, before)) => *before = value,
                None => values.push((field.name.as_str(), value)),
            }
            computed.insert(field.name.clone(), json);
        }
        Ok(computed)
    }
}

/// Returns a value as JSON.
fn json_of(value: &Value) -> Result<serde_json::Value, Error> {
    Ok(match value.kind() {
        ValueKind::None => serde_json::Value::Null,
        ValueKind::Bool => value.is_true().into(),
        ValueKind::Number if value.is_integer() => match i64::try_from(value.clone()) {
            Ok(number) => number.into(),
            Err(_) => u64::try_from(value.clone())?.into(),
        },
        ValueKind::Number => {
            let number = f64::try_from(value.clone())?;
            let json = serde_json::Number::from_f64(number);
            json.ok_or_else(|| invalid(format!("{number} cannot be written as JSON")))?.into()
        }
        ValueKind::String => value.as_str().unwrap_or_default().into(),
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|item| json_of(&item)).collect::<Result<Vec<_>, Error>>()?.into()
        }
        ValueKind::Map => {
            let mut members = Object::new();
            for key in value.try_iter()? {
                let name =
                    key.as_str().ok_or_else(|| invalid("the keys of an object must be texts".to_owned()))?;
                members.insert(name.to_owned(), json_of(&value.get_item(&key)?)?);
            }
            members.into()
        }
        other => return Err(invalid(format!("a value of the kind '{other}' cannot be written as JSON"))),
    })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Returns the fault of an expression that is not valid, with the character where it was found.
fn syntax_fault(number: usize, source: &str, error: &Error) -> TemplateFault {
    let mut fault = fault_of(number, error);
    if let Some(before) = error.range().and_then(|range| source.get(..range.start)) {
        fault.text.push_str(&format!(" (character {})", before.chars().count() + 1));
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn compiled(fields: &[(&str, &str)]) -> RowFields {
        let owned = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        RowFields::compile(owned.collect())
    }

    fn row() -> Object {
        let row = json!({
            "n": 2, "half": 0.5, "text": "A [b] c", "none": null, "list": ["x", "y"], "Wrong Answer": " no ",
            "object": {"labels": [1, 1, 0], "empty": []}, "big": 18_446_744_073_709_551_615_u64,
        });
        row.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn values_keep_their_types() {
        for (expression, expected) in [
            ("none", json!(null)),
            ("half", json!(0.5)),
            ("4 / 2", json!(2.0)),
            ("n + 1", json!(3)),
            ("big", json!(18_446_744_073_709_551_615_u64)),
            ("n == 2", json!(true)),
            ("['no', none, {'a': n}]", json!(["no", null, {"a": 2}])),
            ("object", json!({"labels": [1, 1, 0], "empty": []})),
            ("range(object.labels | sum) | list", json!([0, 1])),
            ("none or []", json!([])),
            ("'yes' if object.empty else 'no'", json!("no")),
            ("row['Wrong Answer'] | trim", json!("no")),
            ("'ABCD'[n]", json!("C")),
            ("text.split(' ')[:-1] | join(' ')", json!("A [b]")),
            ("text[text.find('[') + 1:]", json!("b] c")),
            (r"text | regex_replace('\[(.*?)\]', '(\\1)')", json!("A (b) c")),
            ("list | map('upper') | list", json!(["X", "Y"])),
            ("missing | default('d')", json!("d")),
            ("row.keys() | list | length", json!(8)),
        ] {
            let found = compiled(&[("f", expression)]).compute(&row());
            let expected = json!({ "f": expected }).as_object().cloned();
            assert_eq!(found.ok(), expected, "{expression}");
        }
    }

    #[test]
    fn later_fields_see_earlier_ones() {
        let fields =
            compiled(&[("list", "list | reverse"), ("first", "list[0] ~ row.list[1]"), ("n", "first")]);
        let found = fields.compute(&row()).map(serde_json::Value::Object);
        assert_eq!(found, Ok(json!({"list": ["y", "x"], "first": "yx", "n": "yx"})));
    }

    #[test]
    fn items_are_ordered_by_the_digests_of_seed_and_text() {
        for (expression, expected) in [
            ("['a', 'b', 'c', 'd'] | shuffle(0)", ["d", "c", "a", "b"]),
            ("['a', 'b', 'c', 'd'] | shuffle", ["d", "c", "a", "b"]),
            ("['a', 'b', 'c', 'd'] | shuffle('x')", ["a", "d", "c", "b"]),
        ] {
            let found = compiled(&[("f", expression)]).compute(&row());
            assert_eq!(found.ok().map(|found| found["f"].clone()), Some(json!(expected)), "{expression}");
        }
    }

    #[test]
    fn faults_name_their_field_and_what_is_wrong() {
        for (expression, expected) in [
            ("missing", "`missing` is undefined"),
            ("object.missing", "is undefined"),
            ("[object.missing]", "is undefined"),
            ("'x' if n == 3", "the value is undefined"),
            ("missing or 1", "`missing` is undefined"),
            ("none | trim", "the value is null"),
            ("row['none'] ~ 'x'", "the value is null"),
            ("n | regex_replace('a', 'b')", "regex_replace needs a text, found number"),
            ("text | regex_replace('(', 'b')", "the pattern \"(\" is not valid"),
            (r"text | regex_replace('A', '\\2')", "invalid group reference 2"),
            ("text | shuffle", "shuffle needs a list, found string"),
            ("[0.5] | shuffle", "an item of shuffle is a text or a whole number, found number"),
            ("{1: 2}", "the keys of an object must be texts"),
            ("range", "cannot be written as JSON"),
        ] {
            let fault =
                compiled(&[("before", "1"), ("f", expression)]).compute(&row()).expect_err(expression);
            assert_eq!((fault.template, fault.text.contains(expected)), (1, true), "{expression}: {fault:?}");
        }
    }

    #[test]
    fn an_inspection_finds_unknown_names_and_faults() {
        let found = compiled(&[("a", "x | uper"), ("b", "rnge(3)"), ("c", "x is ood"), ("d", "x | shuffle")]);
        let unknown = found.inspect().unknown.into_iter().map(|(number, name)| (number, name.kind));
        assert_eq!(unknown.collect::<Vec<_>>(), [(0, "filter"), (1, "function"), (2, "test")]);
        let found = compiled(&[("a", "1"), ("b", "x if"), ("c", "x }} y")]).inspect();
        let faults: Vec<usize> = found.faults.iter().map(|fault| fault.template).collect();
        assert_eq!(faults, [1, 2]);
        assert!(found.faults.iter().all(|fault| fault.text.contains("syntax error")), "{found:?}");
    }
}
