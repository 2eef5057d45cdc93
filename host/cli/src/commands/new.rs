//! `gage-host new`: writes a suite for a file of rows.

mod columns;
mod suite_text;

use crate::arguments::NewSuiteArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use columns::Columns;
use gage_config::{Environment, Permissions, load, load_datasets, loader_of_file};
use gage_core::{DEFAULT_MAX_JSON_VALUES, parse_json};
use gage_data::{LocateOptions, NoProgress, locate, open_located};
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use suite_text::SuiteChoice;

/// Maximum number of fields that a message lists.
const MAX_SHOWN_FIELDS: usize = 30;

/// Number of rows whose fields are looked at.
const SURVEYED_ROWS: u64 = 100;

pub(crate) fn execute(arguments: &NewSuiteArguments) -> anyhow::Result<ExitCode> {
    let data = match &arguments.data {
        Some(data) => data.display().to_string(),
        None => {
            asked("Data file (.jsonl, .json, .csv, .tsv, .parquet)", None, "name it: gage-host new DATA")?
        }
    };
    let columns = survey(&data)?;
    let question = match (&arguments.question, columns.has_messages()) {
        (Some(field), _) => Some(known_field(field, &columns)?),
        (None, true) => None,
        (None, false) => match columns.question() {
            Some(field) => Some(field.to_owned()),
            None => Some(known_field(
                &asked("Field of the question", None, "give it by --question FIELD")?,
                &columns,
            )?),
        },
    };
    let answer = match &arguments.answer {
        Some(field) => known_field(field, &columns)?,
        None => match columns.answer(question.as_deref()) {
            Some(field) => field.to_owned(),
            None => {
                let names = gage_core::name_list(columns.names(), MAX_SHOWN_FIELDS, ", ");
                let what = format!("Field of the right answer ({})", gage_core::printable_line(&names));
                let help = format!("give it by --answer FIELD; the rows have: {names}");
                known_field(&asked(&what, None, &help)?, &columns)?
            }
        },
    };
    let model = match &arguments.model {
        Some(model) => model.clone(),
        None => asked(
            "Model (openai:MODEL, anthropic:MODEL, openai:MODEL@http://HOST:PORT/v1, ./FILE.gguf)",
            None,
            "give it by --model, as in --model openai:gpt-4.1-mini or --model ./model.gguf",
        )?,
    };
    let mut choice = SuiteChoice {
        data: &data,
        columns: &columns,
        question: question.as_deref(),
        answer: &answer,
        model: &model,
        metrics: &arguments.metrics,
    };
    let metrics: Vec<String>;
    if arguments.metrics.is_empty() && std::io::stdin().is_terminal() {
        let usual = choice.metrics().join(", ");
        let typed = asked("Metrics", Some(&usual), "give them by --metric")?;
        metrics =
            typed.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        choice.metrics = &metrics;
    }
    write(&arguments.output, &choice)
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

/// Asks for a value in a terminal. An empty line takes the usual value.
///
/// # Errors
/// If there is no terminal to ask in, or nothing is typed. The message has the given help.
fn asked(what: &str, usual: Option<&str>, help: &str) -> anyhow::Result<String> {
    let missing = || {
        let what = what.split(" (").next().unwrap_or(what).to_lowercase();
        anyhow::Error::from(terminal::usage_error(&format!("the {what} is missing"), Some(help)))
    };
    if !std::io::stdin().is_terminal() {
        return Err(missing());
    }
    let mut stderr = std::io::stderr();
    let default = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
    write!(stderr, "{what}{default}: ")?;
    stderr.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let typed = line.trim();
    match (typed.is_empty(), usual) {
        (false, _) => Ok(typed.to_owned()),
        (true, Some(usual)) => Ok(usual.to_owned()),
        (true, None) => Err(missing()),
    }
}

/// Checks that the rows have a field.
fn known_field(field: &str, columns: &Columns) -> anyhow::Result<String> {
    if columns.has(field) {
        return Ok(field.to_owned());
    }
    let names = columns.names();
    let near = gage_core::nearest(field, names.iter().copied());
    let hint = near.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    let help = format!(
        "{hint}the rows have: {}",
        gage_core::name_list(names.iter().copied(), MAX_SHOWN_FIELDS, ", ")
    );
    Err(terminal::usage_error(&format!("the rows have no field `{field}`"), Some(&help)).into())
}

/// Reads the first rows.
fn survey(data: &str) -> anyhow::Result<Columns> {
    let refuse = |message: String, help: Option<&str>| {
        anyhow::Error::from(terminal::usage_error(&gage_core::printable_line(&message), help))
    };
    if loader_of_file(Path::new(data)).is_none() {
        let help = "it must end in .jsonl, .json, .csv, .tsv or .parquet; all but the last may be compressed (.gz, .zst)";
        return Err(refuse(format!("the name of {data} does not say how it is read"), Some(help)));
    }
    let suite = json!({"datasets": [data.replace("${", "$${")]});
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load_datasets("(the command line)", &suite.to_string(), &[], &environment);
    let Some(config) = config.filter(|_| !problems.has_errors()) else {
        terminal::show_problems(&problems);
        return Err(ExitCode::Configuration.into());
    };
    let options = LocateOptions {
        with_digests: false,
        cache_folder: None,
        is_offline: true,
        progress: &NoProgress,
        is_cancelled: &|| false,
    };
    let mut columns = Columns::default();
    for spec in &config.datasets {
        let located = locate(spec, &options, &Permissions::default());
        let located = located.map_err(|error| refuse(error.to_string(), error.help().as_deref()))?;
        let rows = open_located(spec, &located, Some(SURVEYED_ROWS));
        for row in rows.map_err(|error| refuse(error.to_string(), None))? {
            let row = row.map_err(|error| refuse(error.to_string(), None))?;
            let Ok(body) = row.body else { continue };
            if let Ok(Value::Object(row)) = parse_json(body.as_bytes(), DEFAULT_MAX_JSON_VALUES) {
                columns.add(row);
            }
        }
    }
    if columns.rows == 0 {
        let help = "`gage-host data validate FILE` shows what is wrong with each row";
        return Err(refuse(
            format!("none of the first {SURVEYED_ROWS} rows of {data} can be read"),
            Some(help),
        ));
    }
    Ok(columns)
}
