//! `gage-host metrics`: explains a metric, or a component that precedes or follows metrics: an extractor, a judge, an
//! aggregator.

use super::permissions::permissions;
use super::plugin::{describe_member, load_described};
use super::{list, setup};
use crate::arguments::{DEFAULT_LOG, ListArguments, ListKind, MetricsArguments, PrintArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_plugin::{ListedPlugin, MemberDescription, PluginDescription, World};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Kinds that can be explained, each as a world and as a list kind.
const EXPLAINED: [(World, ListKind); 4] = [
    (World::Metric, ListKind::Metrics),
    (World::Extractor, ListKind::Extractors),
    (World::Judge, ListKind::Judges),
    (World::Aggregator, ListKind::Aggregators),
];

/// Maximum number of known names that a message lists.
const MAX_LISTED_NAMES: usize = 200;

/// Line before the use of a member in a suite.
const EXAMPLE_HEADING: &str = "In a suite:";

/// Column of the texts after `reads`, `gives` and `takes`.
const ENTRY_INDENT: usize = 11;

pub(crate) fn execute(arguments: MetricsArguments) -> anyhow::Result<ExitCode> {
    let MetricsArguments { name, config, plugin_folders, permissions: granted, print } = arguments;
    let PrintArguments { json, quiet } = print;
    let Some(name) = name else {
        let kinds = EXPLAINED.map(|(_, kind)| kind);
        let listed = ListArguments { what: None, config, plugin_folders, permissions: granted, json, quiet };
        return list::show(&listed, &kinds);
    };
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    if let Some((file, member)) = file_and_member(&name) {
        return explain_file(file, member, &print);
    }
    let permissions = permissions(&granted)?;
    let registry = list::registry(config.as_deref(), &permissions, &plugin_folders, quiet)?;
    let plugins = registry.list()?;
    let of_world = |world: World| plugins.iter().filter(move |plugin| plugin.world() == world);
    let members = EXPLAINED.iter().flat_map(|(world, _)| {
        of_world(*world).flat_map(|plugin| plugin.members().iter().map(move |member| (plugin, member)))
    });
    let found: Vec<_> = members.clone().filter(|(_, member)| member.name == name).collect();
    if found.is_empty() {
        if let Some(error) = registry.not_installed(&name) {
            return Ok(setup::refuse_plugin(&error));
        }
        let known: Vec<&str> = members.map(|(_, member)| member.name.as_str()).collect();
        let nearest = gage_core::nearest(&name, known.iter().copied());
        let nearest = nearest.map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default();
        let known = gage_core::name_list(known, MAX_LISTED_NAMES, ", ");
        let help = format!("{nearest}expected one of: {known}");
        let message = format!("there is no metric, extractor, judge or aggregator '{name}'");
        return Ok(terminal::usage_error(&message, Some(&help)));
    }
    let found = found.into_iter().map(|(plugin, member)| (plugin, member, member.name.clone()));
    explain(&found.collect::<Vec<_>>(), json)
}

/// Splits the path of a component, with `#` and a member if one is named. `None` if the name is that of a member.
fn file_and_member(name: &str) -> Option<(&Path, Option<&str>)> {
    let (file, member) = match name.split_once('#') {
        Some((file, member)) => (file, Some(member)),
        None => (name, None),
    };
    let is_file = Path::new(file).extension().is_some_and(|ending| ending == "wasm") || file.contains('/');
    is_file.then(|| (Path::new(file), member))
}

/// Explains the members of a component, or one of them.
fn explain_file(file: &Path, member: Option<&str>, print: &PrintArguments) -> anyhow::Result<ExitCode> {
    let shown = file.display().to_string();
    let (summary, component) = load_described(file, print.quiet)?;
    let world = component.world();
    if !EXPLAINED.iter().any(|(explained, _)| *explained == world) {
        let message = format!("{shown} is a plugin of the kind {world}, which `metrics` does not explain");
        let help = format!("gage-host plugin inspect {}", terminal::shell_word(&shown));
        return Ok(terminal::usage_error(&message, Some(&help)));
    }
    let plugin = ListedPlugin {
        id: component.identity().name.clone(),
        source: shown.clone(),
        summary,
        described: PluginDescription::of(&component),
        signer: None,
    };
    let members = plugin.members();
    let is_only = members.len() == 1;
    // A suite names a file by a path, and one of several members after it.
    let path = if shown.contains('/') { shown.clone() } else { format!("./{shown}") };
    let found: Vec<_> = members
        .iter()
        .filter(|one| member.is_none_or(|name| one.name == name))
        .map(|one| (&plugin, one, if is_only { path.clone() } else { format!("{path}#{}", one.name) }))
        .collect();
    if found.is_empty() {
        let known = gage_core::name_list(members.iter().map(|one| &one.name), MAX_LISTED_NAMES, ", ");
        let message =
            format!("{shown} has no {world} '{}'", gage_core::shown_name(member.unwrap_or_default()));
        return Ok(terminal::usage_error(&message, Some(&format!("expected one of: {known}"))));
    }
    explain(&found, print.json)
}

/// Explains members of plugins, each with its name in a suite.
fn explain(found: &[(&ListedPlugin, &MemberDescription, String)], json: bool) -> anyhow::Result<ExitCode> {
    let mut values = Vec::new();
    for (number, (plugin, member, name)) in found.iter().enumerate() {
        let world = plugin.world();
        if json {
            let mut value = serde_json::to_value(member)?;
            value["kind"] = world.kind().into();
            value["plugin"] = plugin.id.as_str().into();
            value["source"] = plugin.source.as_str().into();
            value["digest"] = json!(plugin.summary.digest);
            value["example"] = example(world, member, name).into();
            values.push(value);
            continue;
        }
        if number > 0 {
            terminal::print_line("")?;
        }
        let mut is_example = false;
        for line in explanation(plugin, member, name).trim().lines() {
            is_example |= line == EXAMPLE_HEADING;
            let indent = match line.len() - line.trim_start().len() {
                0 => 2,
                spaces if is_example => spaces + 2,
                _ => ENTRY_INDENT,
            };
            terminal::print_line(terminal::wrapped(&gage_core::printable_line(line), indent))?;
        }
    }
    if json {
        // A metric and an aggregator may have the same name.
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        terminal::print_json(format_args!("{value:#}"))?;
    }
    Ok(ExitCode::Done)
}

/// Explains a member: its purpose, its origin, and its use in a suite.
fn explanation(plugin: &ListedPlugin, member: &MemberDescription, name: &str) -> String {
    let world = plugin.world();
    let mut text = String::new();
    describe_member(member, &mut text);
    // Writing to a string cannot fail.
    let _ = match world {
        World::Metric => {
            let aggregation = member.default_aggregation.as_deref().unwrap_or("mean");
            writeln!(text, "  figure   {aggregation} over the samples, unless the suite says otherwise")
        }
        _ => writeln!(text, "  kind     {}", world.kind()),
    };
    let _ = writeln!(text, "  from     {} {}", plugin.id, plugin.described.version);
    let _ = write!(text, "\n{EXAMPLE_HEADING}\n{}", example(world, member, name));
    text
}

/// Formats a member in a suite: by the name alone if that is sufficient, and in full.
fn example(world: World, member: &MemberDescription, name: &str) -> String {
    let schema = &member.params_schema;
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let given = |name: &&str| match schema["properties"][*name]["examples"].get(0) {
        Some(example) => format!("{name}: {example}"),
        None => format!("{name}: …"),
    };
    let mut params: Vec<String> = required.iter().map(given).collect();
    if let Some(input) = member.inputs.iter().find(|input| !input.path_params.is_empty()) {
        // A parsed answer needs a step of its own.
        let plain = input.default_paths.iter().find(|path| !path.starts_with(PARSED));
        let path = plain.or(input.default_paths.first()).map_or("model_output.answer", String::as_str);
        params.extend(input.path_params.first().map(|name| format!("{name}: {path}")));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let with_default = properties.filter_map(|(name, schema)| {
        Some((name, schema.get("default").filter(|default| !default.is_null())?))
    });
    params.extend(with_default.take(2).map(|(name, default)| format!("{name}: {default}")));
    let id = format!("my_{}", member.name);
    // Written as a call, for use within another entry.
    let call = match params.is_empty() {
        true => name.to_owned(),
        false => format!("{{{name}: {{{}}}}}", params.join(", ")),
    };
    match world {
        World::Extractor => {
            in_steps("{step: inference}", &format!("{{step: extract, extractors: [{call}]}}"))
        }
        World::Judge => {
            let step = format!("{{step: judge, judge: {call}}}");
            format!("  metrics: [judge_score]\n{}", in_steps("{step: inference}", &step))
        }
        World::Aggregator => {
            let (metric, steps) = metric_before(&member.name);
            format!(
                "  metrics:\n    - metric_id: {id}\n      implementation: {metric}\n      aggregation: {call}\n{steps}"
            )
        }
        _ => {
            let mut text = String::from("  metrics:\n");
            if required.is_empty() {
                let _ = writeln!(text, "    - {name}");
            }
            let _ = writeln!(text, "    - metric_id: {id}");
            let _ = writeln!(text, "      implementation: {name}");
            if !params.is_empty() {
                let _ = writeln!(text, "      params: {{{}}}", params.join(", "));
            }
            let paths = member.inputs.iter().filter_map(|input| input.default_paths.first());
            let reads_answers = member.inputs.iter().flat_map(|input| &input.default_paths).any(|path| {
                let is_extracted = path.starts_with(PARSED) || path.starts_with("model_output.extraction");
                path.starts_with("model_output.") && !is_extracted
            });
            let steps = paths.filter(|path| *path != PARSED || !reads_answers);
            text.extend(steps.filter_map(|path| steps_that_give(path)).take(1));
            text
        }
    }
}

/// The path of a parsed answer.
const PARSED: &str = "model_output.parsed";

/// Returns the suite steps that produce the value at a path, or `None` if the default ones do.
fn steps_that_give(path: &str) -> Option<String> {
    let inference = "{step: inference}";
    let (inference, further) = match path {
        "judge_output.score" => (inference, "{step: judge, judge: verdict}"),
        "model_output.semantic" => (inference, "{step: embed, adapter_id: embedder}"),
        PARSED => (inference, "{step: extract, extractors: [json_object]}"),
        "model_output.continuations" => ("{step: inference, request: loglikelihood}", ""),
        "model_output.rolling" => ("{step: inference, request: rolling_loglikelihood}", ""),
        _ => return None,
    };
    Some(in_steps(inference, further))
}

/// Formats the steps of a suite, with an optional one between inference and scoring.
fn in_steps(inference: &str, step: &str) -> String {
    let step = if step.is_empty() { String::new() } else { format!("      - {step}\n") };
    format!("  custom:\n    steps:\n      - {inference}\n{step}      - {{step: auto_eval}}\n")
}

/// Returns a metric whose cards an aggregator can read, and its steps. Some aggregators need more than a score.
fn metric_before(aggregator: &str) -> (&'static str, String) {
    let (metric, path) = match aggregator {
        "ece" => ("brier", ""),
        "corpus_bleu" => ("bleu", ""),
        "corpus_chrf" => ("chrf", ""),
        "corpus_perplexity" => ("word_perplexity", "model_output.rolling"),
        "krippendorff_alpha" => ("judge_score", "judge_output.score"),
        "confusion" => ("multi_choice_accuracy", ""),
        _ => ("exact_match", ""),
    };
    (metric, steps_that_give(path).unwrap_or_default())
}
