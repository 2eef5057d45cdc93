//! The commands that a cluster runs, and their words in the languages of scripts.

use super::LaunchError;
use crate::arguments::{LaunchArguments, LaunchStorage};
use crate::terminal::shell_word;
use gage_config::shown_path;
use gage_core::printable_line;
use std::path::Path;

/// The commands that a cluster runs, word by word.
#[derive(Debug)]
pub(super) struct ClusterCommands {
    /// Runs a shard, whose number follows as the value of `--shard`.
    pub(super) run: Vec<String>,
    /// Merges the shards.
    pub(super) merge: Vec<String>,
}

impl ClusterCommands {
    /// Builds the commands of a run.
    ///
    /// # Errors
    /// If a word cannot be part of a script.
    pub(super) fn new(arguments: &LaunchArguments, run_id: &str) -> Result<ClusterCommands, LaunchError> {
        let output_folder = path_word(&arguments.output_dir)?;
        let mut run = words(["gage-host", "run", &path_word(&arguments.config.path())?]);
        add_changes(arguments, &mut run)?;
        run.extend(words(["--run-id", run_id, "--output-dir", &output_folder]));
        if let Some(concurrency) = arguments.concurrency {
            run.extend(words(["--concurrency", &concurrency.to_string()]));
        }
        if arguments.locked {
            run.push("--locked".to_owned());
        }
        let mut merge = words(["gage-host", "merge"]);
        match &arguments.storage {
            Some(LaunchStorage::Bucket(address)) => {
                run.extend(words(["--push", address]));
                merge.push(format!("{address}/{run_id}"));
            }
            Some(LaunchStorage::Claim(_)) | None => merge.push(run_id.to_owned()),
        }
        merge.extend(words(["--output-dir", &output_folder]));
        add_plugins(arguments, &mut merge)?;
        for word in run.iter().chain(&merge) {
            check_printable(word)?;
        }
        Ok(ClusterCommands { run, merge })
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Adds the changes to the suite, and what it may reach.
fn add_changes(arguments: &LaunchArguments, command: &mut Vec<String>) -> Result<(), LaunchError> {
    let (config, permissions) = (&arguments.config, &arguments.config.permissions);
    for (flag, values) in
        [("--set", &config.overrides), ("--model", &config.models), ("--prompt", &config.prompts)]
    {
        for value in values {
            command.extend(words([flag, value.as_str()]));
        }
    }
    add_plugins(arguments, command)?;
    for (flag, is_set) in [("--untrusted", permissions.untrusted), ("--trusted", permissions.trusted)] {
        if is_set {
            command.push(flag.to_owned());
        }
    }
    if !permissions.allow_env.is_empty() {
        command.extend(words(["--allow-env", &permissions.allow_env.join(",")]));
    }
    for folder in &permissions.allow_read {
        command.extend(words(["--allow-read", &path_word(folder)?]));
    }
    if !permissions.allow_net.is_empty() {
        let hosts: Vec<String> = permissions.allow_net.iter().map(ToString::to_string).collect();
        command.extend(words(["--allow-net", &hosts.join(",")]));
    }
    Ok(())
}

fn add_plugins(arguments: &LaunchArguments, command: &mut Vec<String>) -> Result<(), LaunchError> {
    for folder in &arguments.config.plugin_folders {
        command.extend(words(["--plugin-dir", &path_word(folder)?]));
    }
    Ok(())
}

/// Returns a path as a word, which is never read as a flag.
///
/// # Errors
/// If the path is not UTF-8.
pub(super) fn path_word(path: &Path) -> Result<String, LaunchError> {
    match path.to_str() {
        Some(text) if text.starts_with('-') => Ok(format!("./{text}")),
        Some(text) => Ok(text.to_owned()),
        None => Err(unprintable(&shown_path(path))),
    }
}

fn check_printable(word: &str) -> Result<(), LaunchError> {
    let shown = printable_line(word);
    if shown == word { Ok(()) } else { Err(unprintable(&shown)) }
}

fn unprintable(shown: &str) -> LaunchError {
    LaunchError::Usage {
        message: format!("{shown} cannot be part of a script: it has invisible characters, or is not UTF-8"),
        help: "rename the file or the folder, or write the value in the suite".to_owned(),
    }
}

/// Formats a command for a shell.
pub(super) fn shell_command(words: &[String]) -> String {
    words.iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

/// Formats strings as a list in Python.
pub(super) fn python_list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
}

/// Formats a string for Python or YAML. In both, a JSON string of printable characters means the same.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Formats a word of a container's command. Kubernetes replaces `$(NAME)` in it, and `$$` is a dollar sign.
pub(super) fn container_word(word: &str) -> String {
    quoted(&word.replace('$', "$$"))
}
