//! The command line of `suites` and `eval`: the ready suites.

use clap::{Args, Command, Subcommand};

/// Commands on the ready suites.
#[derive(Debug, Subcommand)]
pub(crate) enum SuitesCommand {
    /// List the ready suites.
    List(SuitesListArguments),
    /// Print the card of a ready suite, or the suite itself.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(SuitesShowArguments),
}

#[derive(Args, Debug)]
pub(crate) struct SuitesListArguments {
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  gage-host suites show gsm8k
  gage-host suites show gsm8k --yaml > my_gsm8k.yaml";

#[derive(Args, Debug)]
pub(crate) struct SuitesShowArguments {
    /// The suite: a name that `gage-host suites list` prints.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Print the suite instead of its card, to edit it.
    #[arg(long)]
    pub(crate) yaml: bool,

    /// Print the suite and its card as JSON.
    #[arg(long, conflicts_with = "yaml")]
    pub(crate) json: bool,
}

const EVAL_EXAMPLES: &str = "\
Examples:
  gage-host eval gsm8k --model openai:my-model --limit 100
  gage-host eval mmlu --model ./model.gguf
  gage-host eval piqa --model hub:OWNER/NAME/FILE.gguf";

/// Turns the options of `run` into those of `eval`, whose suite is the name of a ready one.
pub(crate) fn as_eval(command: Command) -> Command {
    let help = "The ready suite: a name that `gage-host suites list` prints";
    command
        .after_help(EVAL_EXAMPLES)
        .mut_arg("config", |arg| arg.required(true).value_name("NAME").help(help).long_help(help))
}
