//! Several subsets of a dataset, and examples of another split.

use crate::support::{NAME, Setup};
use gage_config::{DatasetSpec, Environment, Permissions, load_datasets};
use gage_data::hub::NoProgress;
use gage_data::{LocateError, LocateOptions, LocatedFiles, locate, open_located};
use gage_recorded_messages::RecordedError as _;
use serde_json::{Value, json};

fn setup() -> Setup {
    let setup = Setup::new();
    for subset in ["one", "two"] {
        for split in ["train", "test"] {
            let path = format!("{subset}/{split}.jsonl");
            setup.server.file(NAME, &path, format!("{}\n", json!({"q": format!("{subset} {split}")})));
        }
    }
    setup
}

fn dataset(setup: &Setup, subset: &Value, few_shot: &Value) -> DatasetSpec {
    let params = json!({
        "hub_id": NAME, "endpoint": setup.server.endpoint(), "subset": subset, "split": "test", "few_shot": few_shot,
    });
    let suite = json!({
        "api_version": "gage/v1alpha1", "kind": "PipelineConfig",
        "datasets": [{"dataset_id": "d", "loader": "hf_hub", "params": params}],
    });
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load_datasets("suite", &suite.to_string(), &[], &environment);
    assert!(!problems.has_errors());
    config.map(|config| config.datasets).unwrap_or_default().pop().expect("a dataset")
}

fn located(setup: &Setup, spec: &DatasetSpec, is_offline: bool) -> Result<LocatedFiles, LocateError> {
    let options = LocateOptions {
        cache_folder: Some(setup.cache.path()),
        is_offline,
        with_digests: true,
        progress: &NoProgress,
        is_cancelled: &|| false,
    };
    locate(spec, &options, &Permissions::default())
}

#[test]
fn listed_subsets_are_read_in_order_with_their_examples() {
    let setup = setup();
    let spec = dataset(&setup, &json!(["two", "one"]), &json!({"split": "train", "count": 1}));
    let found = located(&setup, &spec, false).expect("fetched");
    assert!(found.shown.starts_with("owner/data (2 subsets, split test) at "), "{}", found.shown);
    let names: Vec<&str> = found.identity.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["two/test.jsonl", "one/test.jsonl"]);
    assert!(found.identity.few_shot.is_some());
    let rows = open_located(&spec, &found, None).expect("opened");
    let rows: Vec<(String, Vec<u32>)> =
        rows.map(|row| row.expect("a row")).map(|row| (row.body.expect("sound"), row.examples)).collect();
    let expected = |subset: &str, example: u32| {
        (format!("{{\"q\":\"{subset} test\",\"subset\":\"{subset}\"}}"), vec![example])
    };
    assert_eq!(rows, [expected("two", 0), expected("one", 1)]);
    // Nothing is fetched again, and offline everything is there.
    let asked = setup.server.seen().len();
    assert_eq!(located(&setup, &spec, true).expect("cached").identity, found.identity);
    assert_eq!(setup.server.seen().len(), asked);
    // A single subset gives no field, and another pool has another digest.
    let single = dataset(&setup, &json!("one"), &json!({"split": "test", "count": 1, "pick": "random"}));
    let other = located(&setup, &single, true).expect("cached");
    assert_ne!(other.identity.few_shot, found.identity.few_shot);
    let row = open_located(&single, &other, None).expect("opened").next().expect("a row").expect("a row");
    let problem = row.body.expect_err("it is its only example");
    assert_eq!(problem.text, "{\"q\":\"one test\"}");
}

#[test]
fn splits_of_examples_count_for_offline_mode_and_digests() {
    let setup = setup();
    let rows = dataset(&setup, &json!(["one"]), &Value::Null);
    located(&setup, &rows, false).expect("fetched");
    let examples = json!({"split": "train", "count": 1, "sha256": "0".repeat(64)});
    let spec = dataset(&setup, &json!(["one"]), &examples);
    let message = located(&setup, &spec, true).expect_err("not cached").recorded("data");
    assert!(message.starts_with("offline: 'one/train.jsonl' of dataset 'owner/data'"), "{message}");
    let error = located(&setup, &spec, false).expect_err("another digest");
    assert_eq!(error.key(&spec), "few_shot");
    let message = error.recorded("data");
    assert!(message.starts_with("sha256 mismatch for the examples of `few_shot`: expected 000"), "{message}");
}

#[test]
fn unusable_subsets_are_errors_of_their_key() {
    let setup = setup();
    setup.server.file(NAME, "three/test.csv", "q\nx\n");
    for (subset, expected) in [
        (json!(["one", "four"]), "dataset 'owner/data': there is no subset 'four'"),
        (
            json!(["one", "three"]),
            "the files of the subset 'three' are csv, and those before are jsonl; read them as two datasets",
        ),
    ] {
        let spec = dataset(&setup, &subset, &Value::Null);
        let error = located(&setup, &spec, false).expect_err(expected);
        assert_eq!(error.key(&spec), "subset", "{expected}");
        let message = error.recorded("data");
        assert!(message.starts_with(expected), "{message}");
    }
}
