//! `gage-host plugin bench`: measures the cost of a component.

use super::{file_of, host_for, read, refuse_load, refuse_tool};
use crate::arguments::BenchArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_plugin::{InstanceSetup, ItemCosts, LineReceiver, Timing, summarise};
use gage_plugin_tools::{BenchOptions, BenchReport, bench as measure, read_cases};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn bench(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    let file = file_of(arguments.file.as_deref())?;
    let name = file.display().to_string();
    let seconds = arguments.seconds;
    if !(seconds.is_finite() && seconds > 0.0 && seconds <= 3600.0) {
        return Ok(terminal::usage_error("--seconds must be above 0 and at most 3600", None));
    }
    let bytes = read(&file, &InstanceSetup::default())?;
    let summary = summarise(&name, &bytes).map_err(|error| refuse_load(&error))?;
    let cases = match &arguments.cases {
        None => Vec::new(),
        Some(path) => read_cases(path, summary.world).map_err(|error| refuse_tool(&error))?,
    };
    let options = BenchOptions {
        cases,
        member: arguments.member.clone(),
        batch: arguments.batch,
        bytes: arguments.bytes,
        time: Duration::from_secs_f64(seconds),
        uncounted: arguments.uncounted,
    };
    let host = host_for(&file, arguments.print.quiet)?;
    // External requests are not measured, so no grants are needed.
    // Each measurement would repeat the lines of the component.
    let lines = Some(LineReceiver::new(drop));
    let setup = InstanceSetup { is_only_described: true, lines, ..InstanceSetup::default() };
    let report = measure(&host, &name, &bytes, &setup, &options).map_err(|error| refuse_tool(&error))?;
    match arguments.print.json {
        true => terminal::print_json(format_args!("{:#}", to_json(&report)))?,
        false => show(&report)?,
    }
    Ok(ExitCode::Done)
}

fn to_json(report: &BenchReport) -> Value {
    let timing = |timing: Timing| json!({"median_s": timing.median, "least_s": timing.least});
    let costs = |costs: ItemCosts| {
        json!({
            "item": timing(costs.item),
            "items_per_s": 1.0 / costs.item.median,
            "fuel_per_item": costs.fuel,
            "errors": costs.errors,
        })
    };
    let component = report.component;
    let items = report.items.as_ref().map(|items| {
        json!({
            "member": items.member,
            "batch": items.batch,
            "singly": costs(items.singly),
            "batched": costs(items.batched),
            "uncounted": items.uncounted.map(costs),
            "counting_costs": items.uncounted.map(|uncounted| items.batched.item.median / uncounted.item.median),
        })
    });
    json!({
        "optimised_build": !cfg!(debug_assertions),
        "instantiate": timing(component.instantiate),
        "instantiate_empty": timing(component.instantiate_empty),
        "compile_s": component.compile,
        "load_from_cache": component.load.map(timing),
        "items": items,
    })
}

fn show(report: &BenchReport) -> anyhow::Result<()> {
    let line = |what: &str, value: String| terminal::print_line(format_args!("{what:36}{value}"));
    if cfg!(debug_assertions) {
        terminal::eprint_line(
            "note: this program was built without optimisation; `make release` builds it as it is meant to \
             be used",
        );
    }
    let component = report.component;
    let empty = time(component.instantiate_empty.median);
    line(
        "instance, created and dropped",
        format!("{}   (an empty component: {empty})", shown(component.instantiate)),
    )?;
    let compile = component.compile.map_or_else(|| "done before; the code is in the cache".to_owned(), time);
    line("compile, once", compile)?;
    if let Some(load) = component.load {
        line("load from the cache", shown(load))?;
    }
    let Some(items) = &report.items else {
        return terminal::print_line("items are measured only for metrics and extractors");
    };
    terminal::print_line(format_args!("\n{}", gage_core::printable_line(&items.member)))?;
    line("one item in an instance of its own", shown(items.singly.item))?;
    let batch = items.batch;
    line(&format!("item in a batch of {batch}"), shown(items.batched.item))?;
    line("items per second, one core", format!("{:.0}", 1.0 / items.batched.item.median))?;
    line("fuel per item", format!("{}   ({} alone)", items.batched.fuel, items.singly.fuel))?;
    if let Some(uncounted) = items.uncounted {
        let ratio = items.batched.item.median / uncounted.item.median;
        line("counting fuel and time costs", format!("{ratio:.2}x"))?;
    }
    if items.batched.errors > 0 {
        terminal::eprint_line(format_args!(
            "note: {} of {batch} items ended in an error",
            items.batched.errors
        ));
    }
    Ok(())
}

fn shown(timing: Timing) -> String {
    format!("{}   (at best {})", time(timing.median), time(timing.least))
}

/// Formats a duration with three digits.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        _ if seconds >= 1.0 => (seconds, "s"),
        _ if seconds >= 1e-3 => (seconds * 1e3, "ms"),
        _ if seconds >= 1e-6 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e9, "ns"),
    };
    match value {
        _ if value >= 100.0 => format!("{value:.0} {unit}"),
        _ if value >= 10.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    }
}
