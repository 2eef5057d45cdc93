//! Cost of the sandbox: each bundled metric and preprocessor next to its own native build.
//!
//! Native calls are measured by the program `gage-native-costs` of the plugins' workspace.

use crate::lab::Lab;
use crate::table::{Table, median};
use anyhow::{Context as _, anyhow, bail, ensure};
use gage_plugin::{
    AnyComponent, BundledComponent, GuestCode, InstanceSetup, ItemBench as _, ItemError, Metric, PluginHost,
    Preprocessor, PreprocessorOutput, RawRow, World,
};
use gage_plugin_bundle::COMPONENTS;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Parameters and typical items of each member.
const ITEMS: &str = include_str!("../sandbox-items.json");

/// Batch sizes of a run.
const SAMPLES_PER_BATCH: usize = 32;
const ROWS_PER_BATCH: usize = 128;

/// Largest ratio of the sandboxed time to the native one that meets the aim.
const MAX_RATIO: f64 = 1.5;

/// Largest additional time for canonical NaN values that meets the aim, in percent.
const MAX_NAN_PERCENT: f64 = 5.0;

/// Members that are measured in quick mode.
const QUICK_MEMBERS: [&str; 4] = ["multi_choice_accuracy", "default", "multi_choice", "exact_match"];

/// Minimum time of a round of conversions.
const ROUND: Duration = Duration::from_millis(2);

/// Relative difference of equal scores: logarithms are not the same to the last bit everywhere.
const MAX_DIFFERENCE: f64 = 1e-9;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let native = native_program()?;
    if !native.is_file() {
        println!(
            "sandbox: skipped, since there is no {}; `make bench BENCH=sandbox` builds it\n",
            native.display()
        );
        return Ok(());
    }
    let document: Value = serde_json::from_str(ITEMS)?;
    let time = Duration::from_millis(if lab.is_quick { 30 } else { 60 });
    let production = host(GuestCode::Production)?;
    let (without_fuel, with_any_nan) = (host(GuestCode::WithoutFuel)?, host(GuestCode::WithoutCanonicalNan)?);
    let mut table = Table::new([
        "member",
        "kind",
        "native, µs an item",
        "sandboxed",
        "ratio",
        "not counting",
        "ratio",
        "canonical NaN",
    ]);
    let (mut ratios, mut uncounted_ratios, mut nan_percents) = (Vec::new(), Vec::new(), Vec::new());
    for component in COMPONENTS {
        let batches = batches_of(component, &document, lab.is_quick)?;
        if batches.is_empty() {
            continue;
        }
        let production = load(&production, component)?;
        let (without_fuel, with_any_nan) = (load(&without_fuel, component)?, load(&with_any_nan, component)?);
        for batch in &batches {
            let components = [&production, &without_fuel, &with_any_nan];
            let costs = MemberCosts::measure(&native, batch, components, lab.either(9, 3), time)
                .with_context(|| format!("{} `{}`", batch.world, batch.member))?;
            let (ratio, uncounted_ratio) = (costs.sandboxed / costs.native, costs.uncounted / costs.native);
            table.row([
                format!("`{}`", batch.member),
                batch.world.kind().to_owned(),
                microseconds(costs.native),
                microseconds(costs.sandboxed),
                format!("{ratio:.2}"),
                microseconds(costs.uncounted),
                format!("{uncounted_ratio:.2}"),
                format!("{:+.1} %", costs.nan_percent),
            ]);
            ratios.push(ratio);
            uncounted_ratios.push(uncounted_ratio);
            nan_percents.push(costs.nan_percent);
        }
    }
    table.print("Sandbox");
    let count_within = |values: &[f64], limit: f64| values.iter().filter(|value| **value <= limit).count();
    println!(
        "Median ratio {:.2}, without counting {:.2}; the aim of {MAX_RATIO} is met by {} of {}. Canonical NaN values cost {:.1} % in \
         the median; the aim of {MAX_NAN_PERCENT} % is met by {}. Medians of turns of {} ms on one thread, with batches of \
         {SAMPLES_PER_BATCH} samples or {ROWS_PER_BATCH} rows. Native: the exports of the same crate as functions, compiled for \
         any processor of this kind, without copying arguments. Sandboxed: an instance for each batch, copies in both \
         directions, checks of the results. Not counting: without fuel and time limits. Canonical NaN: the sandboxed time \
         compared with that of code that leaves NaN values as they are. All give the same results.\n",
        median(ratios.clone()),
        median(uncounted_ratios),
        count_within(&ratios, MAX_RATIO),
        ratios.len(),
        median(nan_percents.clone()),
        count_within(&nan_percents, MAX_NAN_PERCENT),
        time.as_millis()
    );
    Ok(())
}

/// Returns the path at which `make bench` builds the native program, next to the folder of this one.
fn native_program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it lies")?;
    let target = own.parent().and_then(Path::parent).context("the path of this program has no folder")?;
    Ok(target.join("plugins-native/release/gage-native-costs"))
}

