//! Cost per item of each bundled metric, measured by the program's own `plugin bench`.

use crate::lab::Lab;
use crate::table::{Table, whole};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::process::Command;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let listed = answer_of(lab, &["list", "metrics", "--json"])?;
    let metrics = listed["metrics"].as_array().context("no metrics are listed")?;
    let mut table = Table::new([
        "metric",
        "µs an item, median",
        "at best",
        "items a second",
        "fuel an item",
        "errors in 256",
    ]);
    let seconds = if lab.is_quick { "0.1" } else { "0.5" };
    for metric in metrics {
        let (Some(name), Some(plugin)) = (metric["name"].as_str(), metric["plugin"].as_str()) else {
            continue;
        };
        if lab.is_quick && !["exact_match", "text_length"].contains(&name) {
            continue;
        }
        let row = figures(lab, name, &["--seconds", seconds], plugin)?;
        table.row(row);
    }
    let row = figures(lab, "exact_match", &["--seconds", seconds, "--bytes", "100"], "text")?;
    let [_, further @ ..] = row;
    let [median, least, rate, fuel, errors] = further;
    table.row(["`exact_match`, 100 bytes each".to_owned(), median, least, rate, fuel, errors]);
    table.print("Metrics");
    println!(
        "Batches of 256 items, about 1 KiB of text for each input, one core, sandboxed and counted as in a run. Where items end \
         in errors, such items are refused, and the figure is that of the refusal.\n"
    );
    Ok(())
}

fn figures(lab: &Lab, name: &str, further: &[&str], plugin: &str) -> anyhow::Result<[String; 6]> {
    let mut arguments = vec!["plugin", "bench", plugin, "--member", name, "--json"];
    arguments.extend(further);
    let report = answer_of(lab, &arguments)?;
    let batched = &report["items"]["batched"];
    let number = |value: &Value| value.as_f64().with_context(|| format!("`{name}` has no figures"));
    let microseconds = |value: &Value| Ok::<_, anyhow::Error>(format!("{:.1}", number(value)? * 1e6));
    Ok([
        format!("`{name}`"),
        microseconds(&batched["item"]["median_s"])?,
        microseconds(&batched["item"]["least_s"])?,
        whole(number(&batched["items_per_s"])?),
        whole(number(&batched["fuel_per_item"])?),
        whole(number(&batched["errors"])?),
    ])
}

fn answer_of(lab: &Lab, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = Command::new(&lab.program).args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}: {said}", arguments.join(" "), output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}
