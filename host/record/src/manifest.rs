//! `manifest.json`: the run's description, its state, and digests of its files.

use crate::clock::rfc3339;
use crate::error::manifest_remedy;
use crate::format::{JOURNAL_FOLDER, MANIFEST_FILE, MAX_JSON_VALUES, MEDIA_FOLDER, SAMPLES_FILE};
use crate::format_version::ManifestVersion;
use crate::run_files::read_run_file;
use crate::{
    FileDigest, JournalId, MergedShard, RecordError, RecordedPlugin, RunFolder, RunIdentity, RunStatus,
    ShardOfRun,
};
use gage_core::{Digest, Object, Usage, check_name, parse_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

/// Key that holds the digest of all other keys.
const DIGEST: &str = "digest";

/// Key that holds the id of the journal.
const JOURNAL_ID: &str = "journal_id";

/// Price of the tokens of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenPrice {
    /// Price per million prompt tokens.
    pub prompt: f64,
    /// Price per million completion tokens.
    pub completion: f64,
}

/// Result of checking a manifest against its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestIntegrity {
    /// The manifest is unchanged.
    Intact,
    /// The manifest was edited: the digest does not match.
    Broken,
    /// The manifest was edited: it has no digest.
    Missing,
}

impl ManifestIntegrity {
    /// Returns the problem of an edited manifest.
    pub fn problem(self) -> Option<&'static str> {
        match self {
            ManifestIntegrity::Broken => Some("it was edited: the digest at its end does not match"),
            ManifestIntegrity::Missing => Some("it was edited: the digest at its end is gone"),
            ManifestIntegrity::Intact => None,
        }
    }
}

/// What a suite was allowed to reach besides its own folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedPermissions {
    /// Environment variables.
    pub allow_env: Vec<String>,
    /// Folders.
    pub allow_read: Vec<String>,
    /// Hosts, each with its port if only that one was allowed.
    pub allow_net: Vec<String>,
}

/// Description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this file's format.
    pub format_version: ManifestVersion,
    /// The run's id.
    pub run_id: String,
    /// The id of the run's journal. A manifest that is written gets that of its folder.
    pub journal_id: JournalId,
    /// Start of the run, RFC 3339 in UTC.
    pub created_at: String,
    /// End of the run, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Version of the program that wrote the manifest.
    pub host_version: String,
    /// Original run, for a run that only rescores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<String>,
    /// True if the run asks judges about the answers of `parent_run`, and holds all of these answers. Such a run can be
    /// resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rejudged: bool,
    /// The run that this is a shard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOfRun>,
    /// The shards that the run was merged from, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<MergedShard>,
    /// True if every process of the run has recorded its HTTP exchanges (`--record`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_recording: bool,
    /// The state of the run.
    pub status: RunStatus,
    /// Cause of an early end, if the samples did not cause it: an exhausted budget, a backend that refuses every request,
    /// an input that changed, or a server that was away when the user stopped the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// What the suite was allowed to reach, if it was treated as a stranger's (`--untrusted`). Permissions change no
    /// number, and a run may be resumed with different ones. These are from the process that last wrote to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<GrantedPermissions>,
    /// Everything that determines the results: the expanded configuration, and digests of plugins, models and
    /// data.
    pub identity: RunIdentity,
    /// Other facts about each backend: threads, slots, processors. They change no number, and a run may be
    /// resumed with different facts. These are from the process that last wrote to the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Object>,
    /// The plugins that did not come with the program, with their sources and signers, by id. They change no number, and a
    /// run may be resumed with a different source of the same component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<RecordedPlugin>,
    /// Version of the prompt-building code for each task, as results name it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompt_versions: BTreeMap<String, String>,
    /// Warnings about the figures: a limit of samples that covers only some slices. A resumed run has those of its last
    /// process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Usage for samples that were cut off by the end of the run before they had a record, by backend. A
    /// resumed run includes it in its usage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unrecorded_usage: BTreeMap<String, Usage>,
    /// Cost of the tokens of all processes of the run, by backend, in the currency of the suite's prices. Backends without a
    /// price are left out. Nothing compares it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, f64>,
    /// Prices by which `costs` was computed, by backend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, TokenPrice>,
    /// Servers that answered and have no price although others have one, by the id of their backend. `costs` lacks them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced: BTreeSet<String>,
    /// Digests of all other files that the run has written, by name. Complete once the run is.
    pub files: BTreeMap<String, FileDigest>,
}

