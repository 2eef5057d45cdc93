//! Prompts: the templates of a suite, rendered for a sample.

use crate::bounded_writer::BoundedWriter;
use crate::environment::environment;
use crate::lint::{UnknownName, unknown_names};
use crate::name_uses::{NameUse, name_uses, read_names};
use crate::null_values::FilterTemplate;
use crate::see_through::IS_FENCED;
use gage_sdk::serde_json;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;
use std::collections::BTreeSet;

/// Maximum size of a message.
const MAX_PROMPT_BYTES: usize = 8 << 20;

/// Maximum size of a message with marked text, in which a character takes four bytes.
const MAX_MARKED_PROMPT_BYTES: usize = 16 << 20;

/// A JSON object.
type Object = serde_json::Map<String, serde_json::Value>;

/// An error in a template or an expression, or when it is evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemplateFault {
    /// The number of the template or expression, from 0.
    pub template: usize,
    /// The line within the template, if known.
    pub line: Option<usize>,
    /// The error message.
    pub text: String,
}

/// What is known about the templates of a prompt without rendering them. Each item begins with the number of its
/// template. If a template is invalid, only the faults are known.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inspection {
    /// The invalid templates.
    pub faults: Vec<TemplateFault>,
    /// Unknown filters, tests, functions and other templates.
    pub unknown: Vec<(usize, UnknownName)>,
    /// Variables that the templates read, with the places and needs.
    pub uses: Vec<(usize, NameUse)>,
    /// The names of all variables that the templates read and do not set.
    pub reads: BTreeSet<String>,
}

/// A template of a prompt.
struct PromptTemplate {
    name: &'static str,
    /// The template with filters in place of operators, if it has operators.
    filters: Option<FilterTemplate>,
}

/// The compiled templates of one prompt.
///
/// An undefined variable is an error, not an empty text, and so is a null value that would become a text. A condition
/// may test an undefined variable, which is false.
pub struct PromptTemplates {
    environment: Environment<'static>,
    templates: Vec<PromptTemplate>,
    faults: Vec<TemplateFault>,
}

impl PromptTemplates {
    /// Compiles templates from their names and texts. The texts stay in memory until the program ends: an instance
    /// of the component ends after each call.
    pub fn compile(templates: Vec<(String, String)>) -> PromptTemplates {
        // Strict, except that a condition may test a variable that is missing.
        let environment = environment(UndefinedBehavior::SemiStrict);
        let mut compiled = PromptTemplates { environment, templates: Vec::new(), faults: Vec::new() };
        for (number, (name, text)) in templates.into_iter().enumerate() {
            let name: &'static str = name.leak();
            let text: &'static str = text.leak();
            let added = compiled.environment.add_template(name, text);
            match added.and_then(|()| FilterTemplate::compile(&compiled.environment, name, text)) {
                Ok(filters) => compiled.templates.push(PromptTemplate { name, filters }),
                Err(error) => compiled.faults.push(fault_of(number, &error)),
            }
        }
        compiled
    }

    /// Returns what is known without rendering.
    pub fn inspect(&self) -> Inspection {
        if !self.faults.is_empty() {
            return Inspection { faults: self.faults.clone(), ..Inspection::default() };
        }
        let mut inspection = Inspection::default();
        for (number, template) in self.templates.iter().enumerate() {
            let unknown = unknown_names(&self.environment, template.name);
            inspection.unknown.extend(unknown.into_iter().map(|name| (number, name)));
            let uses = name_uses(&self.environment, template.name);
            inspection.uses.extend(uses.into_iter().map(|name| (number, name)));
            if let Ok(template) = self.environment.get_template(template.name) {
                inspection.reads.extend(read_names(&template));
            }
        }
        inspection.reads.retain(|name| !self.environment.globals().any(|(global, _)| global == name));
        inspection
    }

    /// Renders all templates.
    ///
    /// `values` are the variables. Templates see `sample` also as `payload.sample`, and `row` also as `raw`.
    /// `model_output` is the output of a model whose text is marked; templates see it as `payload.model_output`. An empty
    /// answer in it is written as a mark of its own.
    ///
    /// # Errors
    /// Fails if a template is invalid, a variable is undefined, or a text is too long.
    pub fn render(
        &self,
        values: &Object,
        model_output: Option<&Object>,
    ) -> Result<Vec<String>, TemplateFault> {
        if let Some(fault) = self.faults.first() {
            return Err(fault.clone());
        }
        let max_bytes = if model_output.is_some() { MAX_MARKED_PROMPT_BYTES } else { MAX_PROMPT_BYTES };
        let values = context_of(values, model_output);
        let mut texts = Vec::with_capacity(self.templates.len());
        for (number, template) in self.templates.iter().enumerate() {
            let mut text = BoundedWriter::new(max_bytes);
            let rendered = match &template.filters {
                Some(filters) => filters.render(&self.environment, values.clone(), &mut text),
                None => self
                    .environment
                    .get_template(template.name)
                    .and_then(|template| template.render_captured_to(values.clone(), &mut text))
                    .map(drop),
            };
            rendered.map_err(|error| fault_of(number, &error))?;
            texts.push(text.into_text());
        }
        Ok(texts)
    }
}

