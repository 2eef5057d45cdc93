//! `compare`: the verdicts of gates, and their exit codes.

use crate::scripted_backend::{constant_backend, scripted_backend};
use crate::support::{Workspace, suite};
use serde_json::json;

const GATE: &str = "gate:\n  - {metric: exact_match, margin: 0.1}\n";

/// Sixty questions whose right answer is 1, and a suite with a gate.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let row = |number: usize| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": format!("{number}?")}]});
        let id = format!("q{number}");
        json!({"schema_version": "v1", "id": id, "messages": [message], "label": "1", "references": ["1"]})
            .to_string()
            + "\n"
    };
    workspace.write("rows.jsonl", (0..60).map(row).collect::<String>());
    for (name, answer) in [("right", "1"), ("wrong", "0")] {
        let backend = constant_backend(&workspace, answer);
        workspace.write(&format!("{name}.yaml"), suite(&backend, "[exact_match]") + GATE);
    }
    workspace
}

fn run(workspace: &Workspace, suite: &str, run_id: &str, extra: &[&str]) {
    let arguments = [&["run", suite, "--run-id", run_id, "--quiet"], extra].concat();
    workspace.run(&arguments).expect_code(0);
}

#[test]
fn every_verdict_has_its_exit_code() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    run(&workspace, "right.yaml", "same", &[]);
    run(&workspace, "wrong.yaml", "worse", &[]);
    run(&workspace, "right.yaml", "few", &["--max-samples", "10"]);
    run(&workspace, "right.yaml", "warm", &["--set", "custom.sampling_params={temperature: 1}"]);
    workspace.write("strict.yaml", "gate:\n  - {metric: exact_match, margin: 0.01}\n");
    for (arguments, code, part) in [
        (&["base", "same"][..], 0, "PASS"),
        (&["runs/base", "runs/same"], 0, "PASS"),
        (&["base", "worse"], 10, "60 of 60 samples worse"),
        (&["worse", "base"], 0, "60 of 60 samples better"),
        (&["base", "same", "--gate", "strict.yaml"], 11, "samples are needed"),
        (&["base", "same", "--margin", "0.1"], 0, "PASS"),
        (&["base", "few"], 4, "50 only in the baseline"),
        (&["base", "warm"], 3, "settings differ"),
        (&["base", "warm", "--allow", "settings"], 0, "(allowed)"),
    ] {
        let ended = workspace.run(&[&["compare"], arguments].concat()).expect_code(code);
        // Long lines are wrapped.
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{arguments:?}\n{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn compare_warns_of_a_gate_that_the_new_suite_lacks() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    workspace.write("open.yaml", workspace.read("wrong.yaml").replace(GATE, ""));
    run(&workspace, "open.yaml", "worse", &[]);
    let message = "the suite of the baseline has a gate on exact_match of rows (margin 0.1), but that of the new run has none";
    let ended = workspace.run(&["compare", "base", "worse", "--junit", "gate.xml"]).expect_code(0);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("warning: {message}")), "{}", ended.stdout);
    let xml = workspace.read("gate.xml");
    assert!(xml.contains(&format!("<skipped message=\"{message}")), "{xml}");
    let quiet = workspace.run(&["compare", "base", "worse", "--quiet"]).expect_code(0);
    assert!(quiet.stderr.contains(&format!("warning: {message}")), "{}", quiet.stderr);
    // A gate on the command line needs no warning.
    let own = workspace.run(&["compare", "base", "worse", "--margin", "0.2"]).expect_code(10);
    assert!(!own.stdout.contains("warning"), "{}", own.stdout);
    workspace.write("looser.yaml", workspace.read("wrong.yaml").replace("margin: 0.1", "margin: 0.9"));
    run(&workspace, "looser.yaml", "looser", &[]);
    let ended = workspace.run(&["compare", "base", "looser", "--json"]).expect_code(10);
    let comparison = ended.stdout_json();
    let what = comparison["gate_changes"][0]["what"].as_str().expect("a change");
    assert!(what.ends_with("looser than in the suite of the baseline: margin 0.9 instead of 0.1"), "{what}");
}

