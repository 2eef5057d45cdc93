//! Exports for lm-evaluation-harness.

use super::*;

#[test]
fn lm_eval_has_the_layout_of_the_harness() {
    let (root, written) = exported(ExportFormat::LmEval);
    assert_eq!(
        names(&written, &root),
        [
            "lab__small model/samples_written_2026-01-31T09-05-00.jsonl",
            "lab__small model/samples_chosen_2026-01-31T09-05-00.jsonl",
            "lab__small model/results_2026-01-31T09-05-00.json",
        ]
    );
    let samples = lines_at(&written.files[0]);
    assert_eq!(samples.len(), 6);
    samples.iter().for_each(|line| check("lm_eval.SampleResult", line));
    assert_eq!(samples[0]["arguments"]["gen_args_0"]["arg_0"], HOSTILE);
    assert_eq!(samples[0]["arguments"]["gen_args_0"]["arg_1"]["max_gen_toks"], 64);
    assert_eq!(samples[0]["resps"], json!([[format!("so: {HOSTILE}")]]));
    assert_eq!((&samples[0]["filtered_resps"], &samples[0]["target"]), (&json!([HOSTILE]), &json!(HOSTILE)));
    assert_eq!((&samples[1]["m"], &samples[1]["metrics"]), (&json!(1.0), &json!(["m", "latency"])));
    assert_eq!((samples[5].get("m"), &samples[5]["metrics"]), (None, &json!([])));
    assert_eq!(samples[4]["doc"]["row"], HOSTILE);
    assert_eq!(samples[5]["doc"]["gage_host"]["outcome"], "backend_error");

    let chosen = &lines_at(&written.files[1])[0];
    check("lm_eval.SampleResult", chosen);
    assert_eq!(chosen["filtered_resps"], json!([["-1.5", "False"], ["-0.25", "True"]]));
    assert_eq!(chosen["arguments"]["gen_args_1"], json!({"arg_0": HOSTILE, "arg_1": HOSTILE}));

    let mut results = json_at(&written.files[2]);
    let of_written = &results["results"]["written"];
    assert_eq!((&of_written["m,none"], &of_written["sample_count"]["m,none"]), (&json!(0.5), &json!(4)));
    assert_eq!(results["results"]["chosen"]["m_stderr,none"], "N/A");
    assert_eq!(results["n-samples"]["written"], json!({"original": 6, "effective": 6}));
    assert_eq!(results["configs"]["written"]["generation_kwargs"]["until"], json!(["\n"]));
    for (task, kind) in [("written", "generate_until"), ("chosen", "multiple_choice")] {
        let config = &results["configs"][task];
        check("lm_eval.TaskConfig", config);
        assert_eq!((&config["task"], &config["output_type"]), (&json!(task), &json!(kind)));
        assert_eq!(config.get("generation_kwargs").is_some(), kind == "generate_until");
        assert_eq!((&config["dataset_name"], &config["repeats"]), (&json!("data"), &json!(1)));
        assert_eq!(
            config["metric_list"],
            json!([
                {"metric": "m", "aggregation": "mean", "higher_is_better": true},
                {"metric": "latency", "aggregation": "mean", "higher_is_better": true},
            ])
        );
        assert_eq!((&config["num_fewshot"], &results["n-shot"][task]), (&json!(0), &json!(0)));
    }
    // Here the package writes more than its own types allow.
    for task in ["written", "chosen"] {
        results["results"][task]["m_stderr,none"] = json!(0.1);
        results["results"][task]["latency_stderr,none"] = json!(0.1);
    }
    results.as_object_mut().unwrap().shift_remove("configs");
    check("lm_eval.EvalResults", &results);
}

