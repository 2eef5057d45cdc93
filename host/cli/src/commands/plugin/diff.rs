//! `gage-host plugin diff`: compares two components, and their results for the same items.

mod items;

use super::package::read_package;
use super::registry_plugins::{check_address, check_trust};
use super::{file_of, load_described, refuse_load, refuse_tool};
use crate::arguments::{ComponentTarget, PluginDiffArguments};
use crate::commands::compare::{located, refuse_run};
use crate::commands::permissions::trust;
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{OciReference, printable_line, shortened};
use gage_packages::PackageOrigin;
use gage_plugin::{AnyComponent, ComponentSummary, InstanceSetup, summarise};
use gage_plugin_tools::{
    DescriptionChange, ItemDifference, MemberComparison, ScoreComparison, description_changes, read_cases,
};
use gage_record::RunReader;
use items::add_samples;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of differences that are shown, of the description and of each member.
const MAX_SHOWN: usize = 40;

/// Maximum number of differences of items that are shown for each member.
const MAX_SHOWN_ITEMS: usize = 10;

/// Maximum length of a shown value, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// A component with the name by which it was given.
struct NamedComponent {
    name: String,
    summary: ComponentSummary,
    component: AnyComponent,
}

pub(super) fn diff(arguments: &PluginDiffArguments) -> anyhow::Result<ExitCode> {
    let before = loaded(&arguments.before, arguments)?;
    let after = loaded(&arguments.after, arguments)?;
    let changes = description_changes(&before.component, &after.component);
    let compared = match &arguments.items {
        Some(items) => compared_items(items, &before, &after, arguments)?,
        None => None,
    };
    if arguments.print.json {
        let answer = json!({
            "before": about(&before),
            "after": about(&after),
            "changes": changes,
            "members": compared,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
        return Ok(ExitCode::Done);
    }
    show_changes(&before, &after, &changes)?;
    let world = before.summary.world;
    match compared {
        Some(members) => members.iter().try_for_each(show_member)?,
        None if arguments.items.is_some() && world != after.summary.world => {
            terminal::print_line("\nthe kinds differ, so only the descriptions were compared")?;
        }
        None if arguments.items.is_some() => terminal::print_line(format_args!(
            "\nonly the descriptions were compared: items are scored by metrics and extractors, not by plugins of the kind `{world}`"
        ))?,
        None => {}
    }
    Ok(ExitCode::Done)
}

fn about(component: &NamedComponent) -> Value {
    json!({"name": component.name, "sha256": component.summary.digest.hex(), "size": component.summary.size})
}

/// Loads a component for its description, without grants.
fn loaded(target: &ComponentTarget, arguments: &PluginDiffArguments) -> anyhow::Result<NamedComponent> {
    match target {
        ComponentTarget::File(path) => {
            let file = file_of(Some(path))?;
            let (summary, component) = load_described(&file, arguments.print.quiet)?;
            Ok(NamedComponent { name: file.display().to_string(), summary, component })
        }
        ComponentTarget::Package(reference) => loaded_package(reference, arguments),
    }
}

fn loaded_package(
    reference: &OciReference,
    arguments: &PluginDiffArguments,
) -> anyhow::Result<NamedComponent> {
    let trust = trust()?;
    let quiet = arguments.print.quiet;
    check_address(&trust, reference)?;
    let package = read_package(reference, arguments.offline, quiet)?;
    let origin = PackageOrigin::Registry(&package.reference);
    check_trust(&trust, origin, &package.subject(), &package.signatures)?;
    let (name, bytes) = (reference.to_string(), &package.component);
    let summary = summarise(&name, bytes).map_err(|error| refuse_load(&error))?;
    let host = setup::plugin_host(quiet, false)?;
    let setup = InstanceSetup { is_only_described: true, ..InstanceSetup::default() };
    let component = AnyComponent::load(&host, &name, bytes, &setup).map_err(|error| refuse_load(&error))?;
    Ok(NamedComponent { name, summary, component })
}

/// Scores items with both components. `None` if their kind scores none.
fn compared_items(
    items: &Path,
    before: &NamedComponent,
    after: &NamedComponent,
    arguments: &PluginDiffArguments,
) -> anyhow::Result<Option<Vec<MemberComparison>>> {
    let Some(mut comparison) = ScoreComparison::new(&before.component, &after.component) else {
        return Ok(None);
    };
    if items.is_file() {
        let cases = read_cases(items, before.summary.world).map_err(|error| refuse_tool(&error))?;
        comparison.add(&cases);
    } else {
        let folder = located(items, &arguments.output_dir);
        let refuse = |error| refuse_run(error, items, &arguments.output_dir);
        let run = RunReader::open(&folder).map_err(refuse)?;
        let samples = run.samples().map_err(refuse)?;
        let config = &run.manifest().identity.config;
        add_samples(&mut comparison, samples, config, &before.component, &after.component).map_err(refuse)?;
    }
    Ok(Some(comparison.finish()))
}

fn show_changes(
    before: &NamedComponent,
    after: &NamedComponent,
    changes: &[DescriptionChange],
) -> anyhow::Result<()> {
    let name = |component: &NamedComponent| format!("{}  {}", component.name, component.summary.digest);
    terminal::print_line(format_args!("before  {}\nafter   {}\n", name(before), name(after)))?;
    if changes.is_empty() {
        let what = match before.summary.digest == after.summary.digest {
            true => "the components are the same",
            false => "the descriptions are the same; the code differs",
        };
        return terminal::print_line(what);
    }
    let row = |change: &DescriptionChange| {
        let value = |value: &Value| if value.is_null() { "-".to_owned() } else { shown_value(value) };
        [shown_text(&change.part), value(&change.before), value(&change.after)]
    };
    let rows: Vec<[String; 3]> = changes.iter().take(MAX_SHOWN).map(row).collect();
    terminal::print_line(terminal::columns(["changed", "before", "after"], &rows))?;
    show_rest(changes.len().saturating_sub(MAX_SHOWN))
}

fn show_rest(others: usize) -> anyhow::Result<()> {
    match others {
        0 => Ok(()),
        others => terminal::print_line(format_args!("  and {others} more, which --json shows")),
    }
}

fn show_member(member: &MemberComparison) -> anyhow::Result<()> {
    terminal::print_line(format_args!("\n{}", headline(member)))?;
    if member.largest.is_empty() {
        return Ok(());
    }
    let shown = &member.largest[..member.largest.len().min(MAX_SHOWN_ITEMS)];
    let rows: Vec<[String; 4]> = shown.iter().map(item_row).collect();
    terminal::print_line(terminal::columns(["item", "before", "after", "difference"], &rows))?;
    show_rest(usize::try_from(member.changed).unwrap_or(usize::MAX).saturating_sub(shown.len()))
}

/// Describes how many results of a member differ.
fn headline(member: &MemberComparison) -> String {
    let mut name = member.member.as_deref().map_or_else(|| "the only member".to_owned(), shown_text);
    if member.params.as_object().is_some_and(|params| !params.is_empty()) {
        name = format!("{name} {}", shown_value(&member.params));
    }
    if let Some(problem) = &member.problem {
        return format!("{name}: not compared: {}", shown_text(problem));
    }
    let items = terminal::count_of(member.items, "item");
    let mut parts = vec![match member.changed {
        0 => format!("{items}, all results are the same"),
        changed => format!("{items}, {changed} with another result"),
    }];
    if let Some(mean) = member.mean_difference.filter(|_| member.changed > 0) {
        parts.push(format!("mean difference {mean:+.4}"));
    }
    for (count, what) in [(member.broken, "fail only after"), (member.repaired, "fail only before")] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    format!("{name}: {}", parts.join(", "))
}

fn item_row(item: &ItemDifference) -> [String; 4] {
    let difference = match item.difference {
        // The scores are the same: a part of the card differs.
        Some(0.0) | None => String::new(),
        Some(difference) => format!("{difference:+.4}"),
    };
    let (before, after) = shown_results(&item.before, &item.after);
    [shown_text(&item.item), before, after, difference]
}

/// Formats two results: the scores, or the parts that differ.
fn shown_results(before: &Value, after: &Value) -> (String, String) {
    let keys = before.as_object().into_iter().chain(after.as_object()).flat_map(|object| object.keys());
    let differs = |key: &&String| before.get(key.as_str()) != after.get(key.as_str());
    let differing: Vec<&String> = keys.filter(differs).collect();
    let shown = |result: &Value| {
        let object = result.as_object();
        if let Some(error) = object.and_then(|object| object.get("error")) {
            return format!("error: {}", shown_text(error.as_str().unwrap_or_default()));
        }
        match object.and_then(|object| object.get("primary_score")) {
            Some(score) if differing.iter().any(|key| *key == "primary_score") => shown_value(score),
            Some(_) => {
                let parts = object.into_iter().flatten().filter(|(key, _)| differing.contains(key));
                let parts = parts.map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>();
                shown_text(&parts.join(", "))
            }
            None => shown_value(result),
        }
    };
    (shown(before), shown(after))
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => shown_text(text),
        value => shown_text(&value.to_string()),
    }
}

fn shown_text(text: &str) -> String {
    printable_line(&shortened(text, MAX_VALUE_CHARS)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison() -> MemberComparison {
        MemberComparison {
            member: Some("word_recall".to_owned()),
            params: Value::Null,
            problem: None,
            items: 1_000,
            changed: 0,
            repaired: 0,
            broken: 0,
            scored: 1_000,
            mean_difference: Some(0.0),
            largest: Vec::new(),
        }
    }

    #[test]
    fn headlines_count_results_that_differ() {
        let same = comparison();
        let changed = MemberComparison {
            changed: 3,
            broken: 1,
            mean_difference: Some(-0.0125),
            params: json!({"case_sensitive": true}),
            ..comparison()
        };
        let problem = MemberComparison {
            problem: Some("the second component: no such member".to_owned()),
            ..comparison()
        };
        for (member, expected) in [
            (same, "word_recall: 1,000 items, all results are the same"),
            (
                changed,
                "word_recall {\"case_sensitive\":true}: 1,000 items, 3 with another result, mean difference -0.0125, 1 fail only after",
            ),
            (problem, "word_recall: not compared: the second component: no such member"),
        ] {
            assert_eq!(headline(&member), expected);
        }
    }

    #[test]
    fn results_are_shown_by_what_differs() {
        let card = |score: f64, tag: &str| json!({"primary_score": score, "pass": null, "error_tags": [tag]});
        for (before, after, expected) in [
            (card(0.5, "a"), card(1.0, "a"), ("0.5", "1.0")),
            (card(0.5, "a"), card(0.5, "b"), ("error_tags: [\"a\"]", "error_tags: [\"b\"]")),
            (card(0.5, "a"), json!({"error": "trap", "message": "m"}), ("0.5", "error: trap")),
            (Value::Null, json!({"kind": "text"}), ("null", "{\"kind\":\"text\"}")),
        ] {
            let (old, new) = shown_results(&before, &after);
            assert_eq!((old.as_str(), new.as_str()), expected);
        }
    }

    #[test]
    fn hostile_texts_stay_on_their_line() {
        let hostile = format!("a\nerror: b\u{202e}{}", "x".repeat(5_000));
        let item = ItemDifference {
            item: hostile.clone(),
            before: json!({"error": hostile, "message": ""}),
            after: json!({"primary_score": 1.0}),
            difference: None,
        };
        let row = item_row(&item);
        assert!(row.iter().all(|cell| cell.lines().count() <= 1 && cell.len() < 400), "{row:?}");
        assert_eq!(row[3], "");
    }
}
