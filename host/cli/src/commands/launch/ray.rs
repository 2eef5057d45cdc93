//! The driver in Python that runs the shards on Ray and merges them.

use super::cluster_commands::{path_word, python_list, quoted};
use super::template::render;
use super::{LaunchError, LaunchText, MAX_RESTARTS, ShardedRun};
use minijinja::context;

/// Returns the driver.
///
/// # Errors
/// If the arguments have no meaning for Ray, or there is no working folder.
pub(super) fn driver(run: &ShardedRun<'_>) -> Result<LaunchText, LaunchError> {
    run.refuse_claim()?;
    let commands = run.commands()?;
    let arguments = run.arguments;
    let folder = std::env::current_dir().map_err(|error| LaunchError::Usage {
        message: format!("the working folder cannot be read: {}", gage_core::system_message(&error)),
        help: "change to a folder that all machines of the cluster share".to_owned(),
    })?;
    let text = render(
        include_str!("ray.py.jinja"),
        context! {
            run_id => &run.run_id,
            shards => arguments.shards,
            parallel => run.parallel,
            max_restarts => MAX_RESTARTS,
            gpus => arguments.gpus,
            cpus => arguments.cpus.unwrap_or(1),
            folder => quoted(&path_word(&folder)?),
            variables => python_list(&run.variables),
            run => python_list(&commands.run),
            merge => python_list(&commands.merge),
        },
    )?;
    let run_id = &run.run_id;
    let next = format!(
        "next: save the text as {run_id}.py, and run it with `python {run_id}.py`; RAY_ADDRESS names the \
         cluster"
    );
    Ok(LaunchText { text, next })
}
