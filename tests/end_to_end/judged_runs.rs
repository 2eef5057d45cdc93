//! Runs with judges whose replies are unreadable, fail, or are missing when the process ends.

use crate::judging::{judged_question, prompt_of};
use crate::killed_runs::{journal_header, journal_id, pseudo_random, write_running_manifest};
use crate::server::{Server, completion, question_number};
use crate::support::{RESULT_FILES, Workspace, judged_suite, rows};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wiremock::ResponseTemplate;

const ROWS: usize = 40;

/// Returns a suite whose model and whose judge are servers.
pub(crate) fn suite(model: &Server, judge: &Server, step: &str, extra: &str) -> String {
    let (model, judge) = (model.backend(""), judge.backend(", max_retries: 0"));
    let steps = format!("[{{step: inference}}, {step}, {{step: auto_eval}}]");
    let prompt = "prompts:\n  - {prompt_id: ask, template: '{{ sample.messages[0].content[0].text }}'}\n";
    let extra = format!("{extra}{prompt}");
    judged_suite(&model, &judge, ", prompt_id: ask", "[exact_match, judge_score]", &steps, &extra)
}

/// Returns a [`suite`] whose judge has a prompt of the suite.
fn suite_with_grade_prompt(model: &Server, judge: &Server, step: &str) -> String {
    let prompt = "prompts:\n  - {prompt_id: grade, template: 'Grade {{ payload.model_output.answer }}'}\n";
    suite(model, judge, step, "")
        .replace("prompts:\n", prompt)
        .replace("role_type: judge_model,", "role_type: judge_model, prompt_id: grade,")
}

const ONE_JUDGE: &str = "{step: judge, attempts: 1}";

pub(crate) fn workspace(count: usize) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(count));
    workspace
}

pub(crate) fn model() -> Server {
    Server::start(|request| completion(&format!("answer {}", question_number(request) % 7)))
}

fn graded_reply(request: &wiremock::Request) -> ResponseTemplate {
    let score = if judged_question(&prompt_of(request)).is_multiple_of(2) { 1.0 } else { 0.5 };
    completion(&format!("Fine.\nCORRECT: yes\nSCORE: {score}"))
}

const ARGUMENTS: [&str; 6] = ["run", "suite.yaml", "--run-id", "r", "--concurrency", "4"];