fn host(code: GuestCode) -> anyhow::Result<PluginHost> {
    PluginHost::for_benchmark(code).map_err(anyhow::Error::msg)
}

fn load(host: &PluginHost, component: &BundledComponent) -> anyhow::Result<AnyComponent> {
    Ok(AnyComponent::load(host, component.name, component.bytes, &InstanceSetup::default())?)
}

fn microseconds(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e6)
}

/// A member with the items to call it with.
struct Batch {
    plugin: &'static str,
    world: World,
    member: &'static str,
    params: Value,
    /// Of a metric, objects with values by input name. Of a preprocessor, texts of rows.
    items: Vec<Value>,
}

/// Returns a batch for each metric and each preprocessor of a component.
fn batches_of(component: &BundledComponent, document: &Value, is_quick: bool) -> anyhow::Result<Vec<Batch>> {
    let (table, size) = match component.world {
        World::Metric => ("metrics", SAMPLES_PER_BATCH),
        World::Preprocessor => ("preprocessors", ROWS_PER_BATCH),
        _ => return Ok(Vec::new()),
    };
    let members = component.members.iter().filter(|member| !is_quick || QUICK_MEMBERS.contains(*member));
    let batch_of = |member: &&'static str| -> anyhow::Result<Batch> {
        let entry = &document[table][*member];
        let list = entry["items"].as_str().and_then(|name| document["items"][name].as_array());
        let list = list.filter(|items| !items.is_empty());
        let list = list.with_context(|| format!("sandbox-items.json has no items for {table}/{member}"))?;
        let items = list.iter().cycle().take(size).map(|item| match component.world {
            World::Preprocessor => Value::String(item.to_string()),
            _ => item.clone(),
        });
        Ok(Batch {
            plugin: component.name,
            world: component.world,
            member,
            params: entry.get("params").cloned().unwrap_or_else(|| json!({})),
            items: items.collect(),
        })
    };
    members.map(batch_of).collect()
}

/// A member of a component in the sandbox, with its items.
enum Member {
    Metric(Metric, Vec<Map<String, Value>>),
    Preprocessor(Preprocessor, Vec<RawRow>),
}

impl Member {
    fn new(component: &AnyComponent, batch: &Batch) -> anyhow::Result<Member> {
        let (name, params) = (Some(batch.member), batch.params.clone());
        Ok(match component {
            AnyComponent::Metric(component) => {
                let items = batch.items.iter().filter_map(Value::as_object).cloned().collect();
                Member::Metric(component.configure(name, params).map_err(refusal)?, items)
            }
            AnyComponent::Preprocessor(component) => {
                let texts = (0..).zip(batch.items.iter().filter_map(Value::as_str));
                let rows = texts.map(|(index, body)| RawRow {
                    dataset: "rows".to_owned(),
                    index,
                    body: body.to_owned(),
                });
                let rows = rows.collect();
                Member::Preprocessor(component.configure(name, params).map_err(refusal)?, rows)
            }
            _ => bail!("`{}` is neither a metric nor a preprocessor", batch.member),
        })
    }

    /// Returns the primary score or the Sample of each item.
    ///
    /// # Errors
    /// If an item has none.
    fn results(&self) -> anyhow::Result<Vec<Value>> {
        match self {
            Member::Metric(metric, items) => {
                let items = items.iter().map(|values| metric.item("item", values)).collect();
                let cards = metric.score(items).results.into_iter();
                let fail = |error: ItemError| anyhow!("an item cannot be scored: {}", error.message);
                cards.map(|card| card.map(|card| Value::from(card.primary_score)).map_err(fail)).collect()
            }
            Member::Preprocessor(preprocessor, rows) => {
                let sample = |output: Result<PreprocessorOutput, ItemError>| match output {
                    Ok(PreprocessorOutput::Sample(sample)) => Ok(Value::from(sample.as_str())),
                    Ok(PreprocessorOutput::Skipped(reason)) => Err(anyhow!("a row is skipped: {reason}")),
                    Err(error) => Err(anyhow!("a row cannot be converted: {}", error.message)),
                };
                preprocessor.convert(rows).into_iter().map(sample).collect()
            }
        }
    }

    /// Calls for about the given time. Returns the seconds per item of the median round.
    fn seconds(&self, time: Duration) -> f64 {
        match self {
            Member::Metric(metric, items) => {
                let items = items.iter().map(|values| metric.item("item", values)).collect();
                metric.item_costs(items, time).item.median
            }
            Member::Preprocessor(preprocessor, rows) => {
                // Batches are far smaller than 2^53.
                seconds_of(time, || drop(preprocessor.convert(rows))) / rows.len().max(1) as f64
            }
        }
    }
}

/// Returns the problems with a member's parameters.
fn refusal(problems: Vec<impl Display>) -> anyhow::Error {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    anyhow!("the parameters are refused: {}", problems.join("; "))
}

