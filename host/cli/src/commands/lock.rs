//! `gage-host lock`: what a suite is made from, and what of it has changed. Also what `run` needs of locks.

use super::setup::{self, Variables};
use crate::arguments::{ConfigArguments, LockArguments};
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress};
use anyhow::Context as _;
use gage_backend::OpenOptions;
use gage_data::LocateOptions;
use gage_engine::{Datasets, Plan, Session, fetch_models, identity};
use gage_suite::{Lock, LockDifference, Origin, PluginPlaces, SuiteError};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Longest value of the table, in characters; of a digest; and how many of them stand before the place where two values part.
const MAX_VALUE_CHARS: usize = 48;
const DIGEST: usize = 23;
const BEFORE: usize = 8;

pub(crate) fn execute(arguments: LockArguments) -> anyhow::Result<ExitCode> {
    let arguments = &match arguments.resolved() {
        Ok(arguments) => arguments,
        Err((message, help)) => return Ok(terminal::usage_error(&message, Some(&help))),
    };
    let path = lock_path(&arguments.config.path(), arguments.lock.as_deref());
    let needs_lock = arguments.check || arguments.update.is_some();
    let before = match (needs_lock || path.exists()).then(|| Lock::read(&path)).transpose() {
        Ok(before) => before,
        Err(error) => return setup::refuse_suite(error),
    };
    let (mut found, datasets) = match look(arguments, before.as_ref())? {
        Ok(found) => found,
        Err(code) => return Ok(code),
    };
    let counted = match &before {
        Some(before) if arguments.check => found.take_rows(before, &datasets, true),
        _ => found.count_rows(&datasets),
    };
    if let Err(error) = counted {
        let code = terminal::usage_error(&error.to_string(), None);
        return Ok(before.as_ref().and_then(|before| changed(before, &found)).unwrap_or(code));
    }
    let Some(before) = before else {
        return write(arguments, &found, &path, "locked");
    };
    if before.suite() != found.suite() && !arguments.check {
        return Ok(of_another(&before, &found, &path));
    }
    match &arguments.update {
        None if !arguments.check => {
            let differing = before.differences(&found);
            if differing.is_empty() {
                return tell(arguments, &found, &path, "as it was");
            }
            if arguments.json {
                terminal::print_line(format_args!("{:#}", to_json(&differing)))?;
            }
            terminal::eprint_line(format_args!(
                "error: there is a lock {} already, and the suite is another than it says\n\n{}\n  help: take all of this \
                 over with --update, or a part of it with --update PART; the lock is as it was{}",
                path.display(),
                table(&differing),
                help_for_withheld(&differing)
            ));
            Ok(ExitCode::LockMismatch)
        }
        None => {
            let differing = before.differences(&found);
            if arguments.json {
                terminal::print_line(format_args!("{:#}", to_json(&differing)))?;
            } else if !differing.is_empty() {
                terminal::print_line(format_args!("{}{}", table(&differing), help_for_withheld(&differing)))?;
            } else if !arguments.quiet {
                terminal::print_line(format_args!("{}: nothing differs", path.display()))?;
            }
            Ok(if differing.is_empty() { ExitCode::Done } else { ExitCode::LockMismatch })
        }
        Some(part) if part.is_empty() => update(arguments, &before, &found, &path),
        Some(part) => match before.with_part(part, &found) {
            Ok(updated) => {
                let code = update(arguments, &before, &updated, &path)?;
                let left = updated.differences(&found);
                if !left.is_empty() {
                    terminal::eprint_line(format_args!("still different:\n{}", table(&left)));
                }
                Ok(code)
            }
            Err(error) => {
                let parts: Vec<&str> = Lock::part_names().collect();
                let help = format!("parts are {}, and below them a name: datasets.ID", parts.join(", "));
                Ok(terminal::usage_error(&error.to_string(), Some(&help)))
            }
        },
    }
}

/// Writes a lock in the place of another, and nothing where the two are one.
fn update(arguments: &LockArguments, before: &Lock, lock: &Lock, path: &Path) -> anyhow::Result<ExitCode> {
    match before == lock {
        true => tell(arguments, lock, path, "as it was, nothing written"),
        false => write(arguments, lock, path, "updated"),
    }
}

fn write(arguments: &LockArguments, lock: &Lock, path: &Path, what: &str) -> anyhow::Result<ExitCode> {
    match lock.write(path) {
        Ok(()) => tell(arguments, lock, path, what),
        Err(error) => setup::refuse_suite(error),
    }
}