impl Manifest {
    /// Creates the manifest of a run that starts now.
    pub fn new(run_id: &str, host_version: &str, identity: RunIdentity) -> Manifest {
        Manifest {
            format_version: ManifestVersion::CURRENT,
            run_id: run_id.to_owned(),
            journal_id: JournalId::default(),
            created_at: rfc3339(SystemTime::now()),
            finished_at: None,
            host_version: host_version.to_owned(),
            parent_run: None,
            is_rejudged: false,
            shard: None,
            shards: Vec::new(),
            has_recording: false,
            status: RunStatus::Running,
            ended_by: None,
            permissions: None,
            identity,
            facts: BTreeMap::new(),
            plugins: Vec::new(),
            prompt_versions: BTreeMap::new(),
            warnings: Vec::new(),
            unrecorded_usage: BTreeMap::new(),
            costs: BTreeMap::new(),
            prices: BTreeMap::new(),
            unpriced: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    /// Describes what the cost of the run leaves out, as [`RunIdentity::missing_prices`] does.
    pub fn missing_prices(&self) -> Option<String> {
        self.identity.missing_prices(self.costs.keys().map(String::as_str), &self.unpriced)
    }

    /// Returns whether the run ended by itself. A run that a user or a budget stopped can be continued.
    pub fn is_finished(&self) -> bool {
        match self.status {
            RunStatus::Complete => true,
            RunStatus::Incomplete => self.ended_by.is_none(),
            RunStatus::Running | RunStatus::Interrupted => false,
        }
    }

    /// Marks the run as in progress again.
    pub fn reopen(&mut self) {
        self.status = RunStatus::Running;
        self.finished_at = None;
        self.ended_by = None;
        self.files.clear();
        // Another limit of samples may now apply.
        self.shard = self.shard.take().map(ShardOfRun::without_records);
    }

    /// Marks the run as ended now. A run does not end before it starts, even if the clock was set back.
    pub fn finish(&mut self, status: RunStatus) {
        self.status = status;
        self.finished_at = Some(rfc3339(SystemTime::now()).max(self.created_at.clone()));
    }

    /// Writes the manifest to its run's folder atomically. It names the journal of that folder.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn write(&self, folder: &RunFolder) -> Result<(), RecordError> {
        let not_json = |error: serde_json::Error| {
            RecordError::invalid(&folder.path_of(MANIFEST_FILE), error.to_string())
        };
        let mut value = serde_json::to_value(self).map_err(not_json)?;
        if let Value::Object(keys) = &mut value {
            keys.insert(JOURNAL_ID.to_owned(), folder.journal_id().to_string().into());
        }
        let digest = Digest::of_json(&value);
        if let Value::Object(keys) = &mut value {
            keys.insert(DIGEST.to_owned(), digest.to_string().into());
        }
        let mut text = serde_json::to_vec_pretty(&value).map_err(not_json)?;
        text.push(b'\n');
        folder.write_atomically(MANIFEST_FILE, &text).map(|_| ())
    }

    /// Returns a digest of the records of a shard and of its place in the run. If the command of a finished shard is run again,
    /// the manifest changes, and this digest stays.
    pub fn shard_digest(&self) -> Digest {
        let is_of_records =
            |name: &str| name.starts_with(JOURNAL_FOLDER) || name == SAMPLES_FILE || name == MEDIA_FOLDER;
        let files: BTreeMap<&String, &FileDigest> =
            self.files.iter().filter(|(name, _)| is_of_records(name.as_str())).collect();
        Digest::of_json(&json!({
            "shard": self.shard,
            "created_at": self.created_at,
            "status": self.status,
            "ended_by": self.ended_by,
            "files": files,
        }))
    }

    /// Compares the manifest of a run folder with the digest at its end.
    ///
    /// # Errors
    /// If the manifest is missing or is not JSON.
    pub fn integrity(folder: &Path) -> Result<ManifestIntegrity, RecordError> {
        let path = folder.join(MANIFEST_FILE);
        let text = read_run_file(folder, MANIFEST_FILE);
        let text = text.map_err(|source| RecordError::io("read", &path, source))?;
        let mut value: Value =
            parse_json(&text, MAX_JSON_VALUES).map_err(|error| RecordError::not_json(&path, &error))?;
        let written = value.as_object_mut().and_then(|keys| keys.shift_remove(DIGEST));
        Ok(match written {
            Some(written) if written == Digest::of_json(&value).to_string() => ManifestIntegrity::Intact,
            Some(_) => ManifestIntegrity::Broken,
            None => ManifestIntegrity::Missing,
        })
    }

    /// Reads a manifest from its text. `None` if it is none. Neither its version nor its digest is checked.
    pub fn parse(text: &[u8]) -> Option<Manifest> {
        parse_json(text, MAX_JSON_VALUES).ok()
    }

    /// Reads the manifest of a run folder. Unknown keys are ignored.
    ///
    /// # Errors
    /// If it is missing, not a manifest, in a newer format, or has an invalid run id.
    pub fn read(folder: &Path) -> Result<Manifest, RecordError> {
        let path = folder.join(MANIFEST_FILE);
        let text = read_run_file(folder, MANIFEST_FILE);
        let text = text.map_err(|source| RecordError::io("read", &path, source))?;
        let not_json = |error: serde_json::Error| RecordError::not_json(&path, &error);
        let value: Value = parse_json(&text, MAX_JSON_VALUES).map_err(not_json)?;
        let Some(version) = value.get("format_version").and_then(Value::as_u64) else {
            return Err(RecordError::invalid(&path, "it has no 'format_version'"));
        };
        ManifestVersion::check(&path, version)?;
        let manifest: Manifest = serde_json::from_value(value).map_err(not_json)?;
        // Ids are printed, and name folders.
        let ids = [("run_id", Some(&manifest.run_id)), ("parent_run", manifest.parent_run.as_ref())];
        for (key, id) in ids {
            let checked = id.map_or(Ok(()), |id| check_name(id));
            checked.map_err(|problem| {
                let remedy = manifest_remedy(folder);
                RecordError::invalid(&path, format!("its '{key}' {problem}; {remedy}"))
            })?;
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::fs;

    fn read(text: &str) -> Result<Manifest, RecordError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST_FILE), text).unwrap();
        Manifest::read(folder.path())
    }