#[test]
fn gate_that_cannot_fail_is_refused_before_and_after_a_run() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    let message = "as wide as its whole scale, from 0 to 1";
    for margin in ["1", "1.0", "30"] {
        let ended = workspace.run(&["compare", "base", "base", "--margin", margin]).expect_code(2);
        assert!(ended.stderr.contains(message) && ended.stderr.contains("such as 0.01"), "{}", ended.stderr);
    }
    let wide = GATE.replace("0.1", "1");
    workspace.write("suite.yaml", workspace.read("right.yaml").replace(GATE, &wide));
    for arguments in [&["validate", "suite.yaml"][..], &["run", "suite.yaml", "--run-id", "never"]] {
        let ended = workspace.run(arguments).expect_code(2);
        assert!(ended.stderr.contains(message) && ended.stderr.contains("suite.yaml:"), "{}", ended.stderr);
    }
    assert!(!workspace.path("runs/never").exists());
}

#[test]
fn gate_on_an_uncompared_metric_is_refused_before_a_run() {
    let workspace = workspace();
    let text = workspace.read("right.yaml");
    for (metrics, gated, message) in [
        (
            "[exact_match, latency]",
            "latency",
            "the gate on `latency` has no effect: the metric is never compared, since it reads a clock",
        ),
        (
            "[{metric_id: exact_match, aggregation: categorical}]",
            "exact_match",
            "the gate on `exact_match` has no effect: the metric is never compared, since it is aggregated by",
        ),
    ] {
        let gate = format!("gate:\n  - {{metric: {gated}, margin: 0.1}}\n");
        let suite = text.replace(GATE, &gate).replace("[exact_match]", metrics);
        assert!(suite.contains(metrics), "{suite}");
        workspace.write("suite.yaml", suite);
        for command in ["validate", "lock", "plan", "run"] {
            let ended = workspace.run(&[command, "suite.yaml"]).expect_code(2);
            assert!(
                ended.stderr.contains(message) && ended.stderr.contains("suite.yaml:"),
                "{command}\n{}",
                ended.stderr
            );
        }
    }
    assert!(!workspace.path("runs").exists());
}

#[test]
fn runs_with_the_same_id_are_shown_by_their_paths() {
    let workspace = workspace();
    for parent in ["monday", "tuesday"] {
        run(&workspace, "right.yaml", "nightly", &["--output-dir", parent]);
    }
    let [base, new] = ["monday/nightly", "tuesday/nightly"];
    let ended = workspace.run(&["compare", base, new, "--markdown", "gate.md"]).expect_code(0);
    assert!(ended.stdout.contains(&format!("base  {base}  ")), "{}", ended.stdout);
    assert!(ended.stdout.contains(&format!("new   {new}  ")), "{}", ended.stdout);
    let markdown = workspace.read("gate.md");
    assert!(markdown.contains(base) && markdown.contains(new), "{markdown}");
    workspace.run(&["report", base, new, "--output", "report.html"]).expect_code(0);
    let page = workspace.read("report.html");
    assert!(page.contains(&format!("<title>{base} · {new}")), "{}", &page[..page.len().min(2_000)]);
    // A run that is named twice would count twice.
    let refused = workspace.run(&["report", base, new, "./monday/nightly"]).expect_code(2);
    assert!(refused.stderr.contains("error: the run nightly is given twice"), "{}", refused.stderr);
}

#[test]
fn compare_warns_of_clusters_that_the_new_suite_lacks() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &["--set", "custom.cluster_by=sample.label"]);
    run(&workspace, "right.yaml", "new", &[]);
    let ended = workspace.run(&["compare", "base", "new", "--quiet"]).expect_code(0);
    let message = "warning: rows: the suite of the baseline has `cluster_by: sample.label`, that of the new run has none";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
}

