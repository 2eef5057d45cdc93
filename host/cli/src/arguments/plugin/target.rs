//! A component on the command line: a file, or a package of a registry.

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use gage_core::{OciReference, OciReferenceError};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A component that a command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ComponentTarget {
    /// A file, the folder of a project, or the name of a built-in component.
    File(PathBuf),
    /// A package of a registry.
    Package(OciReference),
}

/// Reads a file or a reference: `oci://` begins a reference.
pub(super) fn component_target() -> impl TypedValueParser<Value = ComponentTarget> {
    TargetParser
}

/// Reads a reference.
pub(super) fn package_reference() -> impl TypedValueParser<Value = OciReference> {
    ReferenceParser
}

#[derive(Clone)]
struct TargetParser;

impl TypedValueParser for TargetParser {
    type Value = ComponentTarget;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ComponentTarget, clap::Error> {
        match value.to_str().filter(|text| OciReference::is_reference(text)) {
            Some(_) => ReferenceParser.parse_ref(command, argument, value).map(ComponentTarget::Package),
            None => PathBufValueParser::new().parse_ref(command, argument, value).map(ComponentTarget::File),
        }
    }
}

/// Unlike that of a parser from clap, its message does not repeat the whole text, which may have a password.
#[derive(Clone)]
struct ReferenceParser;

impl TypedValueParser for ReferenceParser {
    type Value = OciReference;

    fn parse_ref(
        &self,
        command: &Command,
        _argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OciReference, clap::Error> {
        value.to_string_lossy().parse().map_err(|error: OciReferenceError| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n")).with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::command;

    fn parsed(arguments: &[&str]) -> Result<(), String> {
        let words = ["gage-host", "plugin"].into_iter().chain(arguments.iter().copied());
        command(&|_| None).try_get_matches_from(words).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn packages_are_told_from_files_by_their_scheme() {
        let reference = "oci://registry.example/metrics/word-recall:0.1.0";
        for arguments in [
            &["inspect", "recall.wasm"][..],
            &["inspect", reference],
            &["sign", "--key", "team.key", reference],
            &["verify", "--key", "a.pub", "--key", "b.pub", "recall.wasm"],
            &["push", "recall.wasm", reference],
            &["pull", reference, "-o", "recall.wasm"],
            &["export", "-o", "plugins.tar"],
            &["import", "plugins.tar"],
        ] {
            assert_eq!(parsed(arguments), Ok(()), "{arguments:?}");
        }
    }

    #[test]
    fn references_need_a_scheme_and_a_tag_or_a_digest() {
        for arguments in [
            &["inspect", "oci://registry.example/metrics/word-recall"][..],
            &["verify", "oci://registry.example"],
            &["pull", "registry.example/metrics/word-recall:0.1.0"],
            &["push", "recall.wasm", "recall:0.1.0"],
        ] {
            let message = parsed(arguments).expect_err("an incomplete reference");
            assert!(message.contains("oci://"), "{arguments:?}: {message}");
        }
    }

    #[test]
    fn archives_are_not_written_to_the_standard_output() {
        for arguments in [&["export", "-o", "-"][..], &["pull", "oci://registry.example/a/b:1", "-o", "-"]] {
            let message = parsed(arguments).expect_err("a dash");
            assert!(message.contains("cannot write to the standard output"), "{arguments:?}: {message}");
        }
    }
}