fn tell(arguments: &LockArguments, lock: &Lock, path: &Path, what: &str) -> anyhow::Result<ExitCode> {
    if arguments.json {
        terminal::print_line(format_args!(
            "{:#}",
            json!({"path": path.display().to_string(), "suite": lock.suite()})
        ))?;
    } else if !arguments.quiet {
        let config = arguments.config.path();
        let mut next = format!("gage-host run {} --locked", terminal::shell_word(config.display()));
        if let Some(named) = &arguments.lock {
            next.push_str(&format!(" --lock {}", terminal::shell_word(named.display())));
        }
        for folder in &arguments.config.plugin_folders {
            next.push_str(&format!(" --plugin-dir {}", terminal::shell_word(folder.display())));
        }
        // What they set may be a secret.
        if !arguments.config.overrides.is_empty() {
            next.push_str(", with the same --set");
        }
        terminal::print_line(format_args!("{}: {what}\nnext: {next}", path.display()))?;
    }
    Ok(ExitCode::Done)
}

/// Finds everything that a suite is made from. The inner error is the code of what was said already.
fn look(
    arguments: &LockArguments,
    before: Option<&Lock>,
) -> anyhow::Result<Result<(Lock, Datasets), ExitCode>> {
    setup::logs(crate::arguments::DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let variables = Variables::default();
    let overrides = setup::overrides(&arguments.config, &variables);
    let loaded = setup::loaded(&arguments.config.path(), &overrides, &variables, false);
    let mut problems = loaded.problems;
    let why = || before.and_then(|before| unusable(before, &arguments.config, &overrides, &variables));
    let mut registry = match setup::registry(&arguments.config.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => {
            let code = terminal::usage_error(&error.to_string(), error.help().as_deref());
            return Ok(Err(why().unwrap_or(code)));
        }
    };
    let plan = loaded.config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let cache_folder = setup::cache_folder();
    let fetching = FetchProgress::new(arguments.quiet);
    let locating = LocateOptions {
        with_digests: true,
        cache_folder: cache_folder.as_deref(),
        is_offline: arguments.offline,
        progress: &fetching,
        is_cancelled: &|| false,
    };
    let datasets = plan.as_ref().and_then(|plan| Datasets::locate(plan, &locating, &mut problems));
    let hub = setup::model_hub();
    let models = plan.as_ref().and_then(|plan| fetch_models(plan, &hub, &locating, &mut problems));
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let session = match (&plan, &datasets, models) {
        (Some(plan), Some(_), Some(model_files)) => {
            let opening = setup::opening(crate::arguments::DEFAULT_LOG);
            let opening = OpenOptions { model_files, ..opening };
            runtime.block_on(Session::open(plan, &registry, &opening, &mut problems))
        }
        _ => None,
    };
    terminal::show_problems(&problems);
    let (Some(plan), Some(datasets), Some(session), Some(origin)) = (plan, datasets, session, loaded.origin)
    else {
        return Ok(Err(why().unwrap_or(ExitCode::Configuration)));
    };
    let identity = identity(&plan, &datasets, &session);
    match of_suite(&arguments.config.path(), &overrides, &variables, &origin, &identity) {
        Ok(lock) => Ok(Ok((lock, datasets))),
        Err(error) => Ok(Err(setup::refuse_suite(error)?)),
    }
}

/// The lock of a suite of which everything was found.
pub(super) fn of_suite(
    path: &Path,
    overrides: &[String],
    variables: &Variables,
    origin: &Origin,
    identity: &Value,
) -> Result<Lock, SuiteError> {
    Lock::new(path, overrides, &|name| variables.get(name), origin, identity)
}

/// Where the lock of a suite lies: beside it, under its name.
pub(super) fn lock_path(config: &Path, given: Option<&Path>) -> PathBuf {
    match given {
        Some(path) => path.to_owned(),
        None => config.with_extension("gage.lock"),
    }
}

/// Compares what a run is made from with what was locked. Gives the code of what was said where it differs.
pub(super) fn compare(
    locked: &Lock,
    found: &mut Lock,
    datasets: &Datasets,
    path: &Path,
    max_samples: Option<u64>,
    is_replay: bool,
) -> Option<ExitCode> {
    if let Err(error) = found.take_rows(locked, datasets, false) {
        let code = terminal::usage_error(&error.to_string(), None);
        return Some(changed(locked, found).unwrap_or(code));
    }
    if locked.suite() != found.suite() {
        return Some(of_another(locked, found, path));
    }
    if is_replay {
        found.take_unset(locked);
    }
    let mut differing = locked.differences(found);
    differing.extend(max_samples.map(|most| LockDifference {
        field: "--max-samples".to_owned(),
        locked: None,
        found: Some(most.into()),
    }));
    if differing.is_empty() {
        return None;
    }
    terminal::eprint_line(format_args!(
        "error: the suite is another than the one that was locked in {}\n\n{}\n  help: go back to what was locked; or look at it \
         with `gage-host lock SUITE --check`, and take it over with `gage-host lock SUITE --update`{}",
        path.display(),
        table(&differing),
        help_for_withheld(&differing)
    ));
    Some(ExitCode::LockMismatch)
}

/// Shows what of a suite that cannot be used is another than what was locked. Nothing where that is not the reason.
pub(super) fn unusable(
    locked: &Lock,
    config: &ConfigArguments,
    overrides: &[String],
    variables: &Variables,
) -> Option<ExitCode> {
    let places = PluginPlaces { folders: &config.plugin_folders, is_bundled: &setup::is_bundled };
    show(&locked.unusable(&config.path(), overrides, &|name| variables.get(name), &places))
}

/// Shows what of a suite is another than what was locked, of which a dataset cannot be read to its end.
fn changed(locked: &Lock, found: &Lock) -> Option<ExitCode> {
    if locked.suite() == found.suite() { show(&locked.differences(found)) } else { None }
}

fn show(differing: &[LockDifference]) -> Option<ExitCode> {
    (!differing.is_empty()).then(|| {
        terminal::eprint_line(format_args!("\n{}{}", table(differing), help_for_withheld(differing)));
        ExitCode::LockMismatch
    })
}

/// What to do about values that nobody may see, where one is another; begins with a line break.
fn help_for_withheld(differing: &[LockDifference]) -> &'static str {
    match differing.iter().any(|one| one.field.starts_with("settings.withheld")) {
        true => {
            "\n  help: `settings.withheld` holds digests of values that are not written down: set the variable of such a value to \
             what it was; or, where it was meant to change, take it over with `gage-host lock SUITE --update settings`. Keys that \
             only say who asks belong into `api_key` or `headers`, which no lock pins"
        }
        false => "",
    }
}