#[test]
fn lm_eval_arguments_are_the_prompts_that_were_sent() {
    let root = tempfile::tempdir().unwrap();
    let source = RecordedRun::open(&write_run(root.path(), RunStatus::Complete, &records())).unwrap();
    let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(ToString::to_string).collect() };
    let sent = |text: &str, continuations: &[&str]| SentPrompt {
        text: Some(text.to_owned()),
        continuations: texts(continuations),
        ..SentPrompt::default()
    };
    let messages = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "q"}]);
    let of_messages = SentPrompt {
        messages: messages.as_array().unwrap().clone(),
        continuations: texts(&["A", "B"]),
        ..SentPrompt::default()
    };
    let of_parts = SentPrompt {
        messages: vec![
            json!({"role": "system", "content": text("be brief")}),
            json!({"role": "user", "content": text("q")}),
        ],
        ..of_messages.clone()
    };
    let messages = messages.to_string();
    for (prompts, expected, is_noted) in [
        (vec![], [[HOSTILE, "yes"], [HOSTILE, HOSTILE]], true),
        (vec![sent("Q:", &[" A", " B"])], [["Q:", " A"], ["Q:", " B"]], false),
        (vec![sent("yes", &["."]), sent("no", &["."])], [["yes", "."], ["no", "."]], false),
        (vec![of_messages], [[&*messages, "A"], [&*messages, "B"]], false),
        (vec![of_parts], [[&*messages, "A"], [&*messages, "B"]], false),
    ] {
        let options =
            ExportOptions { replaces: true, ..options(ExportFormat::LmEval, &root.path().join("out")) };
        let written = crate::export(&source, &options, &|_| Some(prompts.clone())).unwrap();
        let arguments = |file: usize| lines_at(&written.files[file])[0]["arguments"].clone();
        assert_eq!(arguments(0)["gen_args_0"]["arg_0"], expected[0][0]);
        let [first, second] = expected.map(|[prompt, text]| json!({"arg_0": prompt, "arg_1": text}));
        assert_eq!(arguments(1), json!({"gen_args_0": first, "gen_args_1": second}));
        let note = "the prompts of 6 of 7 samples are unknown, so their `arguments` have only the question";
        assert_eq!(written.notes.iter().any(|found| found == note), is_noted, "{:?}", written.notes);
    }
}

/// Exports a run with known prompts. Returns the lines of its first and of its last task, the results and the notes.
fn exported_with(run: &Path, prompt: &str) -> ([Vec<Value>; 2], Value, Vec<String>) {
    let source = RecordedRun::open(run).unwrap();
    let out = tempfile::tempdir().unwrap();
    let sent = SentPrompt { text: Some(prompt.to_owned()), ..SentPrompt::default() };
    let options = options(ExportFormat::LmEval, out.path());
    let written = crate::export(&source, &options, &|_| Some(vec![sent.clone()])).unwrap();
    let lines = [0, 1].map(|file| lines_at(&written.files[file]));
    (lines, json_at(&written.files[2]), written.notes)
}

/// Changes the figures of the metric `m` in the summary of a run.
fn change_figures(run: &Path, changes: &[(&str, Value)]) {
    let path = run.join("summary.json");
    let mut summary = json_at(&path);
    for task in summary["tasks"].as_array_mut().unwrap() {
        let figure = &mut task["metrics"][0];
        assert_eq!(figure["metric_id"], "m");
        for (key, value) in changes {
            figure[*key] = value.clone();
        }
    }
    fs::write(path, summary.to_string()).unwrap();
}

#[test]
fn lm_eval_has_likelihoods_of_whole_texts() {
    let root = tempfile::tempdir().unwrap();
    let rolling = json!({"loglikelihood": -12.5, "token_count": 4, "byte_count": 9, "word_count": 2});
    let measured = SampleRecord {
        model_output: Some(json!({"answer": "", "finish_reason": "scored", "rolling": rolling}).into()),
        ..sample("chosen", 0, 518.0, 1.0)
    };
    let records = [sample("written", 0, 1.0, 1.0), measured, failed("chosen", 1, Outcome::BackendError)];
    let run = write_run(root.path(), RunStatus::Complete, &records);
    let ([_, lines], results, _) = exported_with(&run, "a text");
    for (line, resps, filtered) in
        [(&lines[0], json!([["-12.5"]]), json!(["-12.5"])), (&lines[1], json!([]), json!([]))]
    {
        check("lm_eval.SampleResult", line);
        assert_eq!(line["arguments"], json!({"gen_args_0": {"arg_0": "a text"}}));
        assert_eq!((&line["resps"], &line["filtered_resps"]), (&resps, &filtered));
    }
    let config = &results["configs"]["chosen"];
    check("lm_eval.TaskConfig", config);
    assert_eq!(config["output_type"], "loglikelihood_rolling");
    assert_eq!(config.get("generation_kwargs"), None);
    assert_eq!(results["configs"]["written"]["output_type"], "generate_until");
}

