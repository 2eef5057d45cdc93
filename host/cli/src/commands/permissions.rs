//! What suites may reach and which plugins may be loaded: the flags of a command, and the policy file of the user or the team.

use crate::arguments::PermissionArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::{AllowedResources, Permissions, Policy, load_policy, shown_path};
use gage_packages::Trust;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Variable with the path of the policy file.
const POLICY_VARIABLE: &str = "GAGE_HOST_POLICY";

/// What a command may use.
#[derive(Clone)]
pub(super) struct Access {
    /// What its suite may reach, without its own folder.
    pub(super) permissions: Permissions,
    /// The plugins that may be loaded.
    pub(super) trust: Arc<Trust>,
}

/// Returns what a command may use.
///
/// # Errors
/// As for [`permissions`] and [`trust`].
pub(super) fn access(arguments: &PermissionArguments) -> Result<Access, ExitCode> {
    Ok(Access { permissions: permissions(arguments)?, trust: trust()? })
}

/// Returns the plugins that the policy allows. `--trusted` is about suites, and changes nothing here.
///
/// # Errors
/// If the policy file or one of its keys cannot be used. The message is printed.
pub(super) fn trust() -> Result<Arc<Trust>, ExitCode> {
    static TRUST: OnceLock<Arc<Trust>> = OnceLock::new();
    if let Some(trust) = TRUST.get() {
        return Ok(Arc::clone(trust));
    }
    let trust = match policy()?.trust {
        Some(trust) => Trust::load(&trust).map_err(|error| {
            let help = "correct `trust` in the policy file; keys are PEM files, as `openssl pkey -pubout` writes them";
            terminal::usage_error(&error.to_string(), Some(help))
        })?,
        None => Trust::default(),
    };
    Ok(Arc::clone(TRUST.get_or_init(|| Arc::new(trust))))
}

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
    let Policy { is_untrusted, allowed, .. } = policy()?;
    if !(arguments.untrusted || is_untrusted) {
        return match arguments.first_allowing_flag() {
            None => Ok(Permissions::default()),
            Some(flag) => {
                let message =
                    format!("{flag} says what an untrusted suite may use, and this suite is trusted");
                let help = "add --untrusted, or write `untrusted: true` into the policy file";
                Err(terminal::usage_error(&message, Some(help)))
            }
        };
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

/// Returns the policy, which is read once.
fn policy() -> Result<Policy, ExitCode> {
    static POLICY: OnceLock<Policy> = OnceLock::new();
    if let Some(policy) = POLICY.get() {
        return Ok(policy.clone());
    }
    let read = read_policy()?;
    Ok(POLICY.get_or_init(|| read).clone())
}

/// Reads the policy file. A missing one allows everything, unless a variable names it.
fn read_policy() -> Result<Policy, ExitCode> {
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
    let (policy, problems) = load_policy(&path, &text);
    terminal::show_problems(&problems);
    policy.ok_or(ExitCode::Configuration)
}
