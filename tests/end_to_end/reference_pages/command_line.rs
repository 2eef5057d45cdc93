//! Pages of the command line and of the exit codes, from the help texts.

use super::markdown::{code, heading, sentence, table};
use crate::support::Workspace;

fn help_of(workspace: &Workspace, command: &[&str]) -> String {
    let arguments: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
    workspace.run(&arguments).expect_code(0).stdout
}

/// Returns the commands that the help of the program lists in groups.
fn commands(help: &str) -> Vec<String> {
    let list = help.split("\nOptions:\n").next().unwrap_or_default();
    names_in(list.split("\nUsage:").nth(1).unwrap_or_default().lines())
}

/// Returns the subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    names_in(list.lines().take_while(|line| !line.trim().is_empty()))
}

/// Returns the names at the beginning of indented lines.
fn names_in<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn add_command(workspace: &Workspace, command: &[&str], page: &mut String) {
    let help = help_of(workspace, command);
    let below = subcommands(&help);
    let name = command.iter().fold("gage-host".to_owned(), |name, part| format!("{name} {part}"));
    let (about, rest) = help.split_once("\n\n").unwrap_or((&help, ""));
    let about = about.lines().collect::<Vec<_>>().join(" ");
    page.push_str(&format!(
        "\n## {}\n\n{}\n\n```text\n{}\n```\n",
        code(&name),
        sentence(&about),
        rest.trim_end()
    ));
    for subcommand in below {
        let command: Vec<&str> = command.iter().copied().chain([subcommand.as_str()]).collect();
        add_command(workspace, &command, page);
    }
}

/// Returns the page of all commands and their options.
pub(super) fn page(workspace: &Workspace) -> String {
    let mut page = heading(
        "Command line",
        "`gage-host help COMMAND` prints the same text. Options that describe a machine can also be set by a \
         [variable](environment.md).",
    );
    for command in commands(&help_of(workspace, &[])) {
        add_command(workspace, &[&command], &mut page);
    }
    page
}

/// Returns the page of exit codes.
pub(super) fn exit_codes(workspace: &Workspace) -> String {
    let help = help_of(workspace, &[]);
    let list = help.split("Exit codes:\n").nth(1).expect("a list of exit codes");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        let (number, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
        match (number.parse::<u8>(), rows.last_mut()) {
            (Ok(_), _) => rows.push(vec![number.to_owned(), meaning.trim().to_owned()]),
            (Err(_), Some(last)) => last[1].push_str(&format!(" {}", line.trim())),
            (Err(_), None) => {}
        }
    }
    for row in &mut rows {
        row[1] = sentence(&row[1]);
    }
    let page = heading(
        "Exit codes",
        "A script or a CI job decides by the exit code. The numbers are stable. \
         [Outcomes and coverage](../concepts/outcomes.md) explains when a run is incomplete.",
    );
    format!("{page}\n{}", table(&["code", "meaning"], &rows))
}
