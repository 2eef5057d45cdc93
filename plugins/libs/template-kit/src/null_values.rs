//! Null values in prompts: an error wherever one would become a text, and never the text `None`.
//!
//! The engine's formatter and filters can be replaced, but not its operators. In a compiled template or expression, the
//! operators `~` and `[a:b]` are therefore replaced by filters.

use minijinja::machinery::{self, CodeGenerator, Instruction, Instructions};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{StringInput, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Template, Value};
use std::collections::BTreeMap;

/// Filter that stands for the operator `~`. No template can name it.
const CONCATENATION: &str = "~";

/// Filter that stands for a slice such as `text[:5]`. No template can name it.
const SLICE: &str = "[:]";

/// Filter that ends an expression. No template can name it.
const DEFINED: &str = "?defined";

/// Name of the block that holds the whole template. No template can name it.
const BODY: &str = " body";

/// Adds the filters that stand for operators.
pub(crate) fn add_operators(environment: &mut Environment<'static>) {
    environment.add_filter(CONCATENATION, concatenate);
    environment.add_filter(SLICE, slice);
    environment.add_filter(DEFINED, defined);
}

/// A compiled template whose operators are filters.
pub(crate) struct FilterTemplate {
    /// Instructions that do nothing, from which the block is called.
    start: Instructions<'static>,
    blocks: BTreeMap<&'static str, Instructions<'static>>,
}

impl FilterTemplate {
    /// Compiles a template of an environment once more if it has operators to replace.
    pub(crate) fn compile(
        environment: &Environment<'_>,
        name: &'static str,
        source: &'static str,
    ) -> Result<Option<FilterTemplate>, Error> {
        if !has_operators(&environment.get_template(name)?) {
            return Ok(None);
        }
        let parsed = machinery::parse(source, name, SyntaxConfig::default())?;
        let mut generator = CodeGenerator::new(name, source);
        generator.compile_stmt(&parsed);
        let (mut body, mut blocks) = generator.finish();
        replace_operators(&mut body);
        blocks.values_mut().for_each(replace_operators);
        // Only a block can be rendered into a writer, which bounds the length of the text.
        blocks.insert(BODY, body);
        Ok(Some(FilterTemplate { start: Instructions::new(name, source), blocks }))
    }

    /// Renders the template in an environment that has the filters of [`add_operators`].
    pub(crate) fn render(
        &self,
        environment: &Environment<'_>,
        values: Value,
        output: impl std::io::Write,
    ) -> Result<(), Error> {
        let mut unused = String::new();
        let mut nowhere = machinery::make_string_output(&mut unused);
        let (_, mut state) =
            machinery::eval(environment, &self.start, values, &self.blocks, &mut nowhere, AutoEscape::None)?;
        state.render_block_to_write(BODY, output)
    }
}

/// A compiled expression whose operators are filters.
pub(crate) struct FilterExpression {
    instructions: Instructions<'static>,
}

impl FilterExpression {
    /// Compiles an expression.
    pub(crate) fn compile(source: &'static str) -> Result<FilterExpression, Error> {
        let parsed = machinery::parse_expr(source)?;
        let mut generator = CodeGenerator::new("<expression>", source);
        generator.compile_expr(&parsed);
        generator.add(Instruction::ApplyFilter(DEFINED, Some(1), u8::MAX));
        let (mut instructions, _) = generator.finish();
        replace_operators(&mut instructions);
        Ok(FilterExpression { instructions })
    }

    pub(crate) fn instructions(&self) -> &Instructions<'static> {
        &self.instructions
    }

    /// Evaluates the expression in an environment that has the filters of [`add_operators`]. A value that is undefined, or
    /// that contains an undefined value, is an error.
    pub(crate) fn evaluate(&self, environment: &Environment<'_>, values: Value) -> Result<Value, Error> {
        let (blocks, mut unused) = (BTreeMap::new(), String::new());
        let mut nowhere = machinery::make_string_output(&mut unused);
        let (value, _) = machinery::eval(
            environment,
            &self.instructions,
            values,
            &blocks,
            &mut nowhere,
            AutoEscape::None,
        )?;
        Ok(value.unwrap_or(Value::UNDEFINED))
    }
}

/// Returns whether a template has operators that filters replace.
fn has_operators(template: &Template<'_, '_>) -> bool {
    let compiled = machinery::get_compiled_template(template);
    let mut all = std::iter::once(&compiled.instructions).chain(compiled.blocks.values());
    all.any(|instructions| {
        let mut number = 0;
        while let Some(instruction) = instructions.get(number) {
            if matches!(instruction, Instruction::StringConcat | Instruction::Slice) {
                return true;
            }
            number += 1;
        }
        false
    })
}

/// Replaces operators by filters with the same operands.
fn replace_operators(instructions: &mut Instructions<'_>) {
    let mut number = 0;
    while let Some(instruction) = instructions.get_mut(number) {
        let filter = match instruction {
            Instruction::StringConcat => Some((CONCATENATION, 2)),
            Instruction::Slice => Some((SLICE, 4)),
            _ => None,
        };
        if let Some((name, operands)) = filter {
            // The last number is that of a filter which the engine looks up each time.
            *instruction = Instruction::ApplyFilter(name, Some(operands), u8::MAX);
        }
        number += 1;
    }
}

