//! The flags that say what a suite may reach.

use clap::Args;
use gage_config::AllowedHost;
use std::path::PathBuf;

/// What a suite may reach. A command that loads a suite has these flags.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PermissionArguments {
    /// Treat the suite as a stranger's: it gets no environment variable, no file outside its folder, and no host, except
    /// those allowed.
    #[arg(long)]
    pub(crate) untrusted: bool,

    /// Treat the suite as your own, whatever the policy file says.
    #[arg(long, conflicts_with = "untrusted")]
    pub(crate) trusted: bool,

    /// With --untrusted: environment variables that the suite may read, separated by commas.
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "trusted")]
    pub(crate) allow_env: Vec<String>,

    /// With --untrusted: a folder that the suite may read and write; may be given several times.
    #[arg(long, value_name = "DIR", conflicts_with = "trusted")]
    pub(crate) allow_read: Vec<PathBuf>,

    /// With --untrusted: hosts that the suite may connect to, each with a port or for all ports, separated by commas.
    #[arg(long, value_name = "HOST", value_delimiter = ',', conflicts_with = "trusted")]
    pub(crate) allow_net: Vec<AllowedHost>,
}

impl PermissionArguments {
    /// Returns the first flag that allows something to an untrusted suite.
    pub(crate) fn first_allowing_flag(&self) -> Option<&'static str> {
        let flags = [
            ("--allow-env", self.allow_env.is_empty()),
            ("--allow-read", self.allow_read.is_empty()),
            ("--allow-net", self.allow_net.is_empty()),
        ];
        flags.into_iter().find(|(_, is_empty)| !is_empty).map(|(flag, _)| flag)
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::command;
    use clap::Command;

    /// Commands that load no suite, each with the reason.
    const WITHOUT_SUITE: &[(&str, &str)] = &[
        ("completions", "no suite"),
        ("demo", "the suite is part of the program"),
        ("doctor", "no suite"),
        ("env", "no suite"),
        ("import gage", "the suite is converted as a text, and no variable in it is replaced"),
        ("import inspect", "the suite is written by the command, and names only its own files"),
        ("import lm-eval", "the task is converted as a text, and no variable in it is replaced"),
        ("import promptfoo", "the configuration is converted as a text, and no variable in it is replaced"),
        ("new", "the suite is written, and only its rows are read"),
        ("init", "the template is copied as a text, and no variable in it is replaced"),
        ("judge calibrate", RUN),
        ("man-pages", "no suite"),
        ("model bench", "no suite"),
        ("model fetch", "no suite"),
        ("model inspect", "no suite"),
        ("model list", "no suite"),
        ("plugin add", "the suite is edited as a text, and no variable in it is replaced"),
        ("plugin bench", "no suite"),
        ("plugin build", "no suite"),
        ("plugin import", "no suite"),
        ("plugin diff", "no suite"),
        ("plugin inspect", "no suite"),
        ("plugin lock", "no suite"),
        ("plugin new", "no suite"),
        ("plugin pull", "no suite"),
        ("plugin push", "no suite"),
        ("plugin sign", "no suite"),
        ("plugin upgrade", "no suite"),
        ("plugin verify", "no suite"),
        ("suites list", "the suites are part of the program"),
        ("suites show", "the suites are part of the program"),
        ("runs baseline", RUN),
        ("runs gc", RUN),
        ("runs list", RUN),
        ("runs repair", RUN),
        ("runs status", RUN),
        ("runs trend", RUN),
        ("samples", RUN),
        ("schema", "no suite"),
        (crate::arguments::COMPILE, "no suite"),
    ];
    const RUN: &str = "reads recorded runs, and loads no plugin of their suites";

    const FLAGS: [&str; 5] = ["untrusted", "trusted", "allow-env", "allow-read", "allow-net"];

    /// Calls a function with each command that has no subcommands, and its name.
    fn each_command(command: &Command, name: &str, call: &mut dyn FnMut(&str, &Command)) {
        if !command.has_subcommands() {
            return call(name, command);
        }
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            each_command(inner, format!("{name} {}", inner.get_name()).trim(), call);
        }
    }

    #[test]
    fn every_command_that_loads_a_suite_takes_permissions() {
        let mut problems = Vec::new();
        let mut seen = Vec::new();
        each_command(&command(&|_| None), "", &mut |name, command| {
            let has = |flag: &&str| command.get_arguments().any(|arg| arg.get_long() == Some(*flag));
            let takes_suite = command.get_arguments().any(|arg| {
                let values = arg.get_value_names().unwrap_or_default();
                values.iter().any(|value| ["CONFIG", "SUITE|FILE"].contains(&&**value))
            });
            seen.push(name.to_owned());
            let is_listed = WITHOUT_SUITE.iter().any(|(listed, _)| *listed == name);
            let count = FLAGS.iter().filter(|flag| has(flag)).count();
            match (count, is_listed) {
                (5, false) => {}
                (0, true) if !takes_suite => {}
                _ => {
                    problems.push(format!("{name}: {count} flags, listed: {is_listed}, suite: {takes_suite}"))
                }
            }
        });
        let is_gone = |listed: &&str| !seen.iter().any(|name| name == listed);
        problems.extend(WITHOUT_SUITE.iter().map(|(name, _)| *name).filter(is_gone).map(str::to_owned));
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn permissions_are_read_and_checked() {
        let parse = |arguments: &[&str]| {
            let words = ["gage-host", "validate", "suite.yaml"].into_iter().chain(arguments.iter().copied());
            command(&|_| None).try_get_matches_from(words).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(parse(&["--untrusted", "--allow-env", "A,B", "--allow-net", "h:80,h2"]), Ok(()));
        for (arguments, expected) in [
            (vec!["--trusted", "--allow-net", "h"], "cannot be used with"),
            (vec!["--trusted", "--untrusted"], "cannot be used with"),
            (vec!["--untrusted", "--allow-net", "*.example.com"], "is a pattern"),
            (vec!["--untrusted", "--allow-net", "https://example.com"], "is more than a host name"),
        ] {
            let error = parse(&arguments).expect_err("refused");
            assert!(error.contains(expected), "{arguments:?}: {error}");
        }
    }
}
