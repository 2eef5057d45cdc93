//! Runs test cases and reports their results as JSON.

mod native_run;
mod observe;
mod samples;
mod score_changes;

use crate::build::BuildOptions;
use crate::case_lines::{CaseLine, CaseLines};
use crate::cases::{Case, differences};
use crate::native::{NativeOptions, NativeSession};
use crate::{Project, ToolError};
use gage_core::FieldError;
use gage_plugin::{AnyComponent, World};
use native_run::NativeRun;
use observe::CaseRun;
pub use score_changes::{ItemDifference, MemberComparison, ScoreComparison};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// A failed case.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CaseFailure {
    /// Name of the case.
    pub case: String,
    /// Differences from the expectation.
    pub differences: Vec<String>,
    /// The complete result.
    pub found: Value,
}

/// Result of the purity check: the same input must give the same result in every batch.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(tag = "verdict", content = "because", rename_all = "snake_case")]
pub enum Purity {
    /// The plugin is pure.
    Pure,
    /// The plugin is not pure; lists the differences, case by case.
    Impure(Vec<String>),
    /// Purity was not checked, for this reason.
    NotTried(String),
}

/// Results of a test.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TestReport {
    /// Number of cases.
    pub cases: usize,
    /// Failed cases.
    pub failures: Vec<CaseFailure>,
    /// Result of the purity check.
    pub purity: Purity,
    /// Lines that the plugin logged and printed, in order.
    pub lines: Vec<CaseLine>,
    /// Number of further lines.
    pub omitted_lines: usize,
    /// Remarks for the author.
    pub notes: Vec<String>,
}

impl TestReport {
    /// Returns whether the test passed.
    pub fn is_passed(&self) -> bool {
        self.failures.is_empty() && !matches!(self.purity, Purity::Impure(_))
    }
}

/// Cases with the same member and parameters, which can share a call.
struct Group<'c> {
    trial: Result<CaseRun, Vec<FieldError>>,
    cases: Vec<&'c Case>,
}

/// Runs the cases of a component: first each one alone, then together and in other orders. `lines` receives the lines
/// of the component.
pub fn test(family: &AnyComponent, cases: &[Case], lines: &CaseLines) -> TestReport {
    // Each call may cost money, and answers may differ.
    let asks_others = family.summary().capabilities().iter().any(|one| one.name() != "media");
    let groups = group(cases, |member, params| CaseRun::new(family, member, params));
    run(family.world(), &groups, asks_others, lines)
}

/// Runs the cases of a project's source in the local interpreter, without a sandbox.
///
/// # Errors
/// If the project is no metric in Python or JavaScript, or its source cannot be loaded.
pub fn test_native(
    project: &Project,
    cases: &[Case],
    build: &BuildOptions<'_>,
    options: &NativeOptions,
) -> Result<TestReport, ToolError> {
    let lines = CaseLines::default();
    let (session, description) = NativeSession::start(project, &lines, build, options)?;
    let session = Rc::new(RefCell::new(session));
    let groups = group(cases, |member, params| {
        NativeRun::new(&session, &description.metrics, member, params).map(CaseRun::Native)
    });
    let report = run(project.world, &groups, false, &lines);
    Ok(TestReport { notes: description.notes, ..report })
}

