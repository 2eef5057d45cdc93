//! The command that continues a run, ready to be pasted into a shell.

use crate::terminal::shell_word;

/// Returns the command that continues a run: that of this process, with `--resume`.
pub(super) fn resume_command(run_id: &str) -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    gage_secrets::redact(&continued(&words, run_id)).into_owned()
}

/// Returns the command of these words, with `--resume`. Commands other than `run` say nothing about the suite.
fn continued(words: &[String], run_id: &str) -> String {
    let run_id = shell_word(run_id);
    let arguments = match words {
        [_, command, arguments @ ..] if command == "run" => arguments,
        _ => return format!("`gage-host run SUITE --run-id {run_id} --resume`"),
    };
    let is_resumed = arguments.iter().any(|word| word == "--resume" || word.starts_with("--resume="));
    let mut kept = String::from("gage-host run");
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--run-id" if !is_resumed => {
                arguments.next();
            }
            word if word.starts_with("--run-id=") && !is_resumed => {}
            word => {
                kept.push(' ');
                kept.push_str(&shell_word(word));
            }
        }
    }
    // A command that resumes a run does so again.
    match is_resumed {
        true => format!("`{kept}`"),
        false => format!("`{kept} --run-id {run_id} --resume`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_of_the_run_with_its_id() {
        for (words, expected) in [
            ("gage-host run a.yaml", "`gage-host run a.yaml --run-id r --resume`"),
            ("/bin/gage-host run a.yaml --run-id r -j 4", "`gage-host run a.yaml -j 4 --run-id r --resume`"),
            ("gage-host run --run-id=r a.yaml", "`gage-host run a.yaml --run-id r --resume`"),
            ("gage-host run a.yaml --set x=$y", "`gage-host run a.yaml --set 'x=$y' --run-id r --resume`"),
            ("gage-host run a.yaml --run-id r --resume", "`gage-host run a.yaml --run-id r --resume`"),
            ("gage-host run a.yaml --resume runs/r", "`gage-host run a.yaml --resume runs/r`"),
            ("gage-host judge r", "`gage-host run SUITE --run-id r --resume`"),
            ("gage-host", "`gage-host run SUITE --run-id r --resume`"),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(continued(&words, "r"), expected, "{words:?}");
        }
    }
}
