//! Environment variables that the program reads: those of flags that describe an environment, those of gage-eval, and
//! those of other programs.

pub(crate) mod env_file;
mod foreign_variables;
mod help;
mod legacy_variables;
mod old_options;
mod typed_flag;

use crate::arguments::{Arguments, Command as Given, as_eval, default_suite};
use clap::builder::FalseyValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
pub(crate) use foreign_variables::foreign_variables;
use gage_config::Problems;
use gage_runner::DEFAULT_CONCURRENCY;
use legacy_variables::LegacyVariable;
pub(crate) use legacy_variables::{LEGACY_VARIABLES, LegacyReplacement};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

/// Prefix of the program's own variables.
const OWN_PREFIX: &str = "GAGE_HOST_";

/// Variables for the cache folder; the first one that is set applies.
const CACHE_FOLDERS: [&str; 2] = ["GAGE_CACHE_DIR", "GAGE_EVAL_DATA_CACHE"];

/// Reads the command line and the environment. Exits the process if they are invalid.
pub(crate) fn parse() -> Arguments {
    parse_words(std::env::args_os())
}

/// Reads a command line, of which the first word is the program, and the environment. Exits the process if they are invalid.
pub(crate) fn parse_words(words: impl IntoIterator<Item = OsString>) -> Arguments {
    let command = command(&variable);
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = command.clone().try_get_matches_from(&words).unwrap_or_else(|mut error| {
        suggest_no_hidden(&command, &mut error);
        typed_flag::name_as_typed(&command, &words, &mut error);
        let message = error.print();
        if let Some(name) = variable_behind(&command, &error).filter(|_| message.is_ok()) {
            eprintln!("\nThe value is that of the variable {name}.");
        }
        if let Some(help) = old_options::help_for(&error).filter(|_| message.is_ok()) {
            eprintln!("\nhelp: {help}");
        }
        std::process::exit(error.exit_code())
    });
    arguments_of(&matches).unwrap_or_else(|error| error.exit())
}

/// Returns the arguments, and marks a concurrency that the user set.
fn arguments_of(matches: &ArgMatches) -> Result<Arguments, clap::Error> {
    let mut arguments = Arguments::from_arg_matches(matches)?;
    if let (Given::Run(run) | Given::Eval(run), Some((_, matches))) =
        (&mut arguments.command, matches.subcommand())
    {
        // GAGE_EVAL_SEQUENTIAL changes the default.
        run.is_concurrency_given = run.concurrency != DEFAULT_CONCURRENCY
            || matches.value_source("concurrency") != Some(ValueSource::DefaultValue);
    }
    Ok(arguments)
}

/// Removes commands that `--help` does not list from the suggestions for an unknown command.
fn suggest_no_hidden(command: &Command, error: &mut clap::Error) {
    let Some(ContextValue::Strings(mut names)) = error.remove(ContextKind::SuggestedSubcommand) else {
        return;
    };
    names.retain(|name| command.find_subcommand(name).is_some_and(|command| !command.is_hide_set()));
    if !names.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
    }
}

/// Returns the variable that set a value which a flag rejects, or `None` if the flag itself was given.
fn variable_behind(command: &Command, error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let long = flag.split([' ', '=', '[']).next()?.strip_prefix("--")?;
    let is_given = |argument: OsString| {
        let argument = argument.to_string_lossy().into_owned();
        argument.strip_prefix("--").is_some_and(|rest| rest.split('=').next() == Some(long))
    };
    if std::env::args_os().any(is_given) {
        return None;
    }
    fn named(command: &Command, long: &str, value: &str) -> Option<String> {
        let own = command.get_arguments().find(|arg| arg.get_long() == Some(long));
        let name = own.and_then(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()));
        let name = name.filter(|name| variable(name).as_deref() == Some(value));
        name.or_else(|| command.get_subcommands().find_map(|command| named(command, long, value)))
    }
    named(command, long, value)
}

