//! `gage-host demo`: writes the tiny suite that is part of the program, and runs it.

use super::{next_command, run, setup};
use crate::arguments::{Command, DemoArguments};
use crate::exit_code::ExitCode;
use crate::{environment, terminal};
use gage_suite::{SuiteError, write_new};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The suite, one of [`FILES`].
const SUITE: &str = "config/custom/tiny.yaml";

/// Embeds files of the repository, each with its path there.
macro_rules! repository_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../", $path)).as_slice())),*]
    };
}

/// The suite, its data, its model, and a weaker model to compare with. The demo has them at the same paths.
const FILES: &[(&str, &[u8])] = repository_files![
    "config/custom/tiny.yaml",
    "config/data/tiny/arithmetic.jsonl",
    "config/data/tiny/opposites.jsonl",
    "config/data/tiny/facts.jsonl",
    "config/data/tiny/comparison.jsonl",
    "config/models/gage-tiny.gguf",
    "config/models/gage-tiny-early.gguf",
];

pub(crate) fn execute(arguments: &DemoArguments) -> anyhow::Result<ExitCode> {
    let words = words_of_run(arguments);
    next_command::set_words(&words);
    let Command::Run(request) = environment::parse_words(words).command else {
        // The words are those of `run`.
        return Ok(ExitCode::Internal);
    };
    write_files(&arguments.dir)?;
    let code = run::execute(*request)?;
    if code == ExitCode::Done {
        print_further_commands(&arguments.dir);
    }
    Ok(code)
}

/// Returns the command line that runs the suite of the demo.
fn words_of_run(arguments: &DemoArguments) -> Vec<OsString> {
    let (suite, runs) = (arguments.dir.join(SUITE), arguments.dir.join("runs"));
    let mut words: Vec<OsString> =
        vec!["gage-host".into(), "run".into(), suite.into(), "--output-dir".into(), runs.into()];
    for (flag, is_given) in [("--json", arguments.print.json), ("--quiet", arguments.print.quiet)] {
        if is_given {
            words.push(flag.into());
        }
    }
    words
}

/// Writes the files that are missing. If a file exists with other contents, nothing is written.
fn write_files(folder: &Path) -> Result<(), ExitCode> {
    if fs::metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
        let message = format!("--dir: {} is not a folder", folder.display());
        return Err(terminal::usage_error(&message, Some("choose another folder; nothing was written")));
    }
    let mut missing: Vec<(PathBuf, &[u8])> = Vec::new();
    for (name, content) in FILES {
        let path = folder.join(name);
        match has_content(&path, content) {
            Ok(true) => {}
            Ok(false) => return Err(refuse_changed(folder, &path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push((path, *content)),
            Err(source) => return Err(setup::refuse_suite(SuiteError::Io { action: "read", path, source })),
        }
    }
    missing.iter().try_for_each(|(path, content)| write_new(path, content).map_err(setup::refuse_suite))
}

fn has_content(path: &Path, content: &[u8]) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    // Something else, such as a pipe, is not read.
    Ok(metadata.is_file() && metadata.len() == content.len() as u64 && fs::read(path)? == content)
}

fn refuse_changed(folder: &Path, path: &Path) -> ExitCode {
    let suite = folder.join(SUITE);
    let message = format!("{} exists, and differs from the file of the demo", path.display());
    let help = format!(
        "nothing was written; run your version with `gage-host run {}`, or choose another folder with --dir",
        terminal::shell_word(suite.display())
    );
    terminal::usage_error(&message, Some(&help))
}

/// Prints the commands that follow the demo. The end of the run has printed one that shows its samples.
fn print_further_commands(folder: &Path) {
    let suite = folder.join(SUITE);
    let suite = terminal::shell_word(suite.display());
    next_command::print(&format!("gage-host run {suite}   # again, after you edit it"));
    next_command::print("gage-host new   # asks for your own data, and writes a suite for it");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maximum size of the files in the program.
    const MAX_BYTES: usize = 3 << 20;

    #[test]
    fn demo_has_the_suite_and_stays_small() {
        assert!(FILES.iter().any(|(name, _)| *name == SUITE));
        let size: usize = FILES.iter().map(|(_, content)| content.len()).sum();
        assert!(size < MAX_BYTES, "{size} bytes");
    }
}
