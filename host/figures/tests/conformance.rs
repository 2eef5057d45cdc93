//! The aggregators give the same figures as those of the older program.
//!
//! Its cases hold values by name for each sample, and the metric's further data. Here, the metric sets
//! the category in the detail of its card; there, a parameter of the aggregator did.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_core::{MetricResult, Object, Outcome, ScoreCard};
use gage_figures::{
    Aggregation, Completeness, MetricDescription, MetricFigure, SummaryBuilder, TaskDescription,
    no_custom_aggregators,
};
use gage_record::{SampleRecord, SampleTiming};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn aggregators() {
    let file = "../../tests/conformance/cases/helper_aggregators.jsonl";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("the cases");
    let mut agreed = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("JSON");
        check(&case);
        agreed += 1;
    }
    assert!(agreed > 0, "there are no cases");
}

fn check(case: &Value) {
    let (input, expected) = (&case["input"], &case["expected"]);
    let name = input["aggregator"].as_str().expect("a name");
    let aggregation = Aggregation::parse(name).expect("an aggregation of the host");
    let params = &input["params"];
    let samples = input["results"].as_array().expect("a list");
    let records: Vec<SampleRecord> =
        (0..).zip(samples).map(|(index, sample)| record(index, &sample[0], &sample[1], params)).collect();
    let figure = figure(aggregation.clone(), &records);
    assert_eq!(figure.n, expected["count"].as_u64().expect("a count"), "{case}");
    let values = expected["values"].as_object().expect("values");
    match aggregation {
        Aggregation::Identity => {
            assert_eq!(figure.value, None, "{case}");
        }
        Aggregation::Categorical => {
            let found: Object = figure
                .categories
                .iter()
                .map(|category| (category.name.clone(), json!(category.count)))
                .collect();
            assert_eq!(&found, values, "{case}");
        }
        _ => {
            let names: Vec<&str> = figure.sub_scores.iter().map(|sub| sub.name.as_str()).collect();
            assert_eq!(names.len(), values.len(), "{case}: {names:?}");
            for sub in &figure.sub_scores {
                let (found, expected) =
                    (sub.value.expect("a value"), values[&sub.name].as_f64().expect("a number"));
                assert!((found - expected).abs() <= 1e-9, "{case}: {found}");
            }
        }
    }
}

fn figure(aggregation: Aggregation, records: &[SampleRecord]) -> MetricFigure {
    let metric = MetricDescription {
        metric_id: "m".to_owned(),
        implementation: "m".to_owned(),
        scorer_version: "1".to_owned(),
        aggregation,
        value_name: "s".to_owned(),
        higher_is_better: true,
        is_proportion: true,
        scales: Vec::new(),
        bounds: gage_figures::UNBOUNDED,
        directions: Vec::new(),
    };
    let task = TaskDescription {
        task_id: "t".to_owned(),
        dataset_id: "d".to_owned(),
        metrics: vec![metric],
        timing_metrics: Vec::new(),
        slices: Vec::new(),
        cluster_by: None,
        repeat: 1,
        prompts: Vec::new(),
        prompt_version: String::new(),
        metric_paths: Vec::new(),
        judges: Vec::new(),
        sampling_params: Object::new(),
    };
    let mut builder = SummaryBuilder::new(&[task], &no_custom_aggregators);
    records.iter().for_each(|record| builder.add(record).expect("a record of the task"));
    builder.finish(&Completeness::new()).metrics.remove(0)
}

fn record(index: u64, values: &Value, metadata: &Value, params: &Value) -> SampleRecord {
    // Components return only numbers, so a text that spells one is parsed first.
    let number =
        |value: &Value| value.as_str().map_or_else(|| value.clone(), |text| json!(text.parse::<f64>().ok()));
    let values = values.as_object().expect("values");
    let mut detail = metadata.as_object().expect("metadata").clone();
    if let Some(field) = params["category_field"].as_str() {
        let category = match (metadata.get(field), params["include_none"].as_bool()) {
            (None | Some(Value::Null), Some(true)) => json!("unknown"),
            (category, _) => json!(category),
        };
        detail.insert("category".to_owned(), category);
    }
    let card = ScoreCard {
        primary_score: Some(1.0),
        sub_scores: values.iter().map(|(name, value)| (name.clone(), number(value))).collect(),
        detail: Value::Object(detail).into(),
        ..ScoreCard::default()
    };
    SampleRecord {
        task_id: "t".to_owned(),
        index,
        sample_id: index.to_string(),
        row_digest: String::new(),
        outcome: Outcome::Scored,
        error: None,
        sample: json!({}).into(),
        row: None,
        support_output: None,
        model_output: None,
        judge_output: None,
        metrics: vec![MetricResult {
            metric_id: "m".into(),
            schema_version: "".into(),
            scorer_version: "".into(),
            prompt_version: "".into(),
            outcome: Outcome::Scored,
            card: Some(card),
            error: None,
        }],
        timing: SampleTiming::default(),
        timing_metrics: Vec::new(),
    }
}
