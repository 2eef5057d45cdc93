//! `gage-host metrics`: a metric explained.

use super::plugin::describe_member;
use super::{list, setup};
use crate::arguments::{DEFAULT_LOG, ListArguments, Listed, MetricsArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_plugin::{MemberDescription, World};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) fn execute(arguments: MetricsArguments) -> anyhow::Result<ExitCode> {
    let MetricsArguments { name, config, plugin_folders, json, quiet } = arguments;
    let Some(name) = name else {
        let what = Some(Listed::Metrics);
        return list::execute(&ListArguments { what, config, plugin_folders, json, quiet });
    };
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let mut registry = match setup::registry(&plugin_folders, quiet)? {
        Ok(registry) => registry,
        Err(error) => return Ok(terminal::refuse(&error.to_string(), error.help().as_deref())),
    };
    if let Some(path) = &config {
        let problems = list::add_suite(&mut registry, path)?;
        terminal::show_problems(&problems);
        if problems.has_errors() {
            return Ok(ExitCode::Configuration);
        }
    }
    let plugins = registry.list()?;
    let of_metrics = || plugins.iter().filter(|plugin| plugin.family.world() == World::Metric);
    let members = of_metrics()
        .flat_map(|plugin| plugin.family.descriptions().into_iter().map(move |member| (plugin, member)));
    let found: Vec<_> = members.clone().filter(|(_, member)| member.name == name).collect();
    if found.is_empty() {
        let known: Vec<&str> = members.map(|(_, member)| member.name.as_str()).collect();
        let nearest = gage_core::nearest(&name, known.iter().copied());
        let nearest = nearest.map(|nearest| format!("did you mean `{nearest}`? ")).unwrap_or_default();
        let help = format!("{nearest}known are: {}", known.join(", "));
        return Ok(terminal::refuse(&format!("there is no metric '{name}'"), Some(&help)));
    }
    for (plugin, member) in found {
        if json {
            let mut value = serde_json::to_value(member)?;
            value["plugin"] = plugin.id.as_str().into();
            value["source"] = plugin.source.as_str().into();
            value["digest"] = json!(plugin.family.identity().digest);
            value["example"] = example(member).into();
            terminal::answer(format_args!("{value:#}"))?;
            continue;
        }
        let mut text = String::new();
        describe_member(member, &mut text);
        let aggregation = member.default_aggregation.as_deref().unwrap_or("mean");
        // Writing to a string does not fail.
        let _ = writeln!(text, "  figure   {aggregation} over the samples, unless the suite says otherwise");
        let _ = writeln!(text, "  from     {} {}", plugin.id, plugin.family.identity().version);
        let _ = write!(text, "\nIn a suite:\n{}", example(member));
        for line in text.trim().lines() {
            terminal::answer(gage_core::printable_line(line))?;
        }
    }
    Ok(ExitCode::Done)
}

/// A metric in a suite: by its name alone where that is enough, and in full.
fn example(member: &MemberDescription) -> String {
    let schema = &member.params_schema;
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut params: Vec<String> = required.iter().map(|name| format!("{name}: …")).collect();
    if let Some(input) = member.inputs.iter().find(|input| !input.path_params.is_empty()) {
        let path = input.default_paths.first().map_or("model_output.answer", String::as_str);
        params.extend(input.path_params.first().map(|name| format!("{name}: {path}")));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let with_default = properties.filter_map(|(name, schema)| Some((name, schema.get("default")?)));
    params.extend(with_default.take(2).map(|(name, default)| format!("{name}: {default}")));
    let name = &member.name;
    let mut text = String::from("  metrics:\n");
    if required.is_empty() {
        let _ = writeln!(text, "    - {name}");
    }
    let _ = writeln!(text, "    - metric_id: my_{name}");
    let _ = writeln!(text, "      implementation: {name}");
    if !params.is_empty() {
        let _ = writeln!(text, "      params: {{{}}}", params.join(", "));
    }
    text
}
