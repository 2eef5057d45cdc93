use super::*;
use gage_record::PluginSigner;
use gage_recorded_messages::RecordedError as _;
use proptest::prelude::*;
use std::cell::Cell;

fn origin() -> Origin {
    Origin { name: "s".to_owned(), template: None, config_dir: "config/custom".to_owned() }
}

fn stored() -> Value {
    json!({
        "host": {"scoring_version": 1},
        "datasets": {"d": {"digest": "sha256:00", "bytes": 12}},
        "plugins": {"config/custom/m.wasm": {
            "component": "m", "version": "1", "digest": "sha256:01", "wit_version": "0.1.0", "scorer_version": "1",
            "limits": {"fuel_per_item": 5},
        }},
        "prompts": {"dut": {"prompt_id": "p", "digest": "sha256:02"}},
        "backends": {"b": {"type": "llama_cpp", "model": "m.gguf", "details": {"file_digest": "sha256:03"}}},
    })
}

fn identity() -> RunIdentity {
    read(stored())
}

fn read(stored: Value) -> RunIdentity {
    serde_json::from_value(stored).unwrap()
}

fn document() -> Value {
    json!({
        "metadata": {"name": "s"},
        "datasets": [{"dataset_id": "d", "params": {"path": "/mine/d.jsonl", "preprocess_kwargs": {"path": "kept"}}}],
        "backends": [{"backend_id": "b", "config": {"config": {"threads": "of the component"}, "api_key": "${KEY}", "model_path": "/mine/m.gguf", "slots": 4, "context_length": 512}}],
        "metrics": ["exact_match"],
    })
}

fn lock() -> Lock {
    Lock::of(&origin(), &identity(), &document(), &[])
}

fn written(lock: &Lock) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gage.lock");
    lock.write(&path).unwrap();
    (folder, path)
}

fn read_lock(path: &Path) -> Result<Lock, SuiteError> {
    Lock::read(path, &Permissions::default())
}

#[test]
fn what_was_written_reads_back_and_holds_no_places() {
    let (_folder, path) = written(&lock());
    assert_eq!(read_lock(&path).unwrap(), lock());
    let text = std::fs::read_to_string(&path).unwrap();
    for absent in ["/mine", "KEY", "m.gguf", "slots"] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
    for present in [
        "${config_dir}/m.wasm",
        "path: kept",
        "threads: of the component",
        "sha256:03",
        "context_length: 512",
    ] {
        assert!(text.contains(present), "no {present} in\n{text}");
    }
}

#[test]
fn each_thing_that_can_change_a_figure_is_named() {
    type Change = (&'static str, &'static str, Value);
    let changes: [Change; 6] = [
        ("/datasets/d/digest", "datasets.d.digest", json!("sha256:ff")),
        (
            "/plugins/config~1custom~1m.wasm/digest",
            "plugins[\"${config_dir}/m.wasm\"].digest",
            json!("sha256:ff"),
        ),
        (
            "/plugins/config~1custom~1m.wasm/limits/fuel_per_item",
            "plugins[\"${config_dir}/m.wasm\"].limits.fuel_per_item",
            json!(6),
        ),
        ("/prompts/dut/digest", "prompts.dut.digest", json!("sha256:ff")),
        ("/backends/b/details/file_digest", "backends.b.details.file_digest", json!("sha256:ff")),
        ("/host/scoring_version", "host.scoring_version", json!(2)),
    ];
    for (pointer, field, value) in changes {
        let mut changed = stored();
        *changed.pointer_mut(pointer).unwrap() = value.clone();
        let found = lock().differences(&Lock::of(&origin(), &read(changed), &document(), &[]));
        let [only] = found.as_slice() else { panic!("{pointer}: {found:?}") };
        assert_eq!((only.place.as_str(), only.now.as_ref()), (field, Some(&value)));
    }
    let mut changed = document();
    changed["metrics"] = json!(["contains"]);
    let found = lock().differences(&Lock::of(&origin(), &identity(), &changed, &[]));
    assert_eq!(found.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["settings.metrics[0]"]);
    changed = document();
    changed["datasets"][0]["params"]["path"] = json!("/yours/d.jsonl");
    assert_eq!(lock().differences(&Lock::of(&origin(), &identity(), &changed, &[])), []);
}

#[test]
fn a_lock_that_cannot_be_trusted_is_refused() {
    let (_folder, path) = written(&lock());
    let text = std::fs::read_to_string(&path).unwrap();
    let half = &text[..text.len() / 2];
    for (case, bad, expected) in [
        ("newer", text.replace("format_version: 1", "format_version: 2"), "format version 2"),
        ("of no version", text.replace("format_version: 1", "format_version: 0"), "the first is 1"),
        (
            "of a broken version",
            text.replace("format_version: 1", "format_version: 1.5"),
            "no `format_version`",
        ),
        ("demanding no list", text.replace("understand: []", "understand: 5"), "no list `must-understand`"),
        ("demanding nothing", text.replace("must-understand: []\n", ""), "no list `must-understand`"),
        (
            "demanding no name",
            text.replace("understand: []", "understand: [5]"),
            "is not the name of a feature",
        ),
        ("of more", format!("more: 1\n{text}"), "digest does not match"),
        (
            "demanding",
            text.replace("must-understand: []", "must-understand: [tea]"),
            "a reader that knows `tea`",
        ),
        ("cut off", half[..=half.rfind('\n').unwrap()].to_owned(), "cannot be used"),
        ("edited", text.replace("bytes: 12", "bytes: 13"), "digest does not match"),
        ("another file", "a: 1\n".to_owned(), "is not a lock of gage-host"),
        ("no mapping", "- 1\n".to_owned(), "it is not a mapping"),
        ("empty", String::new(), "cannot be used"),
    ] {
        std::fs::write(&path, bad).unwrap();
        let error = read_lock(&path).unwrap_err().recorded("suites");
        assert!(error.contains(expected), "{case}: {error}");
    }
    std::fs::write(&path, b"\xff\xfe").unwrap();
    assert!(read_lock(&path).unwrap_err().recorded("suites").contains("it is not UTF-8 text"));
    std::fs::remove_file(&path).unwrap();
    assert!(read_lock(&path).unwrap_err().recorded("suites").contains("there is no lock"));
}

