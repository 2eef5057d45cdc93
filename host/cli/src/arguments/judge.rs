//! The command line of `judge`.

use super::NamedRunArguments;
use super::plan::share;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Compare the verdicts of a judge with labels that people gave: agreement, Cohen's kappa, biases, and the share of
    /// accepted answers corrected for the judge's errors.
    #[command(after_help = EXAMPLES)]
    Calibrate(CalibrateArguments),
}

const EXAMPLES: &str = "\
Examples:
  gage-host judge calibrate nightly --labels labels.jsonl
  gage-host judge calibrate nightly --label-field sample.metadata.human --judge strict
  gage-host judge calibrate nightly --labels labels.jsonl --correct candidate

A line of the labels: {\"sample_id\": \"q17\", \"label\": true}. A label is true or false, yes or no, or a score from 0
to 1. With several tasks, a line also has a \"task_id\".";

#[derive(Args, Debug)]
pub(crate) struct CalibrateArguments {
    #[command(flatten)]
    pub(crate) named: NamedRunArguments,

    /// The labels, as JSON Lines.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "label_field",
        conflicts_with = "label_field"
    )]
    pub(crate) labels: Option<PathBuf>,

    /// Path of the label in the records, if the dataset has labels.
    #[arg(long, value_name = "PATH")]
    pub(crate) label_field: Option<String>,

    /// The judge; needed if the task has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) judge: Option<String>,

    /// The task; by default all tasks together.
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,

    /// Smallest score, of the judge and of a label, that accepts an answer.
    #[arg(long, value_name = "SCORE", default_value_t = 0.5, allow_negative_numbers = true, value_parser = share)]
    pub(crate) threshold: f64,

    /// Another run with verdicts of the judge, whose share of accepted answers is corrected for the judge's errors.
    #[arg(long, value_name = "RUN")]
    pub(crate) correct: Option<PathBuf>,

    /// Print as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