fn run(world: World, groups: &[Group<'_>], asks_others: bool, lines: &CaseLines) -> TestReport {
    let (mut failures, mut impure, mut count) = (Vec::new(), Vec::new(), 0);
    for group in groups {
        count += group.cases.len();
        let trial = match &group.trial {
            Ok(trial) => trial,
            Err(problems) => {
                let found = json!({"error": "invalid_config", "message": text_of(problems)});
                failures.extend(group.cases.iter().filter_map(|case| judge(world, case, &found)));
                continue;
            }
        };
        let mut alone = Vec::new();
        for case in &group.cases {
            lines.begin_case(&case.name);
            alone.extend(trial.observe(std::slice::from_ref(case)));
        }
        for (case, found) in group.cases.iter().zip(&alone) {
            failures.extend(judge(world, case, found));
        }
        if !asks_others {
            lines.begin_repeating();
            impure.extend(trial.vary(&group.cases, &alone));
        }
    }
    lines.begin_loading();
    let purity = match (asks_others, impure.is_empty()) {
        (true, _) => Purity::NotTried("it asks servers or models, whose answers may differ".to_owned()),
        (false, true) => Purity::Pure,
        (false, false) => Purity::Impure(impure),
    };
    let (lines, omitted_lines) = lines.take();
    TestReport { cases: count, failures, purity, lines, omitted_lines, notes: Vec::new() }
}

/// Groups the cases. `configure` configures a member with parameters.
fn group<'c>(
    cases: &'c [Case],
    configure: impl Fn(Option<&str>, Value) -> Result<CaseRun, Vec<FieldError>>,
) -> Vec<Group<'c>> {
    let mut keys: Vec<(Option<&str>, &Value)> = Vec::new();
    let mut groups: Vec<Group<'c>> = Vec::new();
    for case in cases {
        let key = (case.member.as_deref(), &case.params);
        match keys.iter().position(|one| *one == key) {
            Some(place) => groups[place].cases.push(case),
            None => {
                keys.push(key);
                let trial = configure(case.member.as_deref(), case.params.clone());
                groups.push(Group { trial, cases: vec![case] });
            }
        }
    }
    groups
}

fn text_of(problems: &[FieldError]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Compares a result with the expectation of a case.
fn judge(world: World, case: &Case, found: &Value) -> Option<CaseFailure> {
    let mut list = Vec::new();
    if let Some(expected) = case.body.get("expected_error") {
        match (expected, found["error"].as_str()) {
            (Value::Bool(true), Some(_)) => {}
            (Value::String(kind), Some(error)) if kind == error => {}
            (_, Some(error)) => list.push(format!("expected the error {expected}, found the error {error}")),
            (_, None) => list.push(format!("expected the error {expected}, found none")),
        }
    } else if let Some(error) = found["error"].as_str() {
        let message = found["message"].as_str().unwrap_or_default();
        list.push(format!("found the error {error}: {message}"));
    } else {
        compare(world, case, found, &mut list);
    }
    (!list.is_empty()).then(|| CaseFailure {
        case: case.name.clone(),
        differences: list,
        found: found.clone(),
    })
}

/// Compares each expectation of a case with the matching part of the result.
fn compare(world: World, case: &Case, found: &Value, list: &mut Vec<String>) {
    let mut at = |key: &str, part: &Value, path: &str| {
        if let Some(expected) = case.body.get(key) {
            differences(expected, part, path, list);
        }
    };
    match world {
        World::Metric => {
            at("expected", found, "");
            at("expected_values", &found["values"], "");
        }
        World::Preprocessor => {
            at("expected", &found["sample"], "");
            at("expected_skip", &found["skip"], "skip");
        }
        World::DocHook | World::Extractor => at("expected", &found["result"], ""),
        World::Aggregator => {
            at("expected", &found["figures"], "");
            // A surplus figure is a difference as well.
            let wanted = case.object("expected");
            for name in found["figures"].as_object().into_iter().flat_map(|figures| figures.keys()) {
                if !wanted.contains_key(name) {
                    list.push(format!("{name}: this figure is not expected"));
                }
            }
        }
        World::Judge => {
            at("expected_prompts", &found["prompts"], "prompts");
            at("expected", &found["output"], "");
            at("expected_unparseable", &found["is_unparseable"], "unparseable");
        }
        World::RoleAdapter => {
            at("expected_request", &found["request"], "request");
            at("expected_output", &found["output"], "");
            at("expected", &found["parsed"], "");
        }
        World::Backend => at("expected", found, ""),
    }
}
