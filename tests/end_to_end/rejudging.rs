//! Judges that are asked again about recorded answers.

use crate::judged_runs::{model, suite, workspace};
use crate::judging::{judged_question, prompt_of};
use crate::server::{Server, completion, completion_with_reason, question_number};
use crate::support::judged_suite;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wiremock::ResponseTemplate;

const ROWS: usize = 12;
const JUDGE: &str = "{step: judge, attempts: 1}";
const RUN: [&str; 4] = ["run", "suite.yaml", "--run-id", "r"];

/// A judge that gives 1, or 0.5 once it is strict.
fn judge() -> (Server, Arc<AtomicBool>) {
    let is_strict = Arc::new(AtomicBool::new(false));
    let strict = Arc::clone(&is_strict);
    let server = Server::start(move |request| {
        assert_ne!(judged_question(&prompt_of(request)), usize::MAX, "the prompt has a question");
        let score = if strict.load(Ordering::SeqCst) { 0.5 } else { 1.0 };
        completion(&format!("CORRECT: yes\nSCORE: {score}"))
    });
    (server, is_strict)
}

#[test]
fn recorded_answers_are_judged_again_without_the_model() {
    let (model, (judge, is_strict), workspace) = (model(), judge(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, ""));
    workspace.run(&RUN).expect_code(0);
    let (of_model, of_judge) = (model.requests(), judge.requests());
    is_strict.store(true, Ordering::SeqCst);
    let ended = workspace.run(&["score", "runs/r", "--judge", "judge", "--run-id", "again"]).expect_code(0);
    assert!(ended.stdout.contains(&format!("{ROWS} of {ROWS} samples judged now")), "{}", ended.stdout);
    assert_eq!((model.requests() - of_model, judge.requests() - of_judge), (0, ROWS));
    let value = |run: &str| {
        let summary = workspace.json(run, "summary.json");
        let judged = summary["metrics"]
            .as_array()
            .expect("metrics")
            .iter()
            .find(|figure| figure["metric_id"] == "judge_score");
        judged.expect("a figure")["value"].clone()
    };
    assert_eq!((value("r"), value("again")), (json!(1.0), json!(0.5)));
    assert_eq!(workspace.json("again", "manifest.json")["parent_run"], "r");
    let answers =
        |run: &str| workspace.samples(run).iter().map(|one| one["model_output"].clone()).collect::<Vec<_>>();
    assert_eq!(answers("again"), answers("r"));
    let ended = workspace.run(&["score", "runs/r", "--judge", "jugde"]).expect_code(2);
    assert!(
        ended.stderr.contains("the suite has no judge `jugde`; expected one of: judge"),
        "{}",
        ended.stderr
    );
}

/// Samples that the model failed keep their outcomes and stay in the total.
#[test]
fn failed_samples_are_copied_and_never_judged() {
    let model = Server::start(|request| match question_number(request) {
        1 => ResponseTemplate::new(400),
        2 => completion(""),
        3 => completion_with_reason("answer", "length"),
        4 => completion_with_reason("answer 4", "content_filter"),
        number => completion(&format!("answer {number}")),
    });
    let ((judge, _), workspace) = (judge(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, ""));
    workspace.run(&RUN).expect_code(4);
    let outcomes = |run: &str| {
        let samples = workspace.samples(run);
        samples.iter().map(|one| one["outcome"].clone()).collect::<Vec<_>>()
    };
    let before = outcomes("r");
    assert_eq!(
        before[1..5],
        ["backend_error", "empty_output", "truncated", "refused"].map(|name| json!(name))
    );
    let asked = judge.requests();
    workspace.run(&["score", "runs/r", "--judge", "judge", "--run-id", "again"]).expect_code(4);
    assert_eq!((outcomes("again"), judge.requests() - asked), (before.clone(), ROWS - 4));
    let total = |run: &str| workspace.json(run, "summary.json")["samples"].clone();
    assert_eq!(total("again"), total("r"));
    workspace.run(&[&RUN[..], &["--resume", "--rejudge"]].concat()).expect_code(4);
    assert_eq!(outcomes("r"), before);
}

