//! The script that submits the shards and their merge to Slurm.

use super::cluster_commands::shell_command;
use super::template::render;
use super::{LaunchError, LaunchText, MAX_RESTARTS, ShardedRun};
use minijinja::context;

/// Number of tasks of an array that Slurm allows unless it is configured otherwise.
const DEFAULT_MAX_ARRAY_SIZE: u32 = 1000;

/// Returns the script.
///
/// # Errors
/// If the arguments have no meaning for Slurm.
pub(super) fn script(run: &ShardedRun<'_>) -> Result<LaunchText, LaunchError> {
    run.refuse_claim()?;
    let commands = run.commands()?;
    let arguments = run.arguments;
    let limit = Some(run.parallel).filter(|parallel| *parallel < arguments.shards);
    let text = render(
        include_str!("slurm.sh.jinja"),
        context! {
            run_id => &run.run_id,
            shards => arguments.shards,
            limit => limit,
            gpus => arguments.gpus,
            cpus => arguments.cpus,
            max_restarts => MAX_RESTARTS,
            run => shell_command(&commands.run),
            merge => shell_command(&commands.merge),
        },
    )?;
    let run_id = &run.run_id;
    let mut next = format!(
        "next: save the text as {run_id}.sh, and submit it with `bash {run_id}.sh`; options of sbatch may \
         follow, such as --partition=gpu"
    );
    if arguments.shards > DEFAULT_MAX_ARRAY_SIZE {
        let most = DEFAULT_MAX_ARRAY_SIZE;
        next = format!(
            "warning: Slurm refuses more than {most} tasks unless MaxArraySize is larger; \
             `scontrol show config` prints it\n{next}"
        );
    }
    Ok(LaunchText { text, next })
}
