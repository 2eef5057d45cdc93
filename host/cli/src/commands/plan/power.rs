//! `gage-host plan --power`: what the gates of a suite can show.

use crate::arguments::PlanArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use gage_compare::{GateAssumptions, GatePower};
use gage_config::GateSpec;
use gage_engine::{Estimate, Plan, PlannedTask, TaskEstimate};
use gage_runner::{GatedScore, gated_scores};
use serde::Serialize;
use serde_json::json;

/// Shares of samples that change, if the user assumes none: of similar, of different and of unrelated models.
const CHANGED_SHARES: [f64; 3] = [0.05, 0.2, 0.5];

const TABLE: terminal::Table<8> = terminal::Table {
    headings: ["gate", "task", "margin", "samples", "changed", "passes", "needed", "detects"],
    flexible: &[0, 1],
    spare: &[],
};

/// A gate on a task, with its power for each share of samples that change.
#[derive(Serialize)]
struct GateRow {
    task_id: String,
    metric: String,
    /// In units of the score.
    margin: f64,
    /// Width of the scale: the margins and losses of the cases are shares of it.
    width: Option<f64>,
    alpha: f64,
    /// Reason why the power is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'static str>,
    cases: Vec<PowerCase>,
}

#[derive(Serialize)]
struct PowerCase {
    assumptions: GateAssumptions,
    power: GatePower,
}

/// Prints the power of each gate.
pub(super) fn print(arguments: &PlanArguments, plan: &Plan, estimate: &Estimate) -> anyhow::Result<ExitCode> {
    let gates = match (arguments.margin, plan.config.gate.as_slice()) {
        (Some(margin), _) => gates_of_all(plan, margin),
        (None, []) => {
            let message = "the suite has no gate whose power could be computed";
            let help = "add `gate` to the suite, or give a margin for all metrics with --margin";
            return Ok(terminal::usage_error(message, Some(help)));
        }
        (None, gates) => gates.to_vec(),
    };
    let rows = rows_of(arguments, plan, estimate, &gates);
    if rows.is_empty() {
        let message = "no metric of the suite is gated";
        let help = "check the names of metrics and tasks in `gate`";
        return Ok(terminal::usage_error(message, Some(help)));
    }
    if arguments.json {
        terminal::print_json(format_args!("{:#}", json!({ "gates": rows })))?;
        return Ok(ExitCode::Done);
    }
    let style = Style::of_stdout();
    terminal::print_line(style.bold(&arguments.config.path().display().to_string()))?;
    terminal::print_line("")?;
    terminal::print_line(TABLE.draw(&rows.iter().flat_map(lines_of).collect::<Vec<_>>()))?;
    terminal::print_line("")?;
    for note in notes(arguments, estimate, &rows) {
        terminal::print_line(style.dim(&terminal::wrapped(&note, 2)))?;
    }
    Ok(ExitCode::Done)
}

/// Returns a gate on every metric of the suite, each once.
fn gates_of_all(plan: &Plan, margin: f64) -> Vec<GateSpec> {
    let mut gates: Vec<GateSpec> = Vec::new();
    for planned in plan.tasks.iter().flat_map(|task| &task.scoring.metrics) {
        if !planned.is_timing && gates.iter().all(|gate| gate.metric_id != planned.metric_id) {
            gates.push(GateSpec::new(&planned.metric_id, margin));
        }
    }
    gates
}

fn rows_of(arguments: &PlanArguments, plan: &Plan, estimate: &Estimate, gates: &[GateSpec]) -> Vec<GateRow> {
    let found = gated_scores(gates, plan);
    let gated = found.len() as u64;
    let shares = arguments.changed.map_or_else(|| CHANGED_SHARES.to_vec(), |share| vec![share]);
    let row = |score: &GatedScore<'_>| {
        let task_id = &score.task.spec.task_id;
        let task = estimate.tasks.iter().find(|task| task.task_id == *task_id);
        let case = |changed: &f64, task: &TaskEstimate, width: f64| {
            let assumptions = GateAssumptions {
                samples: task.samples?,
                cluster_size: task.clusters.map_or(1.0, |clusters| clusters.usual_size),
                repeat: independent_repeats(score.task),
                changed: *changed,
                correlation: arguments.correlation,
                margin: score.margin / width,
                alpha: score.gate.alpha,
                gated,
            };
            Some(PowerCase { assumptions, power: assumptions.power() })
        };
        let unknown = match (score.width, task.and_then(|task| task.samples)) {
            _ if score.is_resampled => {
                Some("the figure is compared by bootstrap, whose spread is not known before a run")
            }
            (None, _) => Some("the metric declares no scale"),
            (Some(width), _) if score.margin >= width => Some("the margin is as wide as the scale"),
            (_, None) => Some("the data is not on this machine"),
            _ => None,
        };
        let cases = match (unknown, score.width, task) {
            (None, Some(width), Some(task)) => {
                shares.iter().filter_map(|share| case(share, task, width)).collect()
            }
            _ => Vec::new(),
        };
        let (task_id, metric) = (task_id.clone(), score.name.clone());
        GateRow {
            task_id,
            metric,
            margin: score.margin,
            width: score.width,
            alpha: score.gate.alpha,
            unknown,
            cases,
        }
    };
    found.iter().map(row).collect()
}

