//! The command line of `compare`.

use super::PermissionArguments;
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
  3   the runs are not comparable
  4   too few samples are in both runs, or a run has not ended
  10  regression
  11  inconclusive: more samples are needed";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, allow_missing_positional = true)]
pub(crate) struct CompareArguments {
    /// Baseline: a run folder, or a run id below --output-dir; by default the chosen baseline of the suite of NEW.
    #[arg(value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,

    /// Run to compare with it: a run folder or a run id.
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Use the chosen baseline of the suite of NEW, as without BASE.
    #[arg(long, conflicts_with = "base")]
    pub(crate) baseline: bool,

    /// Use the `gate` of this file instead of that of the suite of NEW.
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Gate every metric with this non-inferiority margin; it must be smaller than the scale of each.
    #[arg(long, value_name = "LOSS", conflicts_with = "gate", allow_negative_numbers = true, value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// Part that may differ besides the model; may be given several times.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub(crate) allow: Vec<IdentityPart>,

    /// Folder in which run ids are looked up.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Maximum number of listed samples that became worse, for each metric.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Print the comparison as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the verdicts as JUnit XML to this file; metrics without a gate are skipped.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write the comparison as Markdown to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Print annotations for GitHub, and append the comparison to $GITHUB_STEP_SUMMARY if it is set.
    #[arg(long)]
    pub(crate) github: bool,

    /// Print the verdict in one line, and warnings to the standard error stream.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

pub(super) fn margin(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(margin) if margin > 0.0 && margin.is_finite() => Ok(margin),
        Ok(_) => Err("a number greater than 0 is needed, such as 0.01: no number of samples can show that \
                      nothing at all was lost"
            .to_owned()),
        Err(_) => Err("a number is needed, such as 0.01".to_owned()),
    }
}