#[test]
fn invalid_comparisons_are_explained() {
    let workspace = workspace();
    let clustered = ["--set", "custom.cluster_by=sample.id"];
    run(&workspace, "right.yaml", "base", &clustered);
    run(&workspace, "wrong.yaml", "worse", &clustered);
    workspace.write("zero.yaml", "gate:\n  - {metric: exact_match, margin: 0}\n");
    workspace.write("tiny.yaml", "gate:\n  - {metric: exact_match, margin: 0.1, alpha: 1.0e-12}\n");
    workspace.write("typo.yaml", "gate:\n  - {metric: exact_matc, margin: 0.1}\n");
    workspace.write("word.yaml", "gate:\n  - {metric: exact_match, margin: x, alpha: 0.7}\n");
    workspace.write("key.yaml", "gate:\n  - {metric: exact_match, marign: 0.1}\n");
    for (arguments, parts) in [
        (&["gone", "base"][..], &["there is no run 'gone'", "runs in runs are: base"][..]),
        (&["bas", "base"], &["did you mean 'base'?"]),
        (
            &["base", "base", "--gate", "zero.yaml"],
            &["zero.yaml:2", "`margin` must be greater than 0, found 0"],
        ),
        (
            &["base", "base", "--gate", "word.yaml"],
            &[
                "`margin` must be a number greater than 0, found \"x\" (a string)",
                "`alpha` must be from 1e-9 to 0.5, found 0.7",
            ],
        ),
        (&["base", "base", "--gate", "tiny.yaml"], &["`alpha` must be from 1e-9 to 0.5, found 1e-12"]),
        (&["base", "base", "--gate", "typo.yaml"], &["did you mean 'exact_match'?"]),
        (&["base", "base", "--gate", "key.yaml"], &["key.yaml:2", "did you mean `margin`?"]),
        (&["base", "base", "--gate", "none.yaml"], &["cannot read the gate 'none.yaml'"]),
        (&["base", "base", "--margin", "-1"], &["--margin"]),
        (&["base", "base", "--margin=0"], &["greater than 0"]),
    ] {
        let ended = workspace.run(&[&["compare"], arguments].concat()).expect_code(2);
        for part in parts {
            assert!(ended.stderr.contains(part), "{arguments:?}\n{}", ended.stderr);
        }
    }
    let text = workspace
        .read("right.yaml")
        .replace("{metric: exact_match, margin: 0.1}", "{metric: exact_matc, task: rows, margin: -0.1}");
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("greater than 0, found -0.1"), "{}", ended.stderr);
    workspace.write("suite.yaml", workspace.read("suite.yaml").replace("-0.1", "0.1"));
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("did you mean `exact_match`?"), "{}", ended.stderr);
}

#[test]
fn runs_without_a_common_metric_are_refused() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    let other = workspace.read("right.yaml").replace(GATE, "").replace("[exact_match]", "[contains]");
    workspace.write("other.yaml", other);
    run(&workspace, "other.yaml", "other", &[]);
    let ended = workspace.run(&["compare", "base", "other"]).expect_code(2);
    for part in [
        "the runs have no metric in common",
        "the baseline has: exact_match of task rows; the new run has: contains of task rows",
        "help: score the answers of one run",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert_eq!(ended.stdout, "");
}

