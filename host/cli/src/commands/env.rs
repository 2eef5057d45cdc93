//! `gage-host env`: lists the environment variables that the program reads.

use crate::arguments::EnvArguments;
use crate::environment::{self, LEGACY_VARIABLES, LegacyReplacement, foreign_variables};
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use clap::{Arg, Command};
use serde::Serialize;
use std::collections::BTreeMap;

/// Parts of names whose values are hidden.
const SECRETS: [&str; 7] =
    ["TOKEN", "SECRET", "PASSWORD", "HEADERS", "API_KEY", "CUSTOMER_KEY", "CREDENTIAL"];

/// A listed variable.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Variable {
    name: String,
    /// The corresponding flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<String>,
    /// Commands that support it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
    meaning: String,
    default: Option<String>,
    /// The value that is set; `(hidden)` for a secret.
    value: Option<String>,
    /// The variable, flag or key that takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<String>,
    /// The reason why it has no effect, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_effect: Option<String>,
}

pub(crate) fn execute(arguments: &EnvArguments) -> anyhow::Result<ExitCode> {
    let groups = groups(&environment::variable).map(|(heading, variables)| {
        let is_listed = |variable: &Variable| !arguments.quiet || variable.value.is_some();
        (heading, variables.into_iter().filter(is_listed).collect::<Vec<_>>())
    });
    if arguments.json {
        let json: serde_json::Map<String, serde_json::Value> = groups
            .iter()
            .map(|((key, _), variables)| Ok(((*key).to_owned(), serde_json::to_value(variables)?)))
            .collect::<serde_json::Result<_>>()?;
        terminal::print_json(format_args!("{:#}", serde_json::Value::Object(json)))?;
    } else {
        terminal::print_line(render(&groups, &Style::of_stdout()).trim_end())?;
    }
    Ok(ExitCode::Done)
}

type Group = ((&'static str, &'static str), Vec<Variable>);

/// Returns the variables of flags, of gage-eval, and others, each group with its JSON key and its heading.
fn groups(variable: &dyn Fn(&str) -> Option<String>) -> [Group; 3] {
    let value = |name: &str| variable(name).map(|value| shown(name, &value));
    let mut of_flags = BTreeMap::new();
    // Built without any set variables, so that each flag keeps its own name.
    collect(&environment::command(&|_| None), "", &mut of_flags);
    for (name, variable) in &mut of_flags {
        variable.value = value(name);
    }
    let of_suites = LEGACY_VARIABLES.iter().filter_map(|legacy| match legacy.successor {
        LegacyReplacement::Suite { name: Some(name), list, key, .. } => {
            let meaning = format!("{} ({list}[].{key})", legacy.meaning);
            Some(listed(name, &meaning, legacy.default, value(name)))
        }
        _ => None,
    });
    let mut own: Vec<Variable> = of_flags.into_values().collect();
    own.extend(of_suites);
    own.sort_by(|one, two| one.name.cmp(&two.name));
    let legacy = LEGACY_VARIABLES.iter().map(|legacy| {
        let mut variable = listed(legacy.name, legacy.meaning, legacy.default, value(legacy.name));
        match legacy.successor {
            LegacyReplacement::Flag(long) => {
                let flag = format!("--{long}");
                let of_flag = own.iter().find(|variable| variable.flag.as_ref() == Some(&flag));
                variable.successor = Some(of_flag.map_or(flag, |variable| variable.name.clone()));
            }
            LegacyReplacement::Variable(name) | LegacyReplacement::Suite { name: Some(name), .. } => {
                variable.successor = Some(name.to_owned());
            }
            LegacyReplacement::Suite { name: None, list, key, .. } => {
                variable.successor = Some(format!("{list}[].{key}"));
            }
            LegacyReplacement::None(reason) => variable.no_effect = Some(reason.to_owned()),
            LegacyReplacement::Itself => {}
        }
        variable
    });
    let legacy: Vec<Variable> = legacy.collect();
    let others =
        foreign_variables().map(|[name, default, meaning]| listed(name, meaning, default, value(name)));
    [
        (("flags", "Of flags and of suites; the command line and the suite take precedence"), own),
        (("gage_eval", "Of gage-eval; read if the successor is not set"), legacy),
        (("others", "Others"), others.collect()),
    ]
}

fn listed(name: &str, meaning: &str, default: &str, value: Option<String>) -> Variable {
    Variable {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
        default: Some(default).filter(|default| !default.is_empty()).map(str::to_owned),
        value,
        ..Variable::default()
    }
}

/// Collects the variables for the flags of a command and its subcommands.
fn collect(command: &Command, path: &str, variables: &mut BTreeMap<String, Variable>) {
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let (Some(long), Some(name)) = (arg.get_long(), arg.get_env()) else { continue };
        let name = name.to_string_lossy().into_owned();
        let variable = variables.entry(name.clone()).or_insert_with(|| {
            let mut variable = listed(&name, &meaning_of(arg), &default_of(arg), None);
            variable.flag = Some(format!("--{long}"));
            variable
        });
        if !path.is_empty() {
            variable.commands.push(path.to_owned());
        }
    }
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let path = format!("{path} {}", command.get_name());
        collect(command, path.trim(), variables);
    }
}