#[test]
fn lm_eval_samples_of_a_perplexity_have_likelihoods() {
    let hit = |sub_scores: Value| {
        let mut record = sample("written", 0, 1.0, 1.0);
        let card = record.metrics[0].card.as_mut().unwrap();
        card.sub_scores = sub_scores.as_object().unwrap().clone();
        record
    };
    for (aggregation, sub_scores, expected) in [
        ("mean", json!({"logprob": -9.5}), 1.0),
        ("corpus_perplexity", json!({"logprob": -9.5}), -9.5),
        // The score is the perplexity of the sample itself.
        ("corpus_perplexity", json!({}), 1.0),
    ] {
        let root = tempfile::tempdir().unwrap();
        let records = [hit(sub_scores.clone()), sample("chosen", 0, 1.0, 1.0)];
        let run = write_run(root.path(), RunStatus::Complete, &records);
        change_figures(&run, &[("aggregation", json!(aggregation))]);
        let ([lines, _], ..) = exported_with(&run, "q");
        assert_eq!(lines[0]["m"], expected, "{aggregation} {sub_scores}");
    }
}

#[test]
fn lm_eval_has_every_part_of_a_figure_or_counts_it() {
    let named = |name: &str, value: f64| json!({"name": name, "value": value, "stderr": 0.125, "n": 4});
    let of_slices = "left out: 12 figures of slices, which `--format csv` has";
    let of_categories = "left out: 4 figures of categories, which `--format csv` has";
    let category = |name: &str| json!({"name": name, "count": 1, "share": 0.5});
    let slice = json!({
        "by": "b", "key": "k", "value": 0.5, "n": 1, "total": 1, "coverage": 1.0, "stderr": null, "interval": null,
    });
    let mean = json!({"by": "b", "slices": 2, "value": 0.5, "stderr": null, "interval": null});
    for (key, parts, value, note) in [
        (
            "sub_scores",
            json!([{"name": "part,x", "value": 0.25, "n": 4}]),
            Some(("m.part_x", 0.25, json!("N/A"))),
            None,
        ),
        (
            "figures",
            json!([named("pass@1", 0.5), named("pass@3", 0.75)]),
            Some(("m.pass@3", 0.75, json!(0.125))),
            None,
        ),
        ("slices", Value::Array(vec![slice; 6]), None, Some(of_slices)),
        ("slice_means", Value::Array(vec![mean; 6]), None, Some(of_slices)),
        ("categories", json!([category("a"), category("b")]), None, Some(of_categories)),
    ] {
        let root = tempfile::tempdir().unwrap();
        let run = write_run(root.path(), RunStatus::Complete, &records());
        // The figures of latency have slices, too.
        fs::remove_file(run.join("timings.json")).unwrap();
        change_figures(&run, &[("slices", json!([])), ("slice_means", json!([])), (key, parts)]);
        let (_, results, notes) = exported_with(&run, "q");
        let of_task = &results["results"]["written"];
        if let Some((name, value, stderr)) = value {
            let found = (&of_task[format!("{name},none")], &of_task[format!("{name}_stderr,none")]);
            assert_eq!(found, (&json!(value), &stderr), "{of_task:#}");
            assert_eq!(of_task["sample_count"][format!("{name},none")], 4);
            assert_eq!(results["higher_is_better"]["written"][name], true, "{name}");
        }
        let left_out: Vec<&String> = notes.iter().filter(|note| note.starts_with("left out")).collect();
        assert_eq!(left_out, note.iter().collect::<Vec<_>>(), "{key}");
    }
}