/// Returns the number of repeats whose answers can differ: 1 at temperature 0.
fn independent_repeats(task: &PlannedTask) -> u64 {
    let is_greedy = task.sampling_params.temperature == Some(0.0);
    if is_greedy { 1 } else { task.spec.repeat.max(1) }
}

/// Returns the lines of a gate, one for each share of samples that change.
fn lines_of(row: &GateRow) -> Vec<[String; 8]> {
    if row.cases.is_empty() {
        let dash = || "–".to_owned();
        let (metric, task_id, margin) = (row.metric.clone(), row.task_id.clone(), margin_of(row));
        return vec![[metric, task_id, margin, dash(), dash(), dash(), dash(), dash()]];
    }
    let width = row.width.unwrap_or(1.0);
    let number =
        |number: f64| format!("{:.3}", number * width).trim_end_matches('0').trim_end_matches('.').to_owned();
    let line = |(position, PowerCase { assumptions, power }): (usize, &PowerCase)| {
        let first = |text: String| if position == 0 { text } else { String::new() };
        let passes = match power.can_pass {
            true => format!("{:.0} %", power.pass * 100.0),
            false => "never".to_owned(),
        };
        [
            first(row.metric.clone()),
            first(row.task_id.clone()),
            first(margin_of(row)),
            first(grouped(assumptions.samples)),
            format!("{} %", assumptions.changed * 100.0),
            passes,
            power.samples_needed.map_or_else(|| "–".to_owned(), grouped),
            power.smallest_loss.map_or_else(|| "–".to_owned(), number),
        ]
    };
    row.cases.iter().enumerate().map(line).collect()
}

/// Formats a margin in a few characters.
fn margin_of(row: &GateRow) -> String {
    if row.margin < 1e-6 { format!("{:e}", row.margin) } else { row.margin.to_string() }
}

fn notes(arguments: &PlanArguments, estimate: &Estimate, rows: &[GateRow]) -> Vec<String> {
    let mut notes = vec![
        "changed: assumed share of samples whose score changes by the whole scale (--changed)".to_owned(),
        "passes: probability that a run without a loss passes; never: not even a run without any change"
            .to_owned(),
        "needed: samples at which such a run passes in four of five cases".to_owned(),
        "detects: smallest loss that is found in four of five cases, with all gates of the suite".to_owned(),
    ];
    for task in estimate.tasks.iter().filter(|task| rows.iter().any(|row| row.task_id == task.task_id)) {
        if let Some(clusters) = task.clusters {
            notes.push(format!(
                "{}: {} of the first {}; their changes have a correlation of {} (--correlation)",
                task.task_id,
                terminal::count_of(clusters.clusters, "cluster"),
                terminal::count_of(clusters.samples, "sample"),
                arguments.correlation
            ));
        }
        if task.repeat > 1 {
            notes.push(format!(
                "{}: changes of the {} repeats count as independent, or as one at temperature 0",
                task.task_id, task.repeat
            ));
        }
    }
    let unknown = rows.iter().filter_map(|row| Some((row, row.unknown?)));
    notes.extend(unknown.map(|(row, why)| format!("{} of {}: {why}", row.metric, row.task_id)));
    if let Some(comparisons) = arguments.comparisons {
        notes.push(note_of_comparisons(comparisons, rows));
    }
    notes
}

/// Returns the error rates of several comparisons with one baseline.
fn note_of_comparisons(comparisons: u32, rows: &[GateRow]) -> String {
    let alpha = rows.iter().map(|row| row.alpha).fold(0.0, f64::max);
    let together = 1.0 - (1.0 - alpha).powf(f64::from(comparisons));
    // By the series of the logarithm, which loses no digits for many comparisons.
    let needed = -(f64::ln_1p(-alpha) / f64::from(comparisons)).exp_m1();
    format!(
        "comparisons: in {} with one baseline, the probability that any unchanged run is called a regression is up to \
         {:.0} %; with `alpha: {}` in the gate it is up to {:.0} %",
        terminal::count_of(u64::from(comparisons), "comparison"),
        together * 100.0,
        rounded_down(needed),
        alpha * 100.0
    )
}

/// Formats a number with three digits, rounded down.
fn rounded_down(number: f64) -> String {
    let digits = 2 - number.log10().floor() as i32;
    let scale = 10_f64.powi(digits);
    let rounded = (number * scale).floor() / scale;
    if rounded < 1e-4 { format!("{rounded:.2e}") } else { format!("{rounded}") }
}

/// Formats a number with separators between thousands.
fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