fn meaning_of(arg: &Arg) -> String {
    arg.get_help().map(|help| help.to_string().trim_end_matches('.').to_owned()).unwrap_or_default()
}

fn default_of(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_default_values().iter().filter(|_| takes_value);
    values.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",")
}

/// Formats a value for display, without secrets and control characters.
fn shown(name: &str, value: &str) -> String {
    if SECRETS.iter().any(|part| name.contains(part)) {
        return "(hidden)".to_owned();
    }
    gage_core::printable_line(&without_password(value)).into_owned()
}

/// Removes the user part of an address, which may contain a password, and its query.
fn without_password(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else {
        // Proxies may be written without a scheme.
        return match value.rsplit_once('@') {
            Some((user, host)) if user.contains(':') => format!("(hidden)@{host}"),
            _ => value.to_owned(),
        };
    };
    // A password may contain any character, including a question mark and an @.
    let behind = rest.rfind('@').unwrap_or(0);
    let query = rest.get(behind..).and_then(|rest| rest.find('?')).map(|at| behind + at);
    let (place, query) = query.map_or((rest, ""), |at| (rest.get(..at).unwrap_or_default(), "?(hidden)"));
    let host = place.rfind('@').map_or(0, |at| at + 1);
    let before = if host > 0 { "(hidden)@" } else { "" };
    format!("{scheme}://{before}{}{query}", place.get(host..).unwrap_or_default())
}

fn render(groups: &[Group], style: &Style) -> String {
    let all = || groups.iter().flat_map(|(_, variables)| variables);
    let width = all().map(|variable| variable.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for ((_, heading), variables) in groups.iter().filter(|(_, variables)| !variables.is_empty()) {
        text.push_str(&format!("{}\n", style.bold(&terminal::wrapped(heading, 2))));
        for variable in variables {
            let mut notes = Vec::new();
            notes.extend(variable.flag.clone());
            notes.extend(variable.successor.as_ref().map(|successor| format!("now {successor}")));
            notes.extend(variable.no_effect.as_ref().map(|reason| format!("no effect: {reason}")));
            notes.extend(variable.default.as_ref().map(|default| format!("default {default}")));
            let notes =
                if notes.is_empty() { String::new() } else { style.dim(&format!(" ({})", notes.join("; "))) };
            let beside =
                |name: &str, about: &str| terminal::beside(&format!("  {name:width$}  "), about) + "\n";
            text.push_str(&beside(&variable.name, &format!("{}{notes}", variable.meaning)));
            if let Some(value) = &variable.value {
                text.push_str(&beside("", &style.bold(&format!("= {value}"))));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_not_shown() {
        let cases = [
            (
                "GAGE_HOST_REPORT_HTTP_URL",
                "https://user:hunter2@host/a?key=hunter2",
                "https://(hidden)@host/a?(hidden)",
            ),
            ("GAGE_HOST_OTLP_ENDPOINT", "http://host:4318", "http://host:4318"),
            ("HTTPS_PROXY", "user:hunter2@proxy:3128", "(hidden)@proxy:3128"),
            ("HF_TOKEN", "hunter2", "(hidden)"),
            ("AWS_SSE_CUSTOMER_KEY_BASE64", "hunter2", "(hidden)"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2", "(hidden)"),
            ("GAGE_HOST_OUTPUT_DIR", "a\x1b[2J", "a\\u{1b}[2J"),
        ];
        for (name, value, expected) in cases {
            assert_eq!(shown(name, value), expected);
        }
    }

    proptest! {
        #[test]
        fn no_password_of_an_address_is_shown(user in "[a-z]{1,4}", password in "[!-~]{8,12}", path in "[a-z/]{0,6}") {
            prop_assume!(!password.contains("://"));
            let text = shown("GAGE_HOST_REPORT_HTTP_URL", &format!("https://{user}:{password}@host/{path}"));
            prop_assert!(!text.contains(&password), "{text}");
        }
    }

    #[test]
    fn the_documented_variables_are_those_that_are_read() {
        let page = include_str!("../../../../docs/reference/environment.md");
        let given = |_: &str| None;
        let all = groups(&given);
        let mut read: Vec<&str> =
            all.iter().flat_map(|(_, variables)| variables).map(|variable| variable.name.as_str()).collect();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let mut documented: Vec<&str> = rows.collect();
        read.sort_unstable();
        documented.sort_unstable();
        assert_eq!(documented, read, "docs/reference/environment.md differs from the program");
    }

    #[test]
    fn few_variables_of_flags_remain() {
        let [(_, of_flags), ..] = groups(&|_| None);
        let own = of_flags.iter().filter(|variable| variable.name.starts_with("GAGE_HOST_")).count();
        assert!((20..=27).contains(&own), "{own}: a variable describes an environment, not a run");
    }
}
