//! `gage-host new`: writes a suite for a file of rows.

mod checks;
mod columns;
mod questions;
mod suite_text;

use crate::arguments::NewSuiteArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use checks::{MAX_SHOWN_FIELDS, known_field, known_metrics, known_model, metric_names, survey};
use columns::Columns;
use gage_config::{Environment, load};
use questions::Question;
use serde_json::{Map, Value};
use std::io::IsTerminal as _;
use std::path::Path;
use suite_text::SuiteChoice;

pub(crate) fn execute(arguments: &NewSuiteArguments) -> anyhow::Result<ExitCode> {
    let has_named_columns = arguments.question.is_some() || arguments.answer.is_some();
    let given = arguments.data.as_ref().map(|data| data.display().to_string());
    let asked = Question {
        what: "Data file (.jsonl, .json, .csv, .tsv, .parquet)",
        usual: None,
        flag: None,
        help: "name it: gage-host new DATA",
    };
    let (data, columns) = asked.answer(given.as_deref(), |data| {
        survey(data, has_named_columns).map(|columns| (data.to_owned(), columns))
    })?;
    let question = question_field(arguments.question.as_deref(), arguments.answer.as_deref(), &columns)?;
    let answer = answer_field(arguments.answer.as_deref(), question.as_deref(), &columns)?;
    let asked = Question {
        what: "Model (openai:MODEL, anthropic:MODEL, openai:MODEL@http://HOST:PORT/v1, ./FILE.gguf)",
        usual: None,
        flag: Some("--model"),
        help: "give it by --model, as in --model openai:gpt-4.1-mini or --model ./model.gguf",
    };
    let model = asked.answer(arguments.model.as_deref(), known_model)?;
    let mut choice = SuiteChoice {
        data: &data,
        columns: &columns,
        question: question.as_deref(),
        answer: &answer,
        model: &model,
        metrics: &[],
    };
    let metrics = chosen_metrics(&arguments.metrics, &choice)?;
    choice.metrics = &metrics;
    write(&arguments.output, &choice)
}

/// Returns the field of the question. `None` if the rows are conversations.
fn question_field(
    given: Option<&str>,
    answer: Option<&str>,
    columns: &Columns,
) -> anyhow::Result<Option<String>> {
    if given.is_none() {
        if columns.has_messages() {
            return Ok(None);
        }
        if let Some(field) = columns.question(answer) {
            return Ok(Some(field.to_owned()));
        }
    }
    let asked = Question {
        what: "Field of the question",
        usual: None,
        flag: Some("--question"),
        help: "give it by --question FIELD",
    };
    asked.answer(given, |field| known_field(field, columns)).map(Some)
}

/// Returns the field of the right answer.
fn answer_field(given: Option<&str>, question: Option<&str>, columns: &Columns) -> anyhow::Result<String> {
    if let (None, Some(field)) = (given, columns.answer(question)) {
        return Ok(field.to_owned());
    }
    let names = gage_core::name_list(columns.names(), MAX_SHOWN_FIELDS, ", ");
    let asked = Question {
        what: &format!("Field of the right answer ({})", gage_core::printable_line(&names)),
        usual: None,
        flag: Some("--answer"),
        help: &format!("give it by --answer FIELD; the rows have: {names}"),
    };
    asked.answer(given, |field| known_field(field, columns))
}

/// Returns the metrics that are given or typed; none for those that fit the answers.
fn chosen_metrics(given: &[String], choice: &SuiteChoice<'_>) -> anyhow::Result<Vec<String>> {
    if given.is_empty() && !std::io::stdin().is_terminal() {
        return Ok(Vec::new());
    }
    let known = metric_names()?;
    let usual = choice.metrics().join(", ");
    let asked = Question {
        what: "Metrics",
        usual: Some(&usual),
        flag: Some("--metric"),
        help: "give them by --metric",
    };
    if !given.is_empty() {
        return asked.answer(Some(""), |_| known_metrics(given, &known));
    }
    asked.answer(None, |typed| {
        let names = typed.split(',').map(|name| name.trim().to_owned());
        known_metrics(&names.filter(|name| !name.is_empty()).collect::<Vec<_>>(), &known)
    })
}

/// Writes the suite, unless it has errors.
fn write(output: &Path, choice: &SuiteChoice<'_>) -> anyhow::Result<ExitCode> {
    let text = choice.text();
    // Keys need not be set yet.
    let unset = |name: &str| gage_core::variable(name).or_else(|| Some(String::new()));
    let environment = Environment { variable: &unset, config_dir: ".".to_owned() };
    let (_, problems) = load(&output.display().to_string(), &text, &[], &environment);
    if problems.has_errors() {
        terminal::show_problems(&problems);
        return Ok(ExitCode::Configuration);
    }
    gage_suite::write_suite(output, &text).map_err(super::setup::refuse_suite)?;
    let question = choice.question.map_or_else(|| "messages".to_owned(), str::to_owned);
    let shown = format!(
        "{}: the question is `{question}`, the answer is `{}`, scored by {}",
        output.display(),
        choice.answer,
        choice.metrics().join(", ")
    );
    let path = terminal::shell_word(output.display());
    terminal::print_line(format_args!(
        "{}\nnext: gage-host run {path} --max-samples 5",
        gage_core::printable_line(&shown)
    ))?;
    Ok(ExitCode::Done)
}

/// Returns the field of a row that is probably the answer, although the preprocessor `default` does not know its name.
pub(super) fn likely_answer(row: Map<String, Value>) -> Option<String> {
    let mut columns = Columns::default();
    columns.add(row);
    columns.likely_answer().map(str::to_owned)
}
