//! The manifest of two Jobs for Kubernetes: the shards, and their merge.

use super::cluster_commands::{container_word, quoted, shell_command};
use super::template::render;
use super::{LaunchError, LaunchText, ShardedRun};
use crate::arguments::{LaunchArguments, LaunchStorage};
use gage_config::shown_path;
use minijinja::context;
use std::path::{Component, Path};

/// Folder of the claim in a container, in which the program runs.
const CLAIM_FOLDER: &str = "/work";

/// Maximum length of a run id. The names of pods are longer, and have at most 63 characters.
const MAX_RUN_ID_CHARS: usize = 40;

/// Maximum number of times that a shard is run again. Pods that had to leave their node do not count.
const MAX_RETRIES: u32 = 6;

/// Number of shards for each one that may fail before the Job ends early.
const SHARDS_PER_FAILURE: u32 = 4;

/// Returns the manifest.
///
/// # Errors
/// If the arguments have no meaning for Kubernetes.
pub(super) fn manifest(run: &ShardedRun<'_>, image: &str) -> Result<LaunchText, LaunchError> {
    let arguments = run.arguments;
    check_run_id(&run.run_id)?;
    let claim = match &arguments.storage {
        Some(LaunchStorage::Claim(name)) => Some(name),
        Some(LaunchStorage::Bucket(_)) => None,
        None => {
            return Err(LaunchError::Usage {
                message: "launch kubernetes needs --storage".to_owned(),
                help:
                    "name a PersistentVolumeClaim with the suite, which takes the runs, or s3://bucket/prefix"
                        .to_owned(),
            });
        }
    };
    match claim {
        Some(_) => check_paths(arguments)?,
        None => check_output_folder(&arguments.output_dir)?,
    }
    let commands = run.commands()?;
    // The run is merged on another machine, whose folder of runs is not known.
    let is_elsewhere = |place: &usize| ![3, 4].contains(place);
    let words = commands.merge.iter().enumerate().filter(|(place, _)| is_elsewhere(place));
    let merge_elsewhere: Vec<String> = words.map(|(_, word)| word.clone()).collect();
    let container = |words: &[String]| words.iter().map(|word| container_word(word)).collect::<Vec<_>>();
    let output_folder = arguments.output_dir.display().to_string();
    let job = format!("gage-{}", run.run_id);
    let text = render(
        include_str!("kubernetes.yaml.jinja"),
        context! {
            run_id => &run.run_id,
            job => &job,
            shards => arguments.shards,
            parallel => run.parallel,
            max_retries => MAX_RETRIES,
            max_failed => arguments.shards.div_ceil(SHARDS_PER_FAILURE),
            image => quoted(image),
            gpus => arguments.gpus,
            cpus => arguments.cpus,
            claim => claim.map(|name| quoted(name)),
            mount => quoted(claim.map_or(&*output_folder, |_| CLAIM_FOLDER)),
            has_secret => claim.is_none() || !run.variables.is_empty(),
            is_secret_optional => run.variables.is_empty(),
            run => container(&commands.run),
            merge => container(&commands.merge),
            merge_command => shell_command(&merge_elsewhere),
        },
    )?;
    let run_id = &run.run_id;
    let mut next = format!("next: save the text as {run_id}.yaml; its first lines say how to apply it");
    if !run.variables.is_empty() {
        next = format!("{}\n{next}", secret_command(&job, &run.variables));
    }
    Ok(LaunchText { text, next })
}

/// Returns the sentence with the command that creates the secret with the variables of the pods.
fn secret_command(job: &str, variables: &[String]) -> String {
    let literals = variables.iter().map(|name| format!(" --from-literal={name}=\"${name}\""));
    format!(
        "the pods read {} from a secret: kubectl create secret generic {job}{}",
        variables.join(", "),
        literals.collect::<String>()
    )
}

fn check_run_id(run_id: &str) -> Result<(), LaunchError> {
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if run_id.len() <= MAX_RUN_ID_CHARS && run_id.chars().all(is_plain) && !run_id.ends_with('-') {
        return Ok(());
    }
    Err(LaunchError::Usage {
        message: format!("--run-id {run_id} cannot name a Job of Kubernetes"),
        help: format!("use up to {MAX_RUN_ID_CHARS} lower-case letters, digits and '-', not at the end"),
    })
}

/// Checks that paths lead into the claim.
fn check_paths(arguments: &LaunchArguments) -> Result<(), LaunchError> {
    let suite = arguments.config.path();
    let paths = [&suite, &arguments.output_dir];
    let plugins = &arguments.config.plugin_folders;
    let readable = &arguments.config.permissions.allow_read;
    let leaves = |path: &Path| {
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        !path.components().all(is_inside)
    };
    match paths.into_iter().chain(plugins).chain(readable).find(|path| leaves(path)) {
        None => Ok(()),
        Some(path) => Err(LaunchError::Usage {
            message: format!("{} is not in the claim", shown_path(path)),
            help: "copy the suite into the claim, change to the folder with the same content, and write \
                   paths relative to it"
                .to_owned(),
        }),
    }
}

/// Checks the mount point of the folder of runs of a pod.
fn check_output_folder(folder: &Path) -> Result<(), LaunchError> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::RootDir);
    let is_mountable = folder.is_absolute()
        && folder.components().count() > 1
        && folder.components().all(is_plain)
        && !folder.to_string_lossy().contains(':');
    if is_mountable {
        return Ok(());
    }
    Err(LaunchError::Usage {
        message: format!("--output-dir {} cannot be mounted in a pod", folder.display()),
        help: "with a bucket, write an absolute path without `..` and `:`, such as --output-dir /runs"
            .to_owned(),
    })
}
