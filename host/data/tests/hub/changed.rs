//! Cached files that were changed from outside.

use crate::support::{NAME, Setup};
use gage_config::{Environment, Permissions, load_datasets};
use gage_data::hub::NoProgress;
use gage_data::{LocateOptions, locate};
use gage_recorded_messages::RecordedError as _;
use serde_json::json;

#[test]
fn recorded_digests_match_the_rows_that_are_read() {
    let setup = Setup::with_large(b"{\"row\":1}\n");
    let suite = json!({
        "api_version": "gage/v1alpha1", "kind": "PipelineConfig",
        "datasets": [{"dataset_id": "d", "loader": "hf_hub",
            "params": {"hub_id": NAME, "endpoint": setup.server.endpoint(), "preprocess": "default"}}],
    });
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load_datasets("suite", &suite.to_string(), &[], &environment);
    let spec = config.map(|config| config.datasets).unwrap_or_default().pop().expect("a dataset");
    assert!(!problems.has_errors());
    let find = |with_digests| {
        let options = LocateOptions {
            cache_folder: Some(setup.cache.path()),
            is_offline: false,
            with_digests,
            progress: &NoProgress,
            is_cancelled: &|| false,
        };
        locate(&spec, &options, &Permissions::default())
    };
    find(true).expect("fetched");
    let place = setup.place("train.jsonl");
    let modified = std::fs::metadata(&place).and_then(|metadata| metadata.modified()).expect("a time");
    std::fs::write(&place, "{\"row\":2}\n").expect("written");
    let file = std::fs::File::options().write(true).open(&place).expect("opened");
    file.set_modified(modified).expect("set");
    find(false).expect("its bytes are not looked at");
    let error = find(true).expect_err("it was changed");
    let message = error.recorded("data");
    assert!(message.starts_with("owner/data/train.jsonl was changed in the cache"), "{message}");
    assert!(error.help().is_some_and(|help| help.contains("remove ") && help.contains("train.jsonl")));
    std::fs::remove_file(place).expect("removed");
    find(true).expect("fetched anew");
}