/// Registers the passwords in addresses from the command line, and in those of proxies and hubs.
pub(crate) fn keep_addresses() {
    const NAMES: [&str; 8] = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "HF_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "GAGE_HOST_OTLP_ENDPOINT",
        "GAGE_HOST_REPORT_HTTP_URL",
        "GAGE_EVAL_REPORT_HTTP_URL",
    ];
    let lower = NAMES.iter().map(|name| name.to_lowercase());
    let variables =
        NAMES.iter().map(|name| (*name).to_owned()).chain(lower).filter_map(|name| variable(&name));
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    variables.chain(arguments).for_each(|text| gage_config::keep_addresses(&text));
}

/// Returns the value of a variable. An empty one counts as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns whether a variable forbids requests to hubs and registries, for commands without a flag of that name.
pub(crate) fn is_offline() -> bool {
    variable("GAGE_HOST_OFFLINE").is_some_and(|value| is_true(&value))
}

/// Returns the cache folder from a variable, or else the user's.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    CACHE_FOLDERS.into_iter().find_map(set).or_else(gage_runner::user_cache_folder)
}

/// Returns the command line, with the variables of gage-eval in place of unset ones.
pub(crate) fn command(variable: &dyn Fn(&str) -> Option<String>) -> Command {
    let has_default = default_suite().is_some();
    let with_suite = |command: Command| match command.get_name() {
        "run" => help::with_usual_options(requiring_suite(command, &["resume"], has_default)),
        "eval" => help::with_usual_options(as_eval(command)),
        "lock" => requiring_suite(command, &["update"], has_default),
        "validate" | "plan" => requiring_suite(command, &[], has_default),
        "launch" => command.mut_subcommands(|engine| requiring_suite(engine, &[], has_default)),
        _ => command,
    };
    help::with_groups(with_variables(Arguments::command().mut_subcommands(with_suite), variable))
}

