//! Effects of a power loss on a finished run: each file has at most the content of its last sync.
//!
//! The test program defines `fsync` and `fdatasync` itself. The linker prefers these to the system's, so the
//! test sees every sync of this process and copies the file at that moment.

#![cfg(target_os = "linux")]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "symbols that replace those of the C library must not be mangled")]

use gage_record::format::EVENTS_FILE;
use gage_record::{
    JournalEntry, JournalIndex, JournalWriter, Manifest, RunFolder, RunIdentity, RunStatus, SampleRecord,
    SampleTiming, journal_digests,
};
use serde_json::json;
use std::collections::HashMap;
use std::ffi::c_int;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

/// The content of each file at its last sync, by inode.
static SYNCED: LazyLock<Mutex<HashMap<u64, Vec<u8>>>> = LazyLock::new(Mutex::default);

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    let path = format!("/proc/self/fd/{descriptor}");
    if let Ok(metadata) = fs::metadata(&path)
        && metadata.is_file()
    {
        let content = fs::read(&path).expect("a synced file can be read");
        SYNCED.lock().expect("no panic under the lock").insert(metadata.ino(), content);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    fsync(descriptor)
}

/// Copies a folder as a power loss would leave it.
fn copy_synced(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("create");
    for entry in fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            copy_synced(&entry.path(), &target);
        } else {
            let synced = SYNCED.lock().expect("no panic under the lock");
            fs::write(target, synced.get(&metadata.ino()).map_or(&[][..], Vec::as_slice)).expect("write");
        }
    }
}

fn record(index: u64) -> SampleRecord {
    serde_json::from_value(json!({
        "task_id": "t", "index": index, "sample_id": format!("s-{index}"), "row_digest": "0", "outcome": "scored",
        "sample": {"id": format!("s-{index}")}, "timing": SampleTiming::default(),
    }))
    .expect("a record")
}

#[test]
fn ended_run_survives_a_power_loss() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create(root.path(), "run").expect("create");
    let mut manifest = Manifest::new("run", "0.1.0", RunIdentity::default());
    manifest.write(&folder).expect("write");
    let mut writer = JournalWriter::open(&folder).expect("open").writer;
    for index in 0..9 {
        let record = record(index);
        writer.append_batch([JournalEntry::FinishedWithoutScores(&record)]).expect("append");
    }
    // Written as recorders do it: without waiting for the disk.
    fs::write(folder.path_of(EVENTS_FILE), "{\"event_id\":0}\n").expect("write");

    manifest.files.extend(journal_digests(&folder).expect("digests"));
    let events = folder.sync_and_digest(EVENTS_FILE).expect("digest").expect("there are events");
    manifest.files.insert(EVENTS_FILE.to_owned(), events);
    manifest.finish(RunStatus::Complete);
    manifest.write(&folder).expect("write");

    let after = root.path().join("after");
    copy_synced(folder.path(), &after.join("run"));
    let folder = RunFolder::resume(&after, "run").expect("the run can be resumed");
    assert_eq!(JournalIndex::read(&folder).expect("read").len(), 9);
    let manifest = Manifest::read(folder.path()).expect("read");
    assert!(manifest.files.len() >= 3, "{:?}", manifest.files);
    for (name, written) in &manifest.files {
        assert_eq!(folder.digest_of(name).expect("digest").as_ref(), Some(written), "{name}");
    }
}

/// File systems may leave a file that was not synced in an older state: here a line count older than the
/// manifest's digest of it.
#[test]
fn older_line_count_does_not_stop_a_resume() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = RunFolder::create(root.path(), "run").expect("create");
    let mut manifest = Manifest::new("run", "0.1.0", RunIdentity::default());
    manifest.write(&folder).expect("write");
    let recorded = folder.path_of("journal/recorded");
    let mut writer = JournalWriter::open(&folder).expect("open").writer;
    let record = record(0);
    let older = fs::read(&recorded).expect("read");
    writer.append_batch([JournalEntry::FinishedWithoutScores(&record)]).expect("append");
    manifest.files = journal_digests(&folder).expect("digests");
    manifest.finish(RunStatus::Interrupted);
    manifest.write(&folder).expect("write");
    drop((writer, folder));

    fs::write(&recorded, older).expect("write");
    let folder = RunFolder::resume(root.path(), "run").expect("the run can be resumed");
    assert_eq!(JournalWriter::open(&folder).expect("open").index.len(), 1);
}
