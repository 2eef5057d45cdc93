//! `gage-host model bench`: measures the speed of a model.

use crate::arguments::ModelBenchArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_backend::{BenchFigure, BenchOptions, BenchReport, ModelProgram, bench as measure};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn bench(arguments: &ModelBenchArguments) -> anyhow::Result<ExitCode> {
    let options = BenchOptions {
        model_path: arguments.file.clone(),
        prompt_tokens: arguments.prompt_tokens,
        answer_tokens: arguments.answer_tokens,
        queued_prompts: arguments.queued,
        repeats: arguments.repeats,
        max_duration: Duration::from_secs(arguments.seconds),
    };
    let report =
        measure(&options, &ModelProgram::default()).map_err(|reason| terminal::usage_error(&reason, None))?;
    if arguments.json {
        terminal::print_json(format_args!("{:#}", to_json(&report)))?;
        return Ok(ExitCode::Done);
    }
    if cfg!(debug_assertions) {
        terminal::eprint_line("note: this program was built without optimisation; llama.cpp itself was not");
    }
    terminal::print_line(format_args!(
        "{:42}{:>12}{:>12}{:>8}",
        report.kernels, "gage-host", "bare loop", "ratio"
    ))?;
    for figure in &report.figures {
        let ratio = figure.host / figure.bare;
        let what = format!("{}, {}", figure.what, figure.unit);
        let cut = if figure.is_cut_short { "  cut short" } else { "" };
        terminal::print_line(format_args!(
            "{what:42}{:>12.1}{:>12.1}{ratio:>8.2}{cut}",
            figure.host, figure.bare
        ))?;
    }
    Ok(ExitCode::Done)
}

fn to_json(report: &BenchReport) -> Value {
    let figure = |figure: &BenchFigure| {
        json!({
            "what": figure.what,
            "unit": figure.unit,
            "gage_host": figure.host,
            "bare_loop": figure.bare,
            "ratio": figure.host / figure.bare,
            "cut_short": figure.is_cut_short,
        })
    };
    json!({
        "kernels": report.kernels,
        "threads": report.threads,
        "optimised_build": !cfg!(debug_assertions),
        "figures": report.figures.iter().map(figure).collect::<Vec<_>>(),
    })
}
