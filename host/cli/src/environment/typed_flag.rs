//! Names of flags in errors.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use std::ffi::OsString;

/// Names the flag of an error by its alias, if that was typed.
pub(super) fn name_as_typed(command: &Command, words: &[OsString], error: &mut clap::Error) {
    fn aliases(command: &Command, long: &str) -> Vec<String> {
        let own = command.get_arguments().filter(|arg| arg.get_long() == Some(long));
        let own = own.filter_map(Arg::get_visible_aliases).flatten().map(str::to_owned);
        own.chain(command.get_subcommands().flat_map(|command| aliases(command, long))).collect()
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(long) = flag.split([' ', '=', '[']).next().and_then(|name| name.strip_prefix("--")) else {
        return;
    };
    let is_typed = |name: &str| {
        let mut typed = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--")?.split('=').next());
        typed.any(|typed| typed == name)
    };
    let alias = aliases(command, long).into_iter().find(|alias| !is_typed(long) && is_typed(alias));
    if let Some(alias) = alias {
        let flag = flag.replacen(long, &alias, 1);
        error.insert(ContextKind::InvalidArg, ContextValue::String(flag));
    }
}