#[test]
fn compare_reports_to_build_servers() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    run(&workspace, "wrong.yaml", "worse", &[]);
    let mut command = workspace.program();
    command.args([
        "compare",
        "base",
        "worse",
        "--json",
        "--github",
        "--junit",
        "gate.xml",
        "--markdown",
        "gate.md",
    ]);
    command.args(["--top", "3"]).env("GITHUB_STEP_SUMMARY", workspace.path("summary.md"));
    workspace.write("summary.md", "before\n");
    let ended =
        crate::support::CommandOutput::of(command.output().expect("the program runs")).expect_code(10);
    let comparison = ended.stdout_json();
    assert_eq!(comparison["verdict"], "REGRESSION");
    assert_eq!(comparison["metrics"][0]["flips"].as_array().map(Vec::len), Some(3));
    assert!(ended.stderr.starts_with("::error title=REGRESSION exact_match of rows::60 of 60 samples worse"));
    let xml = workspace.read("gate.xml");
    assert!(xml.contains("<failure message=") && xml.contains(" type=\"REGRESSION\">"), "{xml}");
    assert!(workspace.read("gate.md").starts_with("## REGRESSION"));
    assert_eq!(workspace.read("summary.md"), format!("before\n{}", workspace.read("gate.md")));
    let quiet = workspace.run(&["compare", "base", "worse", "--quiet"]).expect_code(10);
    assert_eq!(quiet.stdout, "REGRESSION: 1 of 1 metric: exact_match of rows\n");
}

/// Only the gate is read from the suite that `--gate` names.
#[test]
fn gate_of_a_suite_needs_only_its_own_variables() {
    let workspace = workspace();
    run(&workspace, "right.yaml", "base", &[]);
    let gate = "api_version: gage/v1alpha1\nkind: PipelineConfig\nbackends:\n  - {backend_id: m, config: {api_key: '${NOT_SET}'}}\n\
                gate:\n  - metric: exact_match\n    margin: ${MARGIN:-0.1}\n";
    workspace.write("gate.yaml", gate);
    workspace.run(&["compare", "base", "base", "--gate", "gate.yaml"]).expect_code(0);
    workspace.write("gate.yaml", gate.replace("${MARGIN:-0.1}", "${MARGIN}"));
    let refused = workspace.run(&["compare", "base", "base", "--gate", "gate.yaml"]).expect_code(2);
    assert!(
        refused.stderr.contains("the environment variable MARGIN is not set")
            && refused.stderr.contains("gate.yaml:7"),
        "{}",
        refused.stderr
    );
}

/// Two hundred translations of eight words, of which each run gets other words wrong.
fn translations(workspace: &Workspace, wrong_words: usize) -> String {
    let reference =
        |number: usize| (0..8).map(|word| format!("w{}", (number * 7 + word * 3) % 50)).collect::<Vec<_>>();
    let row = |number: usize| {
        let message = json!({"role": "user", "content": [{"type": "text", "text": format!("q{number}")}]});
        let reference = reference(number).join(" ");
        json!({
            "schema_version": "v1", "id": format!("q{number}"), "messages": [message], "label": reference,
            "references": [reference],
        })
        .to_string()
            + "\n"
    };
    workspace.write("rows.jsonl", (0..200).map(row).collect::<String>());
    let answer = |number: usize| {
        let mut words = reference(number);
        // From 0 to twice the number of wrong words, so that the texts differ.
        for place in 0..(number % (2 * wrong_words + 1)) {
            words[(number + place) % 8] = "x".to_owned();
        }
        (format!("q{number}"), json!(words.join(" ")))
    };
    let answers: serde_json::Map<_, _> = (0..200).map(answer).collect();
    let backend = scripted_backend(workspace, &json!({"answers": answers}));
    suite(&backend, "[{metric_id: bleu, aggregation: corpus_bleu}]")
        + "gate:\n  - {metric: bleu, margin: 3}\n"
}

