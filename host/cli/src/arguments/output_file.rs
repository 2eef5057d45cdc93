//! Files that options write.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// Reads the path of a file to write. `-` is refused: it is usual for the standard output, which has the result of the
/// command.
pub(super) fn output_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path: PathBuf| match path.as_os_str() == "-" {
        true => Err("this option cannot write to the standard output; name a file"),
        false => Ok(path),
    })
}

#[cfg(test)]
mod tests {
    use crate::arguments::Arguments;
    use clap::Parser as _;

    #[test]
    fn a_dash_is_no_file() {
        for (command, option) in [
            (&["run", "a.yaml"][..], "--requests-out"),
            (&["run", "a.yaml"], "--record"),
            (&["report", "r"], "--output"),
            (&["export", "r", "--format", "csv"], "--out"),
            (&["new", "rows.jsonl"], "--output"),
        ] {
            let parsed = |file: &str| {
                let words = [&["gage-host"][..], command, &[option, file]].concat();
                Arguments::try_parse_from(words).map(drop).map_err(|error| error.to_string())
            };
            let message = parsed("-").expect_err("a dash");
            let expected = "this option cannot write to the standard output; name a file";
            assert!(message.contains(expected), "{option}: {message}");
            assert_eq!(parsed("./-"), Ok(()), "{option}");
        }
    }
}