    #[test]
    fn run_ends_after_its_start_if_the_clock_is_set_back() {
        let mut manifest = Manifest::new("one", "0.1.0", RunIdentity::default());
        manifest.finish(RunStatus::Complete);
        assert!(manifest.finished_at.as_ref() >= Some(&manifest.created_at));
        manifest.created_at = "2999-01-01T00:00:00Z".to_owned();
        manifest.finish(RunStatus::Complete);
        assert_eq!(manifest.finished_at.as_ref(), Some(&manifest.created_at));
    }

    #[test]
    fn repeated_command_of_a_shard_keeps_its_digest() {
        let file = |text: &[u8]| FileDigest { digest: Digest::of_bytes(text), bytes: text.len() as u64 };
        let mut manifest = Manifest::new("01-of-02", "0.1.0", RunIdentity::default());
        manifest.finish(RunStatus::Complete);
        manifest.files.insert("journal/000001.jsonl".to_owned(), file(b"records"));
        let digest = manifest.shard_digest();
        let mut again = manifest.clone();
        again.finished_at = Some("2999-01-01T00:00:00Z".to_owned());
        again.files.insert("events.jsonl".to_owned(), file(b"more events"));
        assert_eq!(again.shard_digest(), digest);
        again.files.insert("journal/000002.jsonl".to_owned(), file(b"more records"));
        assert_ne!(again.shard_digest(), digest);
        manifest.reopen();
        assert_ne!(manifest.shard_digest(), digest);
    }

