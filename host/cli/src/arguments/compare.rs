//! The command line of `compare`.

use clap::Args;
use gage_compare::IdentityPart;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host compare baseline nightly
  gage-host compare nightly                    # with what `gage-host runs baseline` chose
  gage-host compare runs/baseline runs/nightly --margin 0.01
  gage-host compare baseline nightly --gate gate.yaml --junit gate.xml --github

Exit codes:
  0   passed, or compared without a gate
  2   the command line or the gate is wrong, or a run is not there
  3   the runs are not of the same thing
  4   too few samples are in both runs, or a run has not ended
  10  regression
  11  inconclusive: more samples are needed";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, allow_missing_positional = true)]
pub(crate) struct CompareArguments {
    /// What is measured against: a run folder, or the id of a run below --output-dir; by default the baseline
    /// that was chosen for the suite of NEW.
    #[arg(value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,

    /// What is measured, in the same forms.
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Measure against the baseline that was chosen for the suite of NEW, as without BASE.
    #[arg(long, conflicts_with = "base")]
    pub(crate) baseline: bool,

    /// Judge by the `gate` of this file, a suite or a file that holds nothing else, rather than by that of
    /// the suite of NEW.
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,

    /// Judge every metric, and let none lose more than this; it must be smaller than the scale of each.
    #[arg(long, value_name = "LOSS", conflicts_with = "gate", allow_negative_numbers = true, value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// What may differ besides the model; may be given several times.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) allow: Vec<IdentityPart>,

    /// Where runs are looked for by their ids.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// List at most this many of the samples that became worse, for each metric.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Print the comparison as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the answers as JUnit XML into this file; metrics that no gate asks about are skipped.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write the comparison as Markdown into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write annotations for GitHub to the standard error stream, and the comparison to
    /// $GITHUB_STEP_SUMMARY where that is set.
    #[arg(long)]
    pub(crate) github: bool,

    /// Print the answer in one line, and warnings to the standard error stream.
    #[arg(long, short, env = "GAGE_HOST_QUIET", conflicts_with = "json")]
    pub(crate) quiet: bool,
}

fn margin(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(margin) if margin > 0.0 && margin.is_finite() => Ok(margin),
        Ok(_) => Err("a number greater than 0 is needed, such as 0.01: no number of samples can show that \
                      nothing at all was lost"
            .to_owned()),
        Err(_) => Err("a number is needed, such as 0.01".to_owned()),
    }
}