/// Joins two values to one text.
fn concatenate(state: &State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    reject_null(left)?;
    reject_null(right)?;
    let (left, right) = (StringInput::new(state, left)?, StringInput::new(state, right)?);
    Ok(format!("{}{}", left.as_str(), right.as_str()).into())
}

/// Returns a part of a text or a list. The engine's own operator makes an empty list of a null or undefined value.
fn slice(
    state: &State<'_, '_>,
    value: &Value,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<Value, Error> {
    if value.is_undefined() {
        // This is the engine's error, which names the variable.
        StringInput::new(state, value)?;
    }
    if value.is_none() {
        return Err(null_error(value));
    }
    let operands = [("value", value), ("start", start), ("stop", stop), ("step", step)];
    let operands = Value::from_pairs(operands.map(|(name, operand)| (name, operand.clone())));
    state.env().compile_expression("value[start:stop:step]")?.eval(operands)
}

/// Returns a value in which nothing is undefined.
fn defined(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    match find_inner(value, Value::is_undefined) {
        None => Ok(value.clone()),
        Some(undefined) => {
            // This is the engine's error, which names the variable.
            StringInput::new(state, &undefined)?;
            Err(Error::new(ErrorKind::UndefinedError, "the value is undefined"))
        }
    }
}

/// Checks that a value can become a text: it is not null, and contains no null.
///
/// # Errors
/// Says that the value is or contains null, and what to write instead.
pub(crate) fn reject_null(value: &Value) -> Result<(), Error> {
    if has_null(value) { Err(null_error(value)) } else { Ok(()) }
}

fn null_error(value: &Value) -> Error {
    let message = match value.is_none() {
        true => "the value is null; check it with `is not none`, or give it a `default('…', true)`",
        false => "the value contains null; write it as JSON with `tojson`, or leave null values out",
    };
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Returns whether a value is null, or a list or an object that contains null at any depth.
fn has_null(value: &Value) -> bool {
    value.as_str().is_none() && find_inner(value, Value::is_none).is_some()
}

/// Returns a value for which a condition holds: the value itself, or one inside it at any depth.
fn find_inner(value: &Value, is_sought: impl Fn(&Value) -> bool) -> Option<Value> {
    let mut left = vec![value.clone()];
    while let Some(value) = left.pop() {
        if is_sought(&value) {
            return Some(value);
        }
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => left.extend(value.try_iter().into_iter().flatten()),
            ValueKind::Map => {
                let keys = value.try_iter().into_iter().flatten();
                left.extend(keys.filter_map(|key| value.get_item(&key).ok()));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn rendered(template: &'static str) -> Result<String, Error> {
        let mut environment = Environment::new();
        environment.set_formatter(|output, state, value| {
            reject_null(value)?;
            minijinja::escape_formatter(output, state, value)
        });
        add_operators(&mut environment);
        environment.add_template("t", template)?;
        let values = json!({"text": "abc", "list": [1, null], "object": {"a": {"b": null}}});
        let mut text = Vec::new();
        let values = Value::from(minijinja::value::Serde(&values));
        match FilterTemplate::compile(&environment, "t", template)? {
            Some(template) => template.render(&environment, values, &mut text)?,
            None => drop(environment.get_template("t")?.render_captured_to(values, &mut text)?),
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn operators_give_what_the_engine_gives() {
        for (template, expected) in [
            ("{{ 1 ~ text ~ 2.5 }}", "1abc2.5"),
            ("{{ text[1:] }}{{ text[:-1] }}{{ text[::-1] }}{{ list[:1]|first }}", "bcabcba1"),
            ("{% block b %}{{ text ~ 1 }}{% endblock %}{{ self.b() }}", "abc1abc1"),
            ("{% macro m(a) %}{{ a ~ text }}{% endmacro %}{{ m(1) }}", "1abc"),
            ("{% set x = text ~ 1 %}{{ x }}{% for y in [1, 2] %}{{ y ~ x }}{% endfor %}", "abc11abc12abc1"),
        ] {
            assert_eq!(rendered(template).ok().as_deref(), Some(expected), "{template}");
        }
    }

    #[test]
    fn null_becomes_a_text_nowhere() {
        for template in [
            "{{ 'a' ~ object.a.b }}",
            "{{ none }}",
            "{{ text ~ list }}",
            "{{ list }}",
            "{{ object }}",
            "{{ [object] }}",
            "{% set x = object.a.b %}{{ x ~ 1 }}",
            "{{ object.a.b[:2] }}",
        ] {
            assert!(rendered(template).is_err(), "{template}");
        }
        let error = rendered("a\n{{ text ~ object.a.b }}").map_err(|error| (error.line(), error.to_string()));
        assert!(error.is_err_and(|(line, text)| line == Some(2) && text.contains("the value is null")));
    }
}