    #[test]
    fn a_manifest_comes_back_as_it_was_written() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "one").unwrap();
        let mut manifest = Manifest::new(
            "one",
            "0.1.0",
            RunIdentity { config: json!({"a": [1]}), ..RunIdentity::default() },
        );
        manifest.finish(RunStatus::Complete);
        let digest = FileDigest { digest: Digest::of_bytes(b""), bytes: 0 };
        manifest.files.insert("samples.jsonl".to_owned(), digest);
        manifest.costs.insert("b".to_owned(), 0.1 + 0.2);
        manifest.write(&folder).unwrap();
        manifest.journal_id = folder.journal_id();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        let path = folder.path_of(MANIFEST_FILE);
        let text = fs::read_to_string(&path).unwrap();
        let mut without: Value = serde_json::from_str(&text).unwrap();
        without.as_object_mut().unwrap().shift_remove(DIGEST);
        for (text, integrity) in [
            (text.clone(), ManifestIntegrity::Intact),
            (text.replace("0.1.0", "0.2.0"), ManifestIntegrity::Broken),
            (text.replace("\"sha256:", "\"sha256:0"), ManifestIntegrity::Broken),
            (without.to_string(), ManifestIntegrity::Missing),
        ] {
            fs::write(&path, &text).unwrap();
            assert_eq!(Manifest::integrity(folder.path()).unwrap(), integrity, "{text}");
        }
    }

    #[test]
    fn a_cost_names_the_models_that_it_lacks() {
        let config = json!({"role_adapters": [
            {"adapter_id": "dut", "role_type": "dut_model", "backend_id": "server"},
            {"adapter_id": "critic", "role_type": "judge_model", "backend_id": "of_judge"},
        ]});
        let identity = RunIdentity { config, ..RunIdentity::default() };
        let good = Manifest::new("one", "0.1.0", identity);
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<String>>();
        for (priced, unpriced, expected) in [
            (&["of_judge"][..], &["server"][..], Some("judges only: no price for `server`")),
            (&["server"], &["of_judge"], Some("no price for `of_judge`")),
            (&["server", "of_judge"], &["a", "b"], Some("no price for `a`, `b`")),
            (&["server"], &[], None),
            (&[], &["server"], None),
        ] {
            let costs = priced.iter().map(|id| ((*id).to_owned(), 0.5)).collect();
            let manifest = Manifest { costs, unpriced: set(unpriced), ..good.clone() };
            assert_eq!(manifest.missing_prices().as_deref(), expected, "{priced:?} {unpriced:?}");
        }
    }

    #[test]
    fn unknown_keys_of_a_manifest_are_left_out() {
        let manifest = read(
            r#"{"format_version": 1, "run_id": "a", "journal_id": "00000000000000000000000000000001",
                "created_at": "2026-01-01T00:00:00Z", "host_version": "0.1.0", "status": "interrupted", "identity": {"config": {}}, "files": {}, "a_key_of_later": true}"#,
        )
        .unwrap();
        assert_eq!((manifest.run_id.as_str(), manifest.status), ("a", RunStatus::Interrupted));
    }

    #[test]
    fn ids_that_could_not_be_folders_are_refused() {
        let good = Manifest::new("one", "0.1.0", RunIdentity::default());
        for bad in ["", "../one", "a\u{1b}]0;x\u{7}\u{202e}<script>\n", &"a".repeat(1_000)] {
            for (key, manifest) in [
                ("run_id", Manifest { run_id: bad.to_owned(), ..good.clone() }),
                ("parent_run", Manifest { parent_run: Some(bad.to_owned()), ..good.clone() }),
            ] {
                let error = read(&serde_json::to_string(&manifest).unwrap()).unwrap_err().to_string();
                let reason = error.split_once("manifest.json cannot be used: its ").unwrap().1;
                assert!(
                    reason.starts_with(&format!("'{key}' '")) && reason.contains("use 1 to 128"),
                    "{error}"
                );
                assert!(!reason.contains(['\u{1b}', '\u{7}', '\u{202e}', '\n']), "{error:?}");
                assert!(reason.split("; ").next().unwrap().len() < 300, "{error}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let cases = [
            (r#"{"format_version": 3}"#, "use a newer gage-host"),
            (r#"{"run_id": "a"}"#, "no 'format_version'"),
            (r#"{"format_version": 1}"#, "missing field `run_id`"),
            (
                r#"{"format_version": 1, "run_id": "a", "journal_id": "b"}"#,
                "the id of a journal has 32 hexadecimal digits",
            ),
            (r#"{"format_version": 1, "run_id": "a"}"#, "missing field `journal_id`"),
            ("{", "it is cut off at line 1, column 1"),
        ];
        for (text, part) in cases {
            let error = read(text).unwrap_err().recorded("run_folders");
            assert!(error.contains(part) && error.contains("manifest.json"), "{error}");
        }
    }
}