/// A judge that failed once is asked again about this answer only.
#[test]
fn judged_copy_of_a_run_is_resumed() {
    let (model, workspace) = (model(), workspace(ROWS));
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let judge = Server::start(move |request| match judged_question(&prompt_of(request)) {
        3 if down.load(Ordering::SeqCst) => ResponseTemplate::new(400),
        _ => completion("CORRECT: yes\nSCORE: 1"),
    });
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, ""));
    workspace.run(&RUN).expect_code(0);
    is_down.store(true, Ordering::SeqCst);
    workspace.run(&["score", "runs/r", "--judge", "judge", "--run-id", "again"]).expect_code(4);
    is_down.store(false, Ordering::SeqCst);
    let (of_model, of_judge) = (model.requests(), judge.requests());
    workspace.run(&["run", "suite.yaml", "--run-id", "again", "--resume"]).expect_code(0);
    assert_eq!((model.requests() - of_model, judge.requests() - of_judge), (0, 1));
    assert!(workspace.samples("again").iter().all(|one| one["judge_output"]["score"] == 1.0));
}

#[test]
fn changed_judge_is_asked_again_on_resume() {
    let (model, (judge, is_strict), workspace) = (model(), judge(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, ""));
    workspace.run(&RUN).expect_code(0);
    let (of_model, of_judge) = (model.requests(), judge.requests());
    is_strict.store(true, Ordering::SeqCst);
    workspace.write("suite.yaml", suite(&model, &judge, "{step: judge, judge: verdict, attempts: 2}", ""));
    let ended = workspace.run(&[&RUN[..], &["--resume"]].concat()).expect_code(2);
    assert!(ended.stderr.contains("cannot be resumed"), "{}", ended.stderr);
    workspace.run(&[&RUN[..], &["--resume", "--rejudge"]].concat()).expect_code(0);
    assert_eq!((model.requests() - of_model, judge.requests() - of_judge), (0, ROWS));
    let scores: Vec<_> =
        workspace.samples("r").iter().map(|one| one["judge_output"]["score"].clone()).collect();
    assert_eq!(scores, vec![json!(0.5); ROWS]);
    // A changed prompt of the model gives other answers.
    let other = workspace.read("suite.yaml").replace("{{ sample.messages", "Hi. {{ sample.messages");
    workspace.write("suite.yaml", other);
    let ended = workspace.run(&[&RUN[..], &["--resume", "--rejudge"]].concat()).expect_code(2);
    assert!(ended.stderr.contains("cannot be judged again"), "{}", ended.stderr);
    assert_eq!(model.requests(), of_model);
}

/// One reply that cannot be read lowers the coverage of the metrics that read it, and of no other.
#[test]
fn unreadable_verdict_leaves_other_metrics_their_scores() {
    let judge = Server::start(|request| match judged_question(&prompt_of(request)) {
        3 => completion("I would rather not say."),
        _ => completion("CORRECT: yes\nSCORE: 1"),
    });
    let (model, workspace) = (model(), workspace(ROWS));
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, ""));
    let ended = workspace.run(&RUN).expect_code(4);
    let figures = workspace.json("r", "summary.json")["metrics"].clone();
    let counts = |metric: &str| {
        let figures = figures.as_array().expect("metrics");
        let figure = figures.iter().find(|figure| figure["metric_id"] == metric).expect("a figure");
        (figure["n"].clone(), figure["outcomes"]["judge_unparseable"].clone())
    };
    assert_eq!(counts("exact_match"), (json!(12), json!(null)));
    assert_eq!(counts("judge_score"), (json!(11), json!(1)));
    assert!(ended.stderr.contains("11 of 12 samples"), "{}", ended.stderr);
}

