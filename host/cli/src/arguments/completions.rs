//! Arguments of `gage-host completions` and `gage-host man-pages`.

use clap::Args;
use std::path::PathBuf;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  gage-host completions bash > ~/.local/share/bash-completion/completions/gage-host
  gage-host completions zsh > ~/.local/share/zsh/site-functions/_gage-host
  gage-host completions fish > ~/.config/fish/completions/gage-host.fish";

#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManPagesArguments {
    /// The folder to write the pages to; it is created if it is missing.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
