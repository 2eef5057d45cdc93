//! What suites may reach: the flags of a command, and the policy file of the user or the team.

use crate::arguments::PermissionArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::{AllowedResources, Permissions, Policy, load_policy, shown_path};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Variable with the path of the policy file.
const POLICY_VARIABLE: &str = "GAGE_HOST_POLICY";

/// Returns what the suite of a command may reach, without its own folder. Flags take precedence over the policy file, list
/// by list.
///
/// # Errors
/// If the policy file or a folder cannot be used. The message is printed.
pub(super) fn permissions(arguments: &PermissionArguments) -> Result<Permissions, ExitCode> {
    if let Some(folder) = arguments.allow_read.iter().find(|folder| !folder.is_dir()) {
        let message = format!("--allow-read: {} is not a folder", shown_path(folder));
        return Err(terminal::usage_error(&message, Some("name a folder that exists")));
    }
    if arguments.trusted {
        return Ok(Permissions::default());
    }
    let Policy { is_untrusted, allowed } = policy()?;
    if !(arguments.untrusted || is_untrusted) {
        return Ok(Permissions::default());
    }
    Ok(Permissions::restricted(AllowedResources {
        env: first_given(&arguments.allow_env, allowed.env),
        read: first_given(&arguments.allow_read, allowed.read),
        net: first_given(&arguments.allow_net, allowed.net),
    }))
}

/// Returns the list of the command line, or else that of the policy.
fn first_given<T: Clone>(given: &[T], of_policy: Vec<T>) -> Vec<T> {
    if given.is_empty() { of_policy } else { given.to_vec() }
}

/// Reads the policy file. A missing one allows everything, unless a variable names it.
fn policy() -> Result<Policy, ExitCode> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = set(POLICY_VARIABLE);
    let is_named = named.is_some();
    let folder = || set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    let path = named.or_else(|| Some(folder()?.join("gage-host/policy.yaml")));
    let Some(path) = path else { return Ok(Policy::default()) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if !is_named && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Policy::default());
        }
        Err(error) => {
            let reason = gage_core::system_message(&error);
            let message = format!("cannot read the policy {}: {reason}", shown_path(&path));
            return Err(terminal::usage_error(&message, Some("correct it, or unset GAGE_HOST_POLICY")));
        }
    };
    let (policy, problems) = load_policy(&path.display().to_string(), &text);
    terminal::show_problems(&problems);
    policy.ok_or(ExitCode::Configuration)
}
