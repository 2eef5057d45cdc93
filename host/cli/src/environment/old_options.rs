//! Options of gage-eval that are written in another way here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The old options, with what takes their place.
const OLD_OPTIONS: &[(&str, &str)] = &[
    ("--config", "write the command first: gage-host run SUITE"),
    ("--distill", "it is a command here: gage-host distill SUITE --builtin-name NAME"),
    ("--builtin-name", "it belongs to the command distill: gage-host distill SUITE --builtin-name NAME"),
    (
        "--force-merge",
        "it belongs to the command distill: gage-host distill SUITE --builtin-name NAME --force-merge",
    ),
    ("--init", "it is a command here: gage-host init NAME"),
    ("--init-mode", "it is --mode of the command init: gage-host init NAME --mode pipeline-config"),
    (
        "--model-path",
        "set it in the suite: --set backends.ID.config.model=NAME, or config.model_path for llama_cpp",
    ),
    (
        "--gpus",
        "leave it out: a server has its own GPUs, and llama_cpp takes gpu_layers and devices in its config",
    ),
    ("--cpus", "leave it out: --concurrency limits requests, and llama_cpp takes threads in its config"),
    ("--concurrency", "it belongs to the command run: gage-host run SUITE --concurrency N"),
    ("--max-samples", "it belongs to the command run: gage-host run SUITE --max-samples N"),
    ("--output-dir", "it belongs to the command run: gage-host run SUITE --output-dir DIR"),
];

/// Returns the help for an unknown option that gage-eval had.
pub(super) fn help_for(error: &clap::Error) -> Option<&'static str> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = option.split(['=', ' ']).next()?;
    OLD_OPTIONS.iter().find(|(old, _)| *old == option).map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_gage_eval_have_help() {
        for (arguments, expected) in [
            (vec!["gage-host", "--config", "s.yaml", "--distill"], "write the command first"),
            (vec!["gage-host", "run", "s.yaml", "--distill"], "it is a command here: gage-host distill"),
            (vec!["gage-host", "run", "s.yaml", "--gpus=2"], "leave it out"),
            (vec!["gage-host", "run", "s.yaml", "--model-path", "m"], "set it in the suite"),
        ] {
            let parsed = super::super::command(&|_| None).try_get_matches_from(&arguments);
            let error = parsed.expect_err("an unknown option");
            let help = help_for(&error).unwrap_or_default();
            assert!(help.starts_with(expected), "{arguments:?}: {help}");
        }
    }
}