#[test]
fn figures_of_a_corpus_are_gated_by_paired_bootstrap() {
    let workspace = Workspace::new();
    for (run_id, wrong, extra) in
        [("base", 1, &["-j", "1"][..]), ("same", 1, &["-j", "16"]), ("worse", 2, &[])]
    {
        let text = translations(&workspace, wrong);
        workspace.write("suite.yaml", text);
        run(&workspace, "suite.yaml", run_id, extra);
    }
    let figure = &workspace.json("base", "summary.json")["metrics"][0];
    let (value, interval) = (figure["value"].as_f64().unwrap(), &figure["interval"]);
    assert_eq!(interval["method"], "bootstrap");
    assert!(
        interval["low"].as_f64().unwrap() < value && value < interval["high"].as_f64().unwrap(),
        "{figure}"
    );
    assert_eq!(workspace.read("runs/base/resamples.json"), workspace.read("runs/same/resamples.json"));
    workspace.run(&["verify", "same"]).expect_code(0);
    for (new, code, verdict) in [("same", 0, "PASS"), ("worse", 10, "REGRESSION")] {
        let found = workspace.run(&["compare", "base", new, "--json"]).expect_code(code).stdout_json();
        let metric = &found["metrics"][0];
        assert_eq!(
            (&metric["test"]["name"], &metric["gate"]["verdict"]),
            (&json!("bootstrap"), &json!(verdict))
        );
        assert_eq!(metric["base"].as_f64(), Some(value), "{metric}");
    }
    let path = workspace.path("runs/same/resamples.json");
    std::fs::write(path, "{}").unwrap();
    let ended = workspace.run(&["verify", "same"]).expect_code(3);
    assert!(ended.stdout.contains("resamples.json"), "{}", ended.stdout);
}

#[test]
fn several_runs_on_one_baseline_raise_the_error_rate() {
    let workspace = workspace();
    for run_id in ["base", "monday", "tuesday"] {
        run(&workspace, "right.yaml", run_id, &[]);
        if run_id == "base" {
            workspace.run(&["runs", "baseline", "base"]).expect_code(0);
        }
    }
    let ended = workspace.run(&["compare", "tuesday", "--quiet"]).expect_code(0);
    let expected =
        "2 runs of this suite are newer than its baseline: if each is compared with it at alpha 0.05";
    assert!(ended.stderr.contains(expected) && ended.stderr.contains("up to 10 %"), "{}", ended.stderr);
    assert_eq!(workspace.run(&["compare", "base", "tuesday", "--quiet"]).expect_code(0).stderr, "");
}

#[test]
fn a_figure_of_a_corpus_is_judged_only_if_it_can_be() {
    let workspace = Workspace::new();
    workspace.write("suite.yaml", translations(&workspace, 1));
    run(&workspace, "suite.yaml", "base", &[]);
    // Fewer samples of the same dataset: the figures are of different samples.
    workspace
        .run(&["run", "suite.yaml", "--run-id", "fewer", "--quiet", "--max-samples", "195"])
        .expect_code(0);
    workspace.write("gate.yaml", "gate:\n  - {metric: bleu, margin: 3, min_coverage: 0.9}\n");
    let ended = workspace.run(&["compare", "base", "fewer", "--gate", "gate.yaml", "--json"]).expect_code(11);
    let reason = ended.stdout_json()["metrics"][0]["gate"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the baseline scored 200 samples and the new run 195"), "{reason}");
    // Too few samples for a bootstrap, which is reported before the run.
    let ended =
        workspace.run(&["run", "suite.yaml", "--run-id", "few", "--max-samples", "50"]).expect_code(0);
    assert!(ended.stderr.contains("50 samples are too few to compare it"), "{}", ended.stderr);
    let figure = &workspace.json("few", "summary.json")["metrics"][0];
    assert!(figure["value"].is_number() && figure["interval"].is_null(), "{figure}");
    assert!(figure["no_resamples"].as_str().unwrap().contains("about 90 are needed"), "{figure}");
    workspace
        .run(&["run", "suite.yaml", "--run-id", "again", "--quiet", "--max-samples", "50"])
        .expect_code(0);
    let ended = workspace.run(&["compare", "few", "again", "--json"]).expect_code(11);
    let found = ended.stdout_json();
    let reason = found["metrics"][0]["gate"]["reason"].as_str().unwrap();
    assert!(reason.contains("the figure cannot be compared") && reason.contains("about 90"), "{reason}");
    assert_eq!(found["metrics"][0]["base"], figure["value"]);
}