#[test]
fn run_killed_before_its_judges_replied_asks_only_them_again() {
    let goes_on = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&goes_on);
    let judge = Server::start(move |request| {
        let is_held = judged_question(&prompt_of(request)) >= 5 && !open.load(Ordering::SeqCst);
        if is_held {
            graded_reply(request).set_delay(Duration::from_secs(3_600))
        } else {
            graded_reply(request)
        }
    });
    let (model, workspace) = (model(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, ONE_JUDGE, ""));
    let mut child = workspace.start_silent(&ARGUMENTS);
    let journal = || {
        let text = std::fs::read(workspace.path("runs/r/journal/000001.jsonl")).unwrap_or_default();
        String::from_utf8_lossy(&text).matches(r#""awaits_judges":true"#).count()
    };
    let began = Instant::now();
    // Five answers are judged, and four more wait for their judge.
    while journal() < 9 {
        assert!(child.try_wait().expect("its state").is_none(), "the run ended");
        assert!(began.elapsed() < Duration::from_secs(120), "{} answers are in the journal", journal());
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    let (acknowledged, before) = (journal(), model.requests());
    assert!(acknowledged < ROWS, "{acknowledged} answers");
    goes_on.store(true, Ordering::SeqCst);
    workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(model.requests() - before, ROWS - acknowledged, "of {acknowledged} the model was asked again");
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    workspace.run(&["verify", "r"]).expect_code(0);
}

/// Some of the cuts are between an answer and its judgement.
#[test]
fn judged_journal_cut_at_any_byte_resumes_to_the_same_bytes() {
    let (model, judge, workspace) = (model(), Server::start(graded_reply), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, ONE_JUDGE, ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    let whole = workspace.read("runs/whole/journal/000001.jsonl");
    let mut between = 0;
    for number in 0..12 {
        let run_id = format!("torn-{number}");
        let (_, records) = whole.split_once('\n').expect("a header");
        let records = &records.as_bytes()[..pseudo_random(number) % records.len()];
        workspace.write(
            &format!("runs/{run_id}/journal/000001.jsonl"),
            [&journal_header(&run_id, &journal_id(&workspace, "whole"))[..], records].concat(),
        );
        write_running_manifest(&workspace, "whole", &run_id);
        let acknowledged = records.iter().filter(|byte| **byte == b'\n').count();
        let text = String::from_utf8_lossy(records);
        let lines = || text.lines().take(acknowledged);
        let answered = lines().filter(|line| line.contains(r#""awaits_judges":true"#)).count();
        let judged = lines().filter(|line| line.contains(r#""judge_output""#)).count();
        between += usize::from(answered > judged);
        let before = (model.requests(), judge.requests());
        workspace.run(&["run", "suite.yaml", "--run-id", &run_id, "--resume"]).expect_code(0);
        let asked = (model.requests() - before.0, judge.requests() - before.1);
        assert_eq!(asked, (ROWS - answered, ROWS - judged), "{run_id}");
        workspace.assert_equal_files(&run_id, "whole", &RESULT_FILES);
        let fuel = |run: &str| workspace.scoring_fuel(run, 0);
        assert_eq!(fuel(&run_id), fuel("whole"), "{run_id}");
    }
    assert!(between > 0, "no journal ended between an answer and its judgement");
}

#[test]
fn only_a_failed_judge_is_asked_again() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let judge = Server::start(move |request| match judged_question(&prompt_of(request)) % 10 {
        _ if well.load(Ordering::SeqCst) => graded_reply(request),
        3 => ResponseTemplate::new(500),
        4 => completion("I would rather not say."),
        _ => graded_reply(request),
    });
    let (model, workspace) = (model(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, ONE_JUDGE, ""));
    let ended = workspace.run(&ARGUMENTS).expect_code(4);
    assert!(ended.stdout.contains("4 backend_error, 4 judge_unparseable"), "{}", ended.stdout);
    is_well.store(true, Ordering::SeqCst);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    let (of_model, of_judge) = (model.requests(), judge.requests());
    workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(4);
    assert_eq!((model.requests() - of_model, judge.requests() - of_judge), (0, 4));
    let retry = ["--resume", "--retry", "judge_unparseable"];
    workspace.run(&[&ARGUMENTS[..], &retry].concat()).expect_code(0);
    assert_eq!((model.requests() - of_model, judge.requests() - of_judge), (0, 8));
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    assert_eq!(
        workspace.json("r", "timings.json")["requests"],
        0,
        "the last process asked the model nothing"
    );
}

#[test]
fn unreadable_judge_shows_in_the_figures() {
    let judge = Server::start(|request| {
        let text = prompt_of(request);
        let is_late = judged_question(&text) == 2 && !text.contains("could not be read");
        match text.contains("Be strict") {
            true => completion("I would rather not say."),
            false if is_late => completion("Hm."),
            false => graded_reply(request),
        }
    });
    let (model, workspace) = (model(), workspace(5));
    let step = "{step: judge, attempts: 2, judges: [{judge_id: kind, adapter_id: judge}, \
                {judge_id: strict, adapter_id: judge, judge: {verdict: {instructions: Be strict.}}}]}";
    workspace.write("suite.yaml", suite(&model, &judge, step, ""));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!(
        workspace.json("r", "summary.json")["tasks"][0]["judges"],
        json!([
            {"judge_id": "kind", "asked": 5, "readable": 5, "unreadable": 0, "asked_again": 1, "coverage": 1.0},
            {"judge_id": "strict", "asked": 5, "readable": 0, "unreadable": 5, "asked_again": 5, "coverage": 0.0},
        ])
    );
    let line = "judge strict: no reply could be read about 5 of 5 answers; it was asked again about 5";
    assert!(ended.stdout.contains(line) && !ended.stdout.contains("judge kind"), "{}", ended.stdout);
}

#[test]
fn judge_with_a_position_bias_prefers_neither_answer() {
    let judge = Server::start(|_| completion("Clear.\nWINNER: A"));
    let (model, workspace) = (model(), workspace(1));
    workspace.write(
        "rows.jsonl",
        r#"{"id": "q", "question": "question 1", "answer": "7", "metadata": {"baseline": "the baseline"}}"#,
    );
    workspace.write("suite.yaml", suite(&model, &judge, "{step: judge, judge: pairwise}", ""));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let output = &workspace.samples("r")[0]["judge_output"];
    assert_eq!((&output["score"], &output["position_consistent"]), (&json!(0.5), &json!(false)), "{output}");
    assert_eq!((judge.requests(), output["replies"].as_array().map(Vec::len)), (2, Some(2)));
}

#[test]
fn judge_with_prompts_of_its_own_refuses_the_prompt_of_a_role() {
    let judge = Server::start(|_| completion("WINNER: A"));
    let (model, workspace) = (model(), workspace(1));
    let text = suite_with_grade_prompt(&model, &judge, "{step: judge, judge: pairwise}");
    workspace.write("suite.yaml", &text);
    for command in ["validate", "plan", "run"] {
        let ended = workspace.run(&[command, "suite.yaml"]).expect_code(2);
        for part in
            ["the judge `pairwise` uses several prompts of its own", "remove `prompt_id` from the role"]
        {
            assert!(ended.stderr.contains(part), "{command}: {}", ended.stderr);
        }
    }
    assert_eq!(judge.requests(), 0);
}

#[test]
fn every_result_names_its_prompts() {
    let judge = Server::start(graded_reply);
    let (model, workspace) = (model(), workspace(3));
    let text = suite_with_grade_prompt(&model, &judge, ONE_JUDGE);
    workspace.write("suite.yaml", &text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let version_of = |run: &str| {
        let version = workspace.json(run, "summary.json")["metrics"][0]["prompt_version"].clone();
        assert_eq!(workspace.samples(run)[0]["metrics"].as_array().map(Vec::len), Some(2));
        let named = format!(r#""prompt_version":{version}"#);
        for scores in scores_in_journal(&workspace, run) {
            assert_eq!(scores.matches(&named).count(), 2, "{scores}");
        }
        version.as_str().unwrap_or_default().to_owned()
    };
    let version = version_of("r");
    assert_eq!(prompt_names(&version), ["ask", "grade"], "{version}");

    // Rescoring keeps the prompt version of the answers.
    workspace.run(&["score", "runs/r", "--run-id", "again"]).expect_code(0);
    workspace.assert_equal_files("again", "r", &RESULT_FILES);
    let metric = ["score", "runs/r", "--run-id", "other", "--metric", "contains"];
    workspace.run(&metric).expect_code(0);
    assert_eq!(workspace.json("other", "summary.json")["metrics"][0]["prompt_version"], version.as_str());
    workspace.run(&["export", "r", "--format", "csv", "--out", "figures.csv"]).expect_code(0);
    let table = workspace.read("figures.csv");
    assert!(table.lines().nth(1).is_some_and(|line| line.contains(&version)), "{table}");

    // Another prompt has another version.
    workspace.write("suite.yaml", text.replace("Grade {{", "Judge {{"));
    workspace.run(&["run", "suite.yaml", "--run-id", "changed"]).expect_code(0);
    assert_ne!(version_of("changed"), version);
    let compared = workspace.run(&["compare", "r", "changed", "--json"]).stdout_json();
    assert!(compared["differences"].to_string().contains("judge"), "{compared:#}");
}

/// Returns the lines of the journal with scores.
fn scores_in_journal(workspace: &Workspace, run: &str) -> Vec<String> {
    let journal = workspace.read(&format!("runs/{run}/journal/000001.jsonl"));
    let scores: Vec<String> =
        journal.lines().filter(|line| line.contains(r#""scores":"#)).map(str::to_owned).collect();
    assert!(!scores.is_empty());
    scores
}

/// Returns the names in a prompt version.
fn prompt_names(version: &str) -> Vec<&str> {
    version.split(['@', '+']).step_by(2).collect()
}

#[test]
fn prompt_version_names_the_components_that_write_prompts() {
    let judge = Server::start(|request| match prompt_of(request).contains("WINNER") {
        true => completion("Clear.\nWINNER: TIE"),
        false => graded_reply(request),
    });
    let (model, workspace) = (model(), workspace(2));
    let version_of = |run: &str, step: &str, has_prompt: bool| {
        let text = suite(&model, &judge, step, "");
        let text = if has_prompt { text } else { text.replace(", prompt_id: ask", "") };
        workspace.write("suite.yaml", text);
        workspace.run(&["run", "suite.yaml", "--run-id", run]).expect_code(0);
        let version = workspace.json(run, "summary.json")["metrics"][0]["prompt_version"].clone();
        let figure = &workspace.json(run, "summary.json")["metrics"][0];
        assert_eq!(figure["schema_version"], "v1");
        assert!(figure["scorer_version"].as_str().is_some_and(|number| number.parse::<u32>().is_ok()));
        let named = format!(
            r#""schema_version":"v1","scorer_version":{},"prompt_version":{version}"#,
            figure["scorer_version"]
        );
        assert!(scores_in_journal(&workspace, run).iter().all(|scores| scores.contains(&named)), "{named}");
        version.as_str().unwrap_or_default().to_owned()
    };
    let instructed =
        |instructions: &str| format!("{{step: judge, judge: {{verdict: {{instructions: {instructions}}}}}}}");
    let versions = [
        ("usual", ONE_JUDGE.to_owned(), true, vec!["ask", "verdict"]),
        ("strict", instructed("Be strict."), true, vec!["ask", "verdict"]),
        ("kind", instructed("Be kind."), true, vec!["ask", "verdict"]),
        ("pairs", "{step: judge, judge: pairwise}".to_owned(), true, vec!["ask", "pairwise"]),
        ("plain", ONE_JUDGE.to_owned(), false, vec!["default", "verdict"]),
    ]
    .map(|(run, step, has_prompt, expected)| {
        let version = version_of(run, &step, has_prompt);
        assert_eq!(prompt_names(&version), expected, "{version}");
        version
    });
    for (place, version) in versions.iter().enumerate() {
        assert!(!versions[..place].contains(version), "{version} stands for two");
    }

    // Another run of the same suite has the same version, and rescoring by another suite keeps it.
    assert_eq!(version_of("again", ONE_JUDGE, true), versions[0]);
    workspace.write("other.yaml", suite(&model, &judge, &instructed("Be kind."), ""));
    workspace.run(&["score", "runs/usual", "--config", "other.yaml", "--run-id", "rescored"]).expect_code(0);
    assert_eq!(
        workspace.json("rescored", "summary.json")["metrics"][0]["prompt_version"],
        versions[0].as_str()
    );
}