/// A server gets the images of a Sample with the prompt of a judge. A judge without eyes gives a warning.
#[test]
fn judges_see_the_media_of_a_sample() {
    let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let content =
        json!([{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": "question 0"}]);
    let row =
        json!({"id": "q", "messages": [{"role": "user", "content": content}], "references": ["answer 0"]});
    let judge = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let model = Server::start(|_| completion("answer 0"));
    for (step, sees) in [(JUDGE, true), ("{step: judge, attempts: 1, media: false}", false)] {
        let workspace = workspace(0);
        workspace.write("rows.jsonl", format!("{row}\n"));
        workspace.write("suite.yaml", suite(&model, &judge, step, "").replace(", prompt_id: ask}", "}"));
        workspace.run(&RUN).expect_code(0);
        let body = judge.bodies().last().map(ToString::to_string).unwrap_or_default();
        assert_eq!(body.contains("data:image/png;base64,"), sees, "{step}: {body}");
    }
    let workspace = workspace(0);
    workspace.write("rows.jsonl", format!("{row}\n"));
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    let script = "type: custom_script\n    config: {component: ./scripted.wasm, config: {default: 'CORRECT: yes\\nSCORE: 1'}}";
    let steps = format!("[{{step: inference}}, {JUDGE}, {{step: auto_eval}}]");
    let text =
        judged_suite(&model.backend(""), &script.replace("\\n", "\\\\n"), "", "[judge_score]", &steps, "");
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&RUN);
    assert!(ended.stderr.contains("the judge does not see media of samples"), "{}", ended.stderr);
}

/// The verdicts of a run beside labels of people. Expected figures: 2 of 3 equal, and kappa by hand.
#[test]
fn judge_is_calibrated_with_labels() {
    let judge = Server::start(|request| match judged_question(&prompt_of(request)) {
        0 => completion("CORRECT: no\nSCORE: 0"),
        3 => completion("I would rather not say."),
        _ => completion("CORRECT: yes\nSCORE: 1"),
    });
    let (model, workspace) = (model(), workspace(5));
    let pricing = "pricing: [{backend_id: judges, prompt: 1000, completion: 10000}]\n";
    workspace.write("suite.yaml", suite(&model, &judge, JUDGE, "  min_coverage: 0.5\n") + pricing);
    workspace.run(&RUN).expect_code(0);
    let cost = workspace.samples("r")[0]["judge_output"]["cost"].as_f64().expect("a cost");
    assert!((cost - 0.023).abs() < 1e-12, "3 tokens at 0.001 and 2 at 0.01: {cost}");
    let labels = [("q0", "no"), ("q1", "yes"), ("q2", "no"), ("q3", "yes")];
    let line = |(id, label): (&str, &str)| json!({"sample_id": id, "label": label}).to_string() + "\n";
    workspace.write("labels.jsonl", labels.map(line).concat());
    let calibrate = ["judge", "calibrate", "r", "--labels", "labels.jsonl"];
    let found = workspace.run(&[&calibrate[..], &["--json"]].concat()).expect_code(0).stdout_json();
    assert_eq!((&found["answers"], &found["counts"]["only_judge"]), (&json!(3), &json!(1)), "{found}");
    assert_eq!((&found["without_label"], &found["without_verdict"]), (&json!(1), &json!(1)), "{found}");
    let kappa = found["kappa"]["value"].as_f64().expect("a number");
    assert!((kappa - 0.4).abs() < 1e-9, "{found}");
    // The judge accepts three of four answers, and people one of the three with both.
    assert_eq!(found["accepted"]["judged"], 0.75, "{found}");
    let corrected = found["accepted"]["prediction_powered"]["value"].as_f64().expect("a number");
    assert!((0.3..=0.5).contains(&corrected), "{found}");
    let shown = workspace.run(&calibrate).expect_code(0).stdout;
    for expected in ["Cohen's kappa", "0.4000", "accepted", "0.7500", "corrected", "by error rates"] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let other =
        workspace.run(&[&calibrate[..], &["--correct", "r", "--json"]].concat()).expect_code(0).stdout_json();
    assert_eq!(other["accepted"]["rogan_gladen"], found["accepted"]["rogan_gladen"], "{other}");
    assert!(other["accepted"].get("prediction_powered").is_none(), "{other}");
    let ended = workspace.run(&[&calibrate[..], &["--correct", "nobody"]].concat()).expect_code(2);
    assert!(ended.stderr.contains("there is no run"), "{}", ended.stderr);
    workspace.write("labels.jsonl", "{\"sample_id\": \"q0\", \"label\": \"perhaps\"}\n");
    let ended = workspace.run(&calibrate).expect_code(2);
    assert!(
        ended.stderr.contains("line 1 of 'labels.jsonl'")
            && ended.stderr.contains("\"perhaps\" is not a label"),
        "{}",
        ended.stderr
    );
    // The requests of a sample can be looked up.
    let shown = workspace.run(&["runs", "show", "r", "--sample", "q1"]).expect_code(0).stdout;
    for expected in ["to dut", "question 1", "to judge", "[BEGIN QUESTION", "SCORE: 1", "judge_score 1"] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let ended = workspace.run(&["runs", "show", "r", "--sample", "q9"]).expect_code(2);
    assert!(ended.stderr.contains("has no sample `q9`"), "{}", ended.stderr);
}

/// A helper cleans the answer before it is scored; its text is recorded next to the original.
#[test]
fn helper_after_inference_sets_the_answer() {
    let model = Server::start(|request| {
        completion(&format!("I think that it is answer {}, thank you.", question_number(request)))
    });
    let helper = Server::start(|request| {
        let text = prompt_of(request);
        let number = text.split("answer ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
        completion(&format!("answer {number}"))
    });
    let workspace = workspace(4);
    let prompts = "prompts: [{prompt_id: clean, template: 'Extract: {{ payload.model_output.answer }}'}]\n";
    let steps =
        "[{step: inference}, {step: support, adapter_id: cleaner, sets_answer: true}, {step: auto_eval}]";
    let text = judged_suite(&model.backend(""), &helper.backend(""), "", "[exact_match]", steps, prompts)
        .replace(
            "adapter_id: judge, role_type: judge_model,",
            "adapter_id: cleaner, role_type: helper_model, prompt_id: clean,",
        );
    workspace.write("suite.yaml", &text);
    workspace.run(&RUN).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    let sample = workspace.samples("r")[2].clone();
    assert_eq!(sample["model_output"]["answer"], "answer 2");
    assert_eq!(sample["model_output"]["original_answer"], "I think that it is answer 2, thank you.");
    assert_eq!(sample["support_output"]["cleaner"]["context"], "answer 2");
    let shown =
        workspace.run(&["runs", "show", "r", "--sample", "q2", "--json"]).expect_code(0).stdout_json();
    let texts: Vec<(&Value, &Value)> = shown["requests"]
        .as_array()
        .expect("requests")
        .iter()
        .map(|request| (&request["adapter_id"], &request["messages"][0]["content"]))
        .collect();
    let [(one, asked), (two, cleaned)] = texts[..] else { panic!("{shown:#}") };
    assert_eq!((one, two), (&json!("dut"), &json!("cleaner")));
    assert!(asked.to_string().contains("question 2") && !asked.to_string().contains("answer 2"), "{asked}");
    assert!(cleaned.to_string().contains("Extract: I think that it is answer 2"), "{cleaned}");
    let printed = workspace.run(&["runs", "show", "r", "--sample", "q2"]).expect_code(0).stdout;
    assert!(printed.contains("I think that it is answer 2, thank you."), "{printed}");
    let early = text.replace("[{step: inference}, {step: support", "[{step: support").replace(
        "sets_answer: true}, {step: auto_eval}",
        "sets_answer: true}, {step: inference}, {step: auto_eval}",
    );
    workspace.write("early.yaml", early);
    let ended = workspace.run(&["validate", "early.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("with `sets_answer` follows `inference`"), "{}", ended.stderr);
}

/// The model's right answer is not scored as a wrong one.
#[test]
fn empty_reply_of_a_helper_is_no_wrong_answer() {
    let helper = Server::start(|_| completion(" "));
    let (model, workspace) = (model(), workspace(2));
    let prompts = "prompts: [{prompt_id: clean, template: 'Extract: {{ payload.model_output.answer }}'}]\n";
    let steps =
        "[{step: inference}, {step: support, adapter_id: cleaner, sets_answer: true}, {step: auto_eval}]";
    let text = judged_suite(&model.backend(""), &helper.backend(""), "", "[exact_match]", steps, prompts)
        .replace(
            "adapter_id: judge, role_type: judge_model,",
            "adapter_id: cleaner, role_type: helper_model, prompt_id: clean,",
        );
    workspace.write("suite.yaml", text);
    workspace.run(&RUN).expect_code(4);
    let sample = workspace.samples("r")[0].clone();
    assert_eq!(
        (&sample["outcome"], &sample["error"]["kind"]),
        (&json!("empty_output"), &json!("empty_reply"))
    );
}