fn of_another(locked: &Lock, found: &Lock, path: &Path) -> ExitCode {
    let message = format!(
        "the lock {} is of the suite `{}`, and this is `{}`",
        path.display(),
        locked.suite(),
        found.suite()
    );
    terminal::usage_error(
        &message,
        Some("name the right one with --lock, or make one with `gage-host lock`"),
    );
    ExitCode::LockMismatch
}

fn to_json(differing: &[LockDifference]) -> Value {
    let one = |one: &LockDifference| json!({"field": one.field, "locked": one.locked, "found": one.found});
    json!({"differences": differing.iter().map(one).collect::<Vec<_>>()})
}

/// What differs, for people: field, locked, found.
fn table(differing: &[LockDifference]) -> String {
    let rows: Vec<[String; 3]> = differing
        .iter()
        .map(|one| {
            let [locked, found] = sides(one.locked.as_ref(), one.found.as_ref());
            [gage_core::printable_line(&one.field).to_string(), locked, found]
        })
        .collect();
    terminal::columns(["field", "locked", "found"], &rows)
}

/// Two values as far as they fit, from a little before the place where they part. Texts that differ only in what nobody sees
/// are quoted.
fn sides(locked: Option<&Value>, found: Option<&Value>) -> [String; 2] {
    let spelled = |value: Option<&Value>| match value {
        None => "(nothing)".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let mut texts = [spelled(locked), spelled(found)];
    let seen = |text: &String| {
        text.chars().filter(|one| !one.is_whitespace() && !one.is_control()).collect::<String>()
    };
    if let (Some(locked), Some(found)) = (locked, found)
        && seen(&texts[0]) == seen(&texts[1])
    {
        texts = [locked.to_string(), found.to_string()];
    }
    let [one, other] = &texts;
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    texts.map(|text| short(&text, common))
}

/// Of a text what fits, in which the character of this number, from 0, is to be seen.
fn short(text: &str, shown: usize) -> String {
    // Of a digest the beginning tells as much as the whole.
    if text.starts_with("sha256:") && shown < DIGEST {
        return text.chars().take(DIGEST).chain(['…']).collect();
    }
    let from = if shown + BEFORE < MAX_VALUE_CHARS { 0 } else { shown - BEFORE };
    let mut out = if from > 0 { "…".to_owned() } else { String::new() };
    let mut rest = text.chars().skip(from);
    out.extend(rest.by_ref().take(MAX_VALUE_CHARS));
    if rest.next().is_some() {
        out.push('…');
    }
    gage_core::printable_line(&out).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_values_are_shown_where_they_part() {
        let digest = |last: char| format!("sha256:{}{last}", "a".repeat(63));
        let long = |end: &str| format!("{}{end}", "word ".repeat(40));
        for (locked, found, expected) in [
            (Value::from(1), Value::from("1"), ["1", "\"1\""]),
            (Value::from("a"), Value::from("b"), ["a", "b"]),
            (Value::from("a b"), Value::from("a  b"), ["\"a b\"", "\"a  b\""]),
            (Value::from("a"), Value::from("a\n"), ["\"a\"", "\"a\\n\""]),
            (
                Value::from(long("old")),
                Value::from(long("new and more than there is room for in a column of the table")),
                ["…rd word old", "…rd word new and more than there is room for in a…"],
            ),
        ] {
            assert_eq!(sides(Some(&locked), Some(&found)), expected.map(str::to_owned));
        }
        assert_eq!(sides(None, Some(&Value::Null)), ["(nothing)", "null"].map(str::to_owned));
        let [one, other] = sides(Some(&digest('a').into()), Some(&digest('b').into()));
        assert_ne!(one, other);
    }
}