/// Has a command require its suite, unless there is a default or it has one of `options`, whose value may be the suite: one
/// after `--resume` is later distinguished from a run, and one after `--update` from a part.
fn requiring_suite(command: Command, options: &[&'static str], has_default: bool) -> Command {
    if has_default {
        return command;
    }
    let others = [&["config_option"][..], options].concat();
    command.mut_arg("config", |arg| arg.required_unless_present_any(others))
}

fn with_variables(command: Command, variable: &dyn Fn(&str) -> Option<String>) -> Command {
    let command = command.mut_args(|arg| with_variable(arg, variable));
    command.mut_subcommands(|command| with_variables(command, variable))
}

fn with_variable(arg: Arg, variable: &dyn Fn(&str) -> Option<String>) -> Arg {
    let Some(long) = arg.get_long().filter(|_| !arg.is_hide_set()).map(str::to_owned) else { return arg };
    let arg = match arg.get_action() {
        ArgAction::SetTrue => arg.value_parser(FalseyValueParser::new()),
        _ => arg,
    };
    let name = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    if name.as_deref().is_some_and(|name| variable(name).is_some()) {
        return arg;
    }
    // Otherwise, a variable set to nothing would be an empty value.
    let is_empty = name.is_some_and(|name| std::env::var_os(name).is_some_and(|value| value.is_empty()));
    let arg = if is_empty { arg.env(None::<&'static str>) } else { arg };
    // It overrides GAGE_EVAL_THREADS.
    if long == "concurrency" && variable("GAGE_EVAL_SEQUENTIAL").is_some_and(|value| is_true(&value)) {
        return arg.default_value("1");
    }
    let is_legacy = |legacy: &&LegacyVariable| {
        matches!(legacy.successor, LegacyReplacement::Flag(flag) if flag == long)
            && variable(legacy.name).is_some()
    };
    match LEGACY_VARIABLES.iter().find(is_legacy) {
        Some(legacy) => arg.env(legacy.name),
        None => arg,
    }
}

/// Returns overrides from variables, for values that a suite omits. `document` is the suite.
pub(crate) fn defaults_of(document: &Value) -> Vec<String> {
    defaults_with(document, &variable)
}

fn defaults_with(document: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut defaults = Vec::new();
    for legacy in LEGACY_VARIABLES.iter() {
        let LegacyReplacement::Suite { name, list, key, is_boolean } = legacy.successor else { continue };
        let Some(value) = name.and_then(variable).or_else(|| variable(legacy.name)) else { continue };
        let value = if is_boolean { is_true(&value).to_string() } else { value };
        let says = |entry: &Value| {
            let said = key.split('.').try_fold(entry, |value, segment| value.get(segment));
            said.is_some_and(|said| !said.is_null())
        };
        let entries = document[list].as_array().map(Vec::as_slice).unwrap_or_default();
        if list == "tasks" {
            // A value for all tasks takes precedence. Without task entries, the value is set there.
            let template = if document["builtin"].is_object() { "builtin" } else { "custom" };
            if says(&document[template]) {
                continue;
            }
            if entries.is_empty() {
                defaults.push(format!("{template}.{key}={value}"));
            }
        }
        let silent = entries.iter().enumerate().filter(|(_, entry)| !says(entry));
        defaults.extend(silent.map(|(place, _)| format!("{list}.{place}.{key}={value}")));
    }
    defaults
}

/// Names the variables that set values in messages, which would otherwise refer to `--set`.
pub(crate) fn name_variables(problems: &mut Problems) {
    let is_set_by_flag = |key: &str| {
        let begin = format!("{key}=");
        let mut given = std::env::args_os().filter_map(|argument| argument.into_string().ok());
        given.any(|text| text.trim_start_matches("--set=").starts_with(&begin))
    };
    problems.sources.rename(|name| {
        let key = name.strip_prefix("--set ").filter(|key| !is_set_by_flag(key))?;
        match key {
            // These options set a value of the suite, too.
            "model" | "prompt" | "answers" => Some(format!("--{key}")),
            _ => variable_of(key, &variable).map(str::to_owned),
        }
    });
}

/// Returns the variable that sets a value of a suite: `GAGE_HOST_MAX_INFLIGHT` for `tasks.0.max_inflight`.
fn variable_of(key: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    LEGACY_VARIABLES.iter().find_map(|legacy| {
        let LegacyReplacement::Suite { name, list, key: of_entry, .. } = legacy.successor else {
            return None;
        };
        let place = key.strip_suffix(of_entry)?.strip_suffix('.')?;
        let number = place.strip_prefix(list).and_then(|place| place.strip_prefix('.'));
        let is_of_list = number.is_some_and(|number| number.parse::<usize>().is_ok());
        let is_of_template = list == "tasks" && ["custom", "builtin"].contains(&place);
        let names = [name, Some(legacy.name)].into_iter().flatten();
        let set = names.into_iter().find(|name| variable(name).is_some())?;
        (is_of_list || is_of_template).then_some(set)
    })
}

/// Warns of variables that are set but have no effect: those of gage-eval without a successor, and unknown names with
/// this program's prefix.
pub(crate) fn warn_of_no_effect() {
    let known = known_variables();
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in set.filter(|name| name.starts_with(OWN_PREFIX) && !known.contains(name)) {
        let meant = gage_core::nearest(&name, known.iter().map(String::as_str));
        let hint = meant.map(|meant| format!(", did you mean {meant}?")).unwrap_or_default();
        tracing::warn!(
            "{name} is set and has no effect: no such variable is known{hint} (`gage-host env` lists all)"
        );
    }
    for legacy in LEGACY_VARIABLES.iter() {
        if let LegacyReplacement::None(reason) = legacy.successor
            && variable(legacy.name).is_some()
        {
            tracing::warn!("{} is set and has no effect: {reason}", legacy.name);
        }
    }
}

/// Returns the names of all variables of the program that start with [`OWN_PREFIX`].
fn known_variables() -> BTreeSet<String> {
    fn collect(command: &Command, names: &mut BTreeSet<String>) {
        names.extend(
            command.get_arguments().filter_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned())),
        );
        command.get_subcommands().for_each(|command| collect(command, names));
    }
    let mut names = BTreeSet::new();
    collect(&Arguments::command(), &mut names);
    names.extend(LEGACY_VARIABLES.iter().filter_map(|legacy| match legacy.successor {
        LegacyReplacement::Suite { name, .. } => name.map(str::to_owned),
        LegacyReplacement::Variable(name) => Some(name.to_owned()),
        _ => None,
    }));
    names.extend(foreign_variables().map(|[name, ..]| name.to_owned()));
    names.retain(|name| name.starts_with(OWN_PREFIX));
    names
}

fn is_true(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "n" | "no" | "f" | "false" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(variables: &[(&str, &str)], arguments: &[&str]) -> Result<crate::arguments::RunArguments, String> {
        parsed(variables, &["run", "suite.yaml"], arguments)
    }

    fn parsed(
        variables: &[(&str, &str)],
        command_words: &[&str],
        arguments: &[&str],
    ) -> Result<crate::arguments::RunArguments, String> {
        let given = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        // `variables` only affects the names: clap itself reads the values, so the tests give them as defaults.
        let words = ["gage-host"].iter().chain(command_words).chain(arguments).copied();
        let matches = command(&given).try_get_matches_from(words).map_err(|error| error.to_string())?;
        match arguments_of(&matches).map_err(|error| error.to_string())?.command {
            Given::Run(run) | Given::Eval(run) => Ok(*run),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn flags_that_act_once_have_no_variable() {
        let command = command(&|_| None);
        let mut seen = 0;
        for (path, flag) in [
            (["runs", "gc"].as_slice(), "yes"),
            (&["runs", "baseline"], "remove"),
            (&["export"], "force"),
            (&["distill"], "force-merge"),
            (&["lock"], "update"),
            (&["run"], "run-id"),
            (&["run"], "resume"),
            (&["run"], "set"),
        ] {
            let command = path.iter().fold(&command, |command, name| command.find_subcommand(name).unwrap());
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap();
            assert_eq!(arg.get_env(), None, "{path:?} --{flag}");
            seen += 1;
        }
        assert_eq!(seen, 8);
    }

    #[test]
    fn a_variable_has_the_name_of_its_flag() {
        fn check(command: &Command) {
            for arg in command.get_arguments() {
                let (Some(name), Some(long)) = (arg.get_env(), arg.get_long()) else { continue };
                let expected = format!("GAGE_HOST_{}", long.to_uppercase().replace('-', "_"));
                // The hub's own clients read its address from this variable.
                assert!(*name == *expected || name == "HF_ENDPOINT", "--{long}: {name:?}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&command(&|_| None));
    }

    #[test]
    fn hidden_commands_are_not_suggested() {
        let command = command(&|_| None);
        let mut error = command.clone().try_get_matches_from(["gage-host", "completion"]).unwrap_err();
        assert!(error.to_string().contains(crate::arguments::COMPILE), "{error}");
        suggest_no_hidden(&command, &mut error);
        let shown = error.to_string();
        assert!(shown.contains("completions") && !shown.contains(crate::arguments::COMPILE), "{shown}");
    }

    #[test]
    fn a_legacy_variable_sets_a_flag_without_a_variable() {
        let legacy = |name: &str| (name == "GAGE_EVAL_MAX_SAMPLES").then(|| "3".to_owned());
        for (path, expected) in [("run", true), ("plan", true), ("score", false)] {
            let command = command(&legacy);
            let command = command.find_subcommand(path).unwrap();
            let env = command
                .get_arguments()
                .find_map(|arg| arg.get_env().filter(|env| *env == "GAGE_EVAL_MAX_SAMPLES"));
            assert_eq!(env.is_some(), expected, "{path}");
        }
    }

    #[test]
    fn a_legacy_variable_stands_in_for_its_successor() {
        let env_of = |variables: &[(&str, &str)]| {
            let given = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            let command = command(&given);
            let run = command.find_subcommand("run").unwrap();
            let arg = run.get_arguments().find(|arg| arg.get_long() == Some("concurrency")).unwrap();
            arg.get_env().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(env_of(&[]), "GAGE_HOST_CONCURRENCY");
        assert_eq!(env_of(&[("GAGE_EVAL_THREADS", "4")]), "GAGE_EVAL_THREADS");
        assert_eq!(
            env_of(&[("GAGE_EVAL_THREADS", "4"), ("GAGE_HOST_CONCURRENCY", "5")]),
            "GAGE_HOST_CONCURRENCY"
        );
        assert_eq!(run(&[("GAGE_EVAL_SEQUENTIAL", "true")], &[]).unwrap().concurrency, 1);
        assert_eq!(run(&[("GAGE_EVAL_SEQUENTIAL", "0")], &[]).unwrap().concurrency, 16);
        assert_eq!(run(&[("GAGE_EVAL_SEQUENTIAL", "1")], &["--concurrency", "3"]).unwrap().concurrency, 3);
        assert_eq!(
            env_of(&[("GAGE_EVAL_SEQUENTIAL", "1"), ("GAGE_EVAL_THREADS", "4")]),
            "GAGE_HOST_CONCURRENCY"
        );
        let forced = run(&[("GAGE_EVAL_SEQUENTIAL", "1"), ("GAGE_EVAL_THREADS", "4")], &[]);
        assert_eq!(forced.unwrap().concurrency, 1);
    }

    #[test]
    fn only_the_default_concurrency_was_not_given() {
        for (arguments, expected) in [
            (&[][..], false),
            (&["-j", "16"], true),
            (&["--concurrency", "3"], true),
            (&["--max-samples", "3"], false),
        ] {
            for command in [["run", "suite.yaml"], ["eval", "gsm8k"]] {
                let given = parsed(&[], &command, arguments).unwrap().is_concurrency_given;
                assert_eq!(given, expected, "{command:?} {arguments:?}");
            }
        }
        assert!(run(&[("GAGE_EVAL_SEQUENTIAL", "1")], &[]).unwrap().is_concurrency_given);
    }

    #[test]
    fn a_suite_is_asked_first() {
        let document = json!({
            "datasets": [{"params": {"shuffle": false, "media": {"factor": 14}}}, {"params": {}}],
            "tasks": [{"max_inflight": 3}, {}],
        });
        let given = |name: &str| match name {
            "GAGE_EVAL_SHUFFLE" => Some("1".to_owned()),
            "GAGE_EVAL_IMAGE_FACTOR" => Some("28".to_owned()),
            "GAGE_EVAL_MAX_INFLIGHT" => Some("7".to_owned()),
            _ => None,
        };
        let expected =
            ["datasets.1.params.shuffle=true", "tasks.1.max_inflight=7", "datasets.1.params.media.factor=28"];
        let mut found = defaults_with(&document, &given);
        found.sort();
        let mut expected: Vec<String> = expected.map(str::to_owned).into();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(defaults_with(&document, &|_| None), Vec::<String>::new());
    }

    #[test]
    fn what_tasks_leave_open_is_said_where_the_suite_would_say_it() {
        let given = |name: &str| match name {
            "GAGE_HOST_MAX_INFLIGHT" => Some("3".to_owned()),
            "GAGE_EVAL_PREFETCH_FACTOR" => Some("5".to_owned()),
            _ => None,
        };
        for (document, expected) in [
            (json!({"custom": {}}), vec!["custom.prefetch_factor=5", "custom.max_inflight=3"]),
            (json!({"builtin": {"max_inflight": 8}, "tasks": []}), vec!["builtin.prefetch_factor=5"]),
            (
                json!({"custom": {"max_inflight": 8}, "tasks": [{"prefetch_factor": 1}, {}]}),
                vec!["tasks.1.prefetch_factor=5"],
            ),
        ] {
            assert_eq!(defaults_with(&document, &given), expected, "{document}");
        }
    }

    #[test]
    fn what_a_variable_sets_is_called_by_its_name() {
        let given = |name: &str| {
            ["GAGE_HOST_MAX_INFLIGHT", "GAGE_EVAL_SHUFFLE"].contains(&name).then(|| "x".to_owned())
        };
        for (key, expected) in [
            ("tasks.0.max_inflight", Some("GAGE_HOST_MAX_INFLIGHT")),
            ("custom.max_inflight", Some("GAGE_HOST_MAX_INFLIGHT")),
            ("datasets.12.params.shuffle", Some("GAGE_EVAL_SHUFFLE")),
            ("tasks.rows.max_inflight", None),
            ("datasets.0.max_inflight", None),
            ("tasks.0.prefetch_factor", None),
        ] {
            assert_eq!(variable_of(key, &given), expected, "{key}");
        }
    }

    #[test]
    fn every_successor_is_a_flag_of_run() {
        let command = command(&|_| None);
        let run = command.find_subcommand("run").unwrap();
        for legacy in LEGACY_VARIABLES.iter() {
            if let LegacyReplacement::Flag(flag) = legacy.successor {
                assert!(run.get_arguments().any(|arg| arg.get_long() == Some(flag)), "{flag}");
            }
        }
    }
}
