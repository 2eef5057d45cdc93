//! The command line of `view`.

use super::PermissionArguments;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gage-host view
  gage-host view /data/runs --port 0
  gage-host view --host 0.0.0.0 --allow-host evals.example.org

Ends by Ctrl-C.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ViewArguments {
    /// Folder of runs. Nothing outside it is read, and no run is changed.
    #[arg(value_name = "DIR", env = "GAGE_HOST_OUTPUT_DIR", default_value = "runs")]
    pub(crate) folder: PathBuf,

    /// Port to listen on; 0 selects a free one.
    #[arg(long, env = "GAGE_HOST_PORT", value_name = "PORT", default_value_t = 7878)]
    pub(crate) port: u16,

    /// Address to listen on. There is no password: everyone who can reach it can read every prompt and answer.
    #[arg(long, env = "GAGE_HOST_HOST", value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,

    /// Further host name of this machine that browsers may use; may be given several times.
    #[arg(long = "allow-host", env = "GAGE_HOST_ALLOW_HOST", value_name = "NAME", value_delimiter = ',')]
    pub(crate) allowed_hosts: Vec<String>,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    /// Open the list of runs in the browser of this machine.
    #[arg(long)]
    pub(crate) open: bool,

    /// Print only errors.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}