/// The digest does not cover the header and the comments.
#[test]
fn comments_of_a_lock_may_be_others() {
    let (_folder, path) = written(&lock());
    let text = std::fs::read_to_string(&path).unwrap();
    let other = format!("# by hand\n{}", text.replace("# Not edited by hand", "# not edited by hand"));
    std::fs::write(&path, other).unwrap();
    assert_eq!(read_lock(&path).unwrap(), lock());
}

#[test]
fn a_part_is_updated_and_the_others_stay() {
    let mut changed = stored();
    changed["datasets"]["d"]["digest"] = json!("sha256:ff");
    changed["prompts"]["dut"]["digest"] = json!("sha256:ff");
    let found = Lock::of(&origin(), &read(changed), &document(), &[]);
    for part in ["datasets", "datasets.d"] {
        let updated = lock().with_part(part, &found).unwrap();
        let left = updated.differences(&found);
        assert_eq!(left.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["prompts.dut.digest"]);
    }
    assert_eq!(lock().with_part("data", &found), Err(UnknownPart("data".to_owned())));
    assert_eq!(lock().with_part("datasets.e", &found), Err(UnknownPart("datasets.e".to_owned())));
}

/// A dataset with a number of rows, and the number of times they were counted.
struct RowCounter {
    rows: u64,
    times: Cell<u32>,
}

impl DatasetRows for RowCounter {
    fn rows(&self, dataset_id: &str) -> Result<Option<u64>, DataError> {
        self.times.set(self.times.get() + 1);
        Ok((dataset_id == "d").then_some(self.rows))
    }

    fn media_digest(&self, _: &str) -> Result<Option<Digest>, DataError> {
        Ok(None)
    }
}

#[test]
fn rows_are_counted_only_where_the_data_differ() {
    let mut locked = lock();
    locked.count_rows(&RowCounter { rows: 7, times: Cell::new(0) }).unwrap();
    assert_eq!(locked.parts["datasets"]["d"]["rows"], 7);
    let mut other = stored();
    other["datasets"]["d"]["digest"] = json!("sha256:ff");
    let other = Lock::of(&origin(), &read(other), &document(), &[]);
    for (found, counts_all, rows, times) in
        [(lock(), false, 7, 0), (lock(), true, 9, 1), (other, false, 9, 1)]
    {
        let datasets = RowCounter { rows: 9, times: Cell::new(0) };
        let mut found = found;
        found.copy_rows(&locked, &datasets, counts_all).unwrap();
        assert_eq!(
            (found.parts["datasets"]["d"]["rows"].as_u64(), datasets.times.get()),
            (Some(rows), times)
        );
    }
    let mut found = lock();
    found.copy_rows(&lock(), &RowCounter { rows: 9, times: Cell::new(0) }, true).unwrap();
    assert_eq!(found, lock(), "a lock without rows stays without");
}

proptest! {
    #[test]
    fn a_lock_cut_off_anywhere_is_never_taken_for_whole(share in 0.0..1.0_f64) {
        let (_folder, path) = written(&lock());
        let text = std::fs::read(&path).unwrap();
        // Without its last newline it is still complete.
        let end = ((text.len() - 1) as f64 * share) as usize;
        std::fs::write(&path, &text[..end]).unwrap();
        prop_assert!(read_lock(&path).is_err());
    }
}

fn package(id: &str, digest: &str) -> RecordedPlugin {
    RecordedPlugin {
        id: id.to_owned(),
        source: format!("oci://registry.example/{id}:1"),
        digest: digest.to_owned(),
        manifest: Some(format!("{digest}00")),
        signer: None,
    }
}

#[test]
fn packages_are_facts_that_nothing_compares() {
    let signer = PluginSigner { key: "team.pub".to_owned(), fingerprint: "sha256:0a".to_owned() };
    let signed = RecordedPlugin { signer: Some(signer), ..package("words", "sha256:01") };
    let locked = lock().with_packages(&[signed]);
    let (_folder, path) = written(&locked);
    let read = read_lock(&path).unwrap();
    assert_eq!(read.packages(), [package("words", "sha256:01")], "the signer depends on the machine");
    assert_eq!(locked.differences(&lock()), []);
    assert_eq!(lock().packages(), []);
}

#[test]
fn updated_plugins_take_their_packages() {
    let before = lock().with_packages(&[package("m", "sha256:01"), package("other", "sha256:05")]);
    let mut changed = stored();
    changed["plugins"]["config/custom/m.wasm"]["digest"] = json!("sha256:02");
    let found = Lock::of(&origin(), &read(changed), &document(), &[])
        .with_packages(&[package("m", "sha256:02"), package("other", "sha256:06")]);
    for (part, expected) in [
        ("plugins", ["sha256:02", "sha256:06"]),
        ("plugins.${config_dir}/m.wasm", ["sha256:02", "sha256:05"]),
        ("settings", ["sha256:01", "sha256:05"]),
    ] {
        let updated = before.with_part(part, &found).unwrap();
        let digests: Vec<String> = updated.packages().into_iter().map(|package| package.digest).collect();
        assert_eq!(digests, expected, "{part}");
    }
}