/// Returns the variables as templates see them.
fn context_of(values: &Object, model_output: Option<&Object>) -> Value {
    let converted = |value: &serde_json::Value| Value::from(Serde(value));
    let plain = values.iter().filter(|(name, _)| *name != "payload");
    let mut context: Vec<(&str, Value)> =
        plain.map(|(name, value)| (name.as_str(), converted(value))).collect();
    let variable = |wanted: &str| context.iter().find(|(name, _)| *name == wanted).cloned();
    let (sample, row) = (variable("sample"), variable("row"));
    let payload = values.get("payload").and_then(serde_json::Value::as_object);
    let payload = payload.into_iter().flatten().map(|(name, value)| (name.as_str(), converted(value)));
    let output = model_output.map(|output| ("model_output", output_value(output)));
    context.push(("payload", Value::from_pairs(payload.chain(sample).chain(output))));
    context.extend(row.map(|(_, row)| ("raw", row)));
    if model_output.is_some() {
        context.push((IS_FENCED, true.into()));
    }
    Value::from_pairs(context)
}

/// Returns a model's output with an empty answer that [`write_value`](crate::see_through::write_value) recognizes.
fn output_value(output: &Object) -> Value {
    Value::from_pairs(output.iter().map(|(name, value)| {
        let is_empty_answer = name == "answer" && value.as_str() == Some("");
        let value = match is_empty_answer {
            true => Value::from_safe_string(String::new()),
            false => Value::from(Serde(value)),
        };
        (name.as_str(), value)
    }))
}

/// Returns the fault of a template, or of an expression, with a number.
pub(crate) fn fault_of(template: usize, error: &minijinja::Error) -> TemplateFault {
    let described = match (error.kind(), error.detail()) {
        // Its source says that the text is too long.
        (ErrorKind::WriteFailure, _) => None,
        // The detail names the variable, and says that it is undefined.
        (ErrorKind::UndefinedError, Some(detail)) => Some(detail.to_owned()),
        (kind, Some(detail)) => Some(format!("{kind}: {detail}")),
        (kind, None) => Some(kind.to_string()),
    };
    let source = std::error::Error::source(error).map(ToString::to_string);
    let parts: Vec<String> = [described, source].into_iter().flatten().collect();
    TemplateFault { template, line: error.line(), text: parts.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn compiled(texts: &[&str]) -> PromptTemplates {
        let named = texts.iter().enumerate().map(|(number, text)| (format!("t{number}"), (*text).to_owned()));
        PromptTemplates::compile(named.collect())
    }

    fn object(value: serde_json::Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn all_templates_are_rendered() {
        let values = object(json!({"sample": {"a": 1}, "payload": {"b": [2]}, "name": "x", "row": {"c": 3}}));
        let templates = compiled(&[
            "{{ sample.a }}{{ payload.sample.a }}",
            "{{ payload.b[0] ~ name }}",
            "",
            "{{ row.c }}{{ raw.c }}",
        ]);
        let expected = ["11", "2x", "", "33"].map(str::to_owned).to_vec();
        assert_eq!(templates.render(&values, None), Ok(expected));
    }

    #[test]
    fn faults_name_their_template_and_line() {
        let values = Object::new();
        for (texts, template, line, text) in [
            (&["a", "\n{{ missing }}"][..], 1, 2, "`missing` is undefined"),
            (&["{% if %}", "a"], 0, 1, "syntax error"),
            (&["\n\n{% for i in range(99) %}{{ 'x' * 100000 }}{% endfor %}"], 0, 3, "longer than"),
        ] {
            let fault = compiled(texts).render(&values, None).expect_err(text);
            assert_eq!((fault.template, fault.text.contains(text)), (template, true), "{fault:?}");
            assert!(fault.line.is_none_or(|found| found == line), "{fault:?}");
        }
    }

    #[test]
    fn an_inspection_finds_names_and_faults() {
        let found = compiled(&["{{ row.a|uper }}", "{{ b }}{{ range(2) }}"]).inspect();
        assert!(found.faults.is_empty());
        assert_eq!(found.unknown.len(), 1);
        assert_eq!((found.unknown[0].0, found.unknown[0].1.kind), (0, "filter"));
        assert_eq!(found.uses.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found.reads.into_iter().collect::<Vec<_>>(), ["b", "row"]);
        let found = compiled(&["{% if %}", "{{ b }}"]).inspect();
        assert_eq!((found.faults.len(), found.uses.len()), (1, 0));
    }

    #[test]
    fn an_empty_answer_is_written_as_a_mark() {
        let (values, output) = (Object::new(), object(json!({"answer": ""})));
        let templates = compiled(&["{{ payload.model_output.answer }}"]);
        let text = templates.render(&values, Some(&output)).expect("a text").remove(0);
        assert_eq!(text, gage_taint_marks::EMPTY.to_string());
    }
}
