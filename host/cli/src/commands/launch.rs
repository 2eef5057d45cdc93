//! `gage-host launch`: prints a script, a manifest or a driver that runs the shards of a suite on a cluster,
//! and submits nothing.

mod checks;
mod cluster_commands;
mod kubernetes;
mod ray;
mod slurm;
mod template;
#[cfg(test)]
mod tests;

use super::shard_warnings::shard_warnings;
use super::{ready_suite, setup};
use crate::arguments::{DEFAULT_LOG, LaunchArguments, LaunchCommand, LaunchStorage};
use crate::environment::{foreign_variables, variable};
use crate::exit_code::ExitCode;
use crate::terminal;
use checks::{check_choices, check_lock, check_run_id};
use cluster_commands::ClusterCommands;
use gage_config::{HUB_TOKEN_VARIABLE, PipelineConfig, ResourceKind};
use gage_runner::new_run_id;
use std::collections::BTreeSet;
use template::TemplateError;

/// Maximum number of times that a cluster runs a shard again.
const MAX_RESTARTS: u32 = 20;

/// Prefix of the variables for a bucket.
const BUCKET_VARIABLES: &str = "AWS_";

/// Variables for a bucket that are valid only on this machine: its files, addresses of its services, and its role.
const LOCAL_VARIABLES: [&str; 6] = [
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// A text for a cluster, and the next step of the user.
struct LaunchText {
    text: String,
    next: String,
}

/// The shards of one run, for any kind of cluster.
struct ShardedRun<'a> {
    arguments: &'a LaunchArguments,
    run_id: String,
    /// Maximum number of shards at the same time.
    parallel: u32,
    /// Variables that the shards need and that are set here.
    variables: Vec<String>,
}

pub(crate) fn execute(mut command: LaunchCommand) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    ready_suite::resolve(&mut command.arguments_mut().config)?;
    let (command, arguments) = (&command, command.arguments());
    check_choices(arguments)?;
    let (config, problems) = setup::suite(&arguments.config)?;
    terminal::show_problems(&problems);
    let (Some(config), false) = (config, problems.has_errors()) else { return Ok(ExitCode::Configuration) };
    check_lock(arguments)?;
    let run = ShardedRun::new(arguments, &config);
    check_run_id(command, &run.run_id)?;
    let printed = match command {
        LaunchCommand::Slurm(_) => slurm::script(&run),
        LaunchCommand::Kubernetes(arguments) => kubernetes::manifest(&run, &arguments.image),
        LaunchCommand::Ray(_) => ray::driver(&run),
    };
    let printed = match printed {
        Ok(printed) => printed,
        Err(LaunchError::Template(error)) => return Err(error.into()),
        Err(LaunchError::Usage { message, help }) => return Ok(terminal::usage_error(&message, Some(&help))),
    };
    if gage_secrets::redact(&printed.text) != printed.text {
        let help =
            "let the suite read it from a variable, such as ${API_KEY}, and leave it out of the command";
        return Ok(terminal::usage_error("the printed commands would contain a secret", Some(help)));
    }
    terminal::print_document(printed.text.trim_end())?;
    for warning in shard_warnings(&config, arguments.locked) {
        terminal::eprint_line(format_args!("warning: {warning}"));
    }
    terminal::eprint_line(printed.next);
    Ok(ExitCode::Done)
}

impl<'a> ShardedRun<'a> {
    fn new(arguments: &'a LaunchArguments, config: &PipelineConfig) -> ShardedRun<'a> {
        ShardedRun {
            arguments,
            run_id: arguments.run_id.clone().unwrap_or_else(new_run_id),
            parallel: arguments.parallel.unwrap_or(arguments.shards).min(arguments.shards),
            variables: needed_variables(arguments, config),
        }
    }

    /// Returns the commands of the run.
    ///
    /// # Errors
    /// If a script could not contain them.
    fn commands(&self) -> Result<ClusterCommands, LaunchError> {
        ClusterCommands::new(self.arguments, &self.run_id)
    }

    /// Refuses a claim as storage.
    ///
    /// # Errors
    /// For a cluster without claims.
    fn refuse_claim(&self) -> Result<(), LaunchError> {
        match &self.arguments.storage {
            Some(LaunchStorage::Claim(name)) => Err(LaunchError::Usage {
                message: format!("--storage {name}: only Kubernetes has PersistentVolumeClaims"),
                help: "name a folder that all machines share with --output-dir, or s3://bucket/prefix"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the variables that are set here and that the suite or its storage reads.
fn needed_variables(arguments: &LaunchArguments, config: &PipelineConfig) -> Vec<String> {
    let of_suite = config.resources.used().filter_map(|resource| match &resource.kind {
        ResourceKind::Variable(name) => Some(name.clone()),
        ResourceKind::HubToken => Some(HUB_TOKEN_VARIABLE.to_owned()),
        _ => None,
    });
    let is_bucket = matches!(arguments.storage, Some(LaunchStorage::Bucket(_)));
    // Other variables of that prefix, such as AWS_CA_BUNDLE, are not read by the program.
    let is_of_bucket =
        |name: &&str| is_bucket && name.starts_with(BUCKET_VARIABLES) && !LOCAL_VARIABLES.contains(name);
    let of_bucket = foreign_variables().map(|[name, ..]| name).filter(is_of_bucket).map(str::to_owned);
    let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let is_set = |name: &String| name.chars().all(is_plain) && variable(name).is_some();
    let names: BTreeSet<String> = of_suite.chain(of_bucket).filter(is_set).collect();
    names.into_iter().collect()
}

/// Failure to print the text for a cluster.
#[derive(Debug)]
enum LaunchError {
    /// The command line asks for something impossible.
    Usage {
        /// The reason.
        message: String,
        /// Advice.
        help: String,
    },
    /// A template is wrong, which is a bug.
    Template(TemplateError),
}

impl From<TemplateError> for LaunchError {
    fn from(error: TemplateError) -> LaunchError {
        LaunchError::Template(error)
    }
}