/// Repeats an operation in rounds, as `gage_plugin` does for metrics. Returns the seconds per repetition of the median round.
fn seconds_of(time: Duration, work: impl Fn()) -> f64 {
    work();
    let mut repetitions = 1_u32;
    let mut rounds = Vec::new();
    let began = Instant::now();
    while rounds.len() < 5 || began.elapsed() < time {
        let round = Instant::now();
        (0..repetitions).for_each(|_| work());
        let took = round.elapsed();
        if took < ROUND && rounds.is_empty() && repetitions < 1 << 20 {
            repetitions *= 2;
            continue;
        }
        rounds.push(took.as_secs_f64() / f64::from(repetitions));
    }
    median(rounds)
}

/// Medians of turns; times in seconds per item.
struct MemberCosts {
    native: f64,
    sandboxed: f64,
    uncounted: f64,
    nan_percent: f64,
}

impl MemberCosts {
    /// Measures the native program, and a component in each form of its code, in turns: as in production, without fuel, and
    /// with any NaN.
    fn measure(
        native: &Path,
        batch: &Batch,
        components: [&AnyComponent; 3],
        turns: usize,
        time: Duration,
    ) -> anyhow::Result<MemberCosts> {
        let [production, without_fuel, with_any_nan] =
            components.map(|component| Member::new(component, batch));
        let (production, without_fuel, with_any_nan) = (production?, without_fuel?, with_any_nan?);
        let results = [production.results()?, without_fuel.results()?, with_any_nan.results()?];
        let (mut natives, mut sandboxed, mut uncounted) = (Vec::new(), Vec::new(), Vec::new());
        let mut nan_percents = Vec::new();
        for turn in 0..turns {
            let report = native_costs(native, batch, time)?;
            let native_results = report["results"].as_array().context("the native build gives no results")?;
            let is_equal = results.iter().all(|results| are_equal(native_results, results));
            ensure!(is_equal, "the native build gives other results");
            natives.push(report["median_s"].as_f64().context("the native build gives no time")?);
            uncounted.push(without_fuel.seconds(time));
            // One after the other, and each of them first in every other turn.
            let (canonical, any) = if turn % 2 == 0 {
                let canonical = production.seconds(time);
                (canonical, with_any_nan.seconds(time))
            } else {
                let any = with_any_nan.seconds(time);
                (production.seconds(time), any)
            };
            sandboxed.push(canonical);
            nan_percents.push((canonical / any - 1.0) * 100.0);
        }
        Ok(MemberCosts {
            native: median(natives),
            sandboxed: median(sandboxed),
            uncounted: median(uncounted),
            nan_percent: median(nan_percents),
        })
    }
}

fn are_equal(left: &[Value], right: &[Value]) -> bool {
    let is_equal = |(left, right): (&Value, &Value)| match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => (left - right).abs() <= MAX_DIFFERENCE * left.abs().max(1.0),
        _ => left == right,
    };
    left.len() == right.len() && left.iter().zip(right).all(is_equal)
}

/// Returns what the native program writes about a member.
fn native_costs(program: &Path, batch: &Batch, time: Duration) -> anyhow::Result<Value> {
    let member = json!({
        "plugin": batch.plugin,
        "kind": batch.world.kind(),
        "member": batch.member,
        "params": batch.params.to_string(),
        "items": batch.items,
    });
    let request = json!({ "seconds": time.as_secs_f64(), "members": [member] });
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // It reads everything before it writes.
    let mut stdin = child.stdin.take().context("the native program has no stdin")?;
    stdin.write_all(request.to_string().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
    let mut report: Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["members"][0].take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_and_preprocessor_has_items() {
        let document = serde_json::from_str(ITEMS).expect("JSON");
        let mut members = 0;
        for component in COMPONENTS {
            let batches = batches_of(component, &document, false).expect("items");
            members += batches.len();
        }
        let known = |table: &str| document[table].as_object().map_or(0, Map::len);
        assert_eq!(members, known("metrics") + known("preprocessors"));
    }

    #[test]
    fn items_have_only_inputs_of_their_metric() {
        let document = serde_json::from_str(ITEMS).expect("JSON");
        for component in COMPONENTS.iter().filter(|component| component.world == World::Metric) {
            let description: Value = serde_json::from_str(component.description).expect("JSON");
            for batch in batches_of(component, &document, false).expect("items") {
                let metrics = description["members"].as_array().expect("a list");
                let metric = metrics.iter().find(|metric| metric["name"] == batch.member).expect("a metric");
                let inputs = metric["inputs"].as_array().expect("a list");
                let names: Vec<&str> = inputs.iter().filter_map(|input| input["name"].as_str()).collect();
                for key in batch.items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
                    assert!(
                        names.contains(&key.as_str()),
                        "{}: {key}, and the inputs are {names:?}",
                        batch.member
                    );
                }
            }
        }
    }
}
