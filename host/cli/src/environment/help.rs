//! The help of the program: its commands in groups, and the usual options of `run`.

use crate::terminal::{width, wrap};
use clap::Command;

/// The commands in groups, each with its heading.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Evaluate", &["demo", "new", "validate", "plan", "run", "eval", "launch", "merge", "score"]),
    ("See results", &["view", "report", "samples", "compare", "runs", "export"]),
    ("Know the parts", &["suites", "list", "metrics", "data", "model", "judge", "schema"]),
    ("Freeze and check", &["distill", "init", "lock", "verify"]),
    ("Extend and convert", &["plugin", "import"]),
    ("This program", &["doctor", "env", "completions", "help"]),
];

const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

const SHORT_END: &str = "`gage-host --help` explains the commands, and `gage-host COMMAND -h` one of them.";

/// Maximum width of the list of commands.
const MAX_COLUMNS: usize = 100;
/// Minimum width of the list of commands.
const MIN_COLUMNS: usize = 60;

/// Options that `run -h` shows; `run --help` shows all.
const RUN_OPTIONS_OF_SHORT_HELP: [&str; 10] = [
    "config",
    "overrides",
    "models",
    "concurrency",
    "max_samples",
    "output_dir",
    "run_id",
    "resume",
    "json",
    "quiet",
];

/// Lists the commands of the program in groups: by name in the short help, and with descriptions in the long one.
pub(super) fn with_groups(command: Command) -> Command {
    let long = described_groups(&command, width().clamp(MIN_COLUMNS, MAX_COLUMNS));
    command.help_template(TEMPLATE).before_help(named_groups()).before_long_help(long).after_help(SHORT_END)
}

/// Hides the rare options of `run` from its short help.
pub(super) fn with_usual_options(command: Command) -> Command {
    command.mut_args(|arg| {
        let is_usual = RUN_OPTIONS_OF_SHORT_HELP.contains(&arg.get_id().as_str());
        arg.hide_short_help(!is_usual)
    })
}

fn named_groups() -> String {
    let indent = GROUPS.iter().map(|(heading, _)| heading.len()).max().unwrap_or_default() + 2;
    let line = |(heading, names): &(&str, &[&str])| format!("  {heading:<indent$}{}", names.join(", "));
    GROUPS.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn described_groups(command: &Command, columns: usize) -> String {
    let names = || GROUPS.iter().flat_map(|(_, names)| *names);
    let indent = names().map(|name| name.len()).max().unwrap_or_default() + 4;
    let about = |name: &str| match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        None => "Print this help, or the help of a command".to_owned(),
    };
    let described = |name: &&str| {
        let parts = wrap(&about(name), columns.saturating_sub(indent));
        let mut lines = parts.iter().enumerate().map(|(number, part)| {
            let name = if number == 0 { format!("  {name}") } else { String::new() };
            format!("{name:<indent$}{part}").trim_end().to_owned()
        });
        let first = lines.next().unwrap_or_default();
        lines.fold(first, |text, line| format!("{text}\n{line}"))
    };
    let group = |(heading, names): &(&str, &[&str])| {
        let lines: Vec<String> = names.iter().map(described).collect();
        format!("{heading}:\n{}", lines.join("\n"))
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn every_command_is_in_one_group() {
        let command = command(&|_| None);
        let visible = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let mut expected: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        let mut found: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        expected.sort_unstable();
        expected.dedup();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_short_help_fits_one_screen() {
        let mut command = command(&|_| None);
        let short = command.render_help().to_string();
        assert!(short.lines().count() <= 24, "{short}");
        let long = command.render_long_help().to_string();
        assert!(long.contains("Exit codes:") && long.contains("Evaluate:\n  demo "), "{long}");
        command.build();
        let run = command.find_subcommand_mut("run").expect("the command");
        let short = run.render_help().to_string();
        assert!(short.lines().count() <= 40, "{short}");
        assert!(short.contains("--max-samples") && !short.contains("--retry"), "{short}");
        assert!(run.render_long_help().to_string().contains("--retry"));
    }

    #[test]
    fn usual_options_exist() {
        let command = command(&|_| None);
        let run = command.find_subcommand("run").expect("the command");
        let exists = |id: &&str| run.get_arguments().any(|arg| arg.get_id().as_str() == *id);
        let missing: Vec<&str> = RUN_OPTIONS_OF_SHORT_HELP.into_iter().filter(|id| !exists(id)).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn no_line_of_the_list_is_wider_than_its_columns() {
        let command = command(&|_| None);
        for columns in [60, 80, 100] {
            let list = described_groups(&command, columns);
            assert!(list.lines().all(|line| line.width() <= columns), "{columns}\n{list}");
        }
    }
}
