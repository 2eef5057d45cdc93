use super::*;
use proptest::prelude::*;
use std::fs::File;

const ROOMY: u64 = 1 << 30;

impl AnswerCache {
    fn path_of(&self, key: Digest) -> PathBuf {
        let (shard, name) = names_of(key);
        self.folder.join(shard).join(name)
    }
}

fn open(folder: &Path, most_bytes: u64) -> AnswerCache {
    AnswerCache::open(folder, most_bytes, AnswerReading::Use).expect("a cache")
}

fn found(cache: &AnswerCache, key: Digest) -> Option<String> {
    match cache.get(key) {
        Lookup::Answer(text) => Some(text),
        Lookup::Nothing | Lookup::Damaged => None,
    }
}

/// Returns keys that share a folder.
fn neighbours(count: usize) -> Vec<Digest> {
    let keys = (0_u64..).map(|number| Digest::of_bytes(&number.to_le_bytes()));
    keys.filter(|key| key.hex().starts_with("00")).take(count).collect()
}

#[test]
fn what_is_put_is_found_by_another_process_and_by_its_key_alone() {
    let root = tempfile::tempdir().expect("a folder");
    let key = Digest::of_bytes(b"a");
    assert!(open(root.path(), ROOMY).put(key, "one\ntwo").expect("written"));
    let other = open(root.path(), ROOMY);
    assert_eq!(found(&other, key).as_deref(), Some("one\ntwo"));
    assert_eq!(found(&other, Digest::of_bytes(b"b")), None);
    let replacing = AnswerCache::open(root.path(), ROOMY, AnswerReading::Replace).expect("a cache");
    assert_eq!(found(&replacing, key), None);
    assert!(replacing.put(key, "newer").expect("written"));
    assert_eq!(found(&other, key).as_deref(), Some("newer"));
}

#[test]
fn a_file_under_another_key_is_no_answer() {
    let root = tempfile::tempdir().expect("a folder");
    let cache = open(root.path(), ROOMY);
    let keys = neighbours(2);
    assert!(cache.put(keys[0], "one").expect("written"));
    std::fs::copy(cache.path_of(keys[0]), cache.path_of(keys[1])).expect("copied");
    assert!(matches!(cache.get(keys[1]), Lookup::Damaged));
    assert!(cache.put(keys[1], "two").expect("written"));
    assert_eq!(found(&cache, keys[1]).as_deref(), Some("two"));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_look_into_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().expect("a folder");
    let given = root.path().join("given");
    std::fs::create_dir_all(given.join("v1")).expect("a folder");
    std::fs::set_permissions(given.join("v1"), std::fs::Permissions::from_mode(0o755)).expect("set");
    let cache = open(&given, ROOMY);
    let key = Digest::of_bytes(b"a");
    assert!(cache.put(key, "one").expect("written"));
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&given.join("v1")), mode(&cache.path_of(key))), (0o700, 0o600));
    let made = root.path().join("made");
    open(&made, ROOMY);
    assert_eq!(mode(&made), 0o700);
}

#[cfg(unix)]
#[test]
fn answers_that_others_may_have_written_are_not_used() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    type Change = fn(&Path);
    let changes: [Change; 4] = [
        |answer| fs::set_permissions(answer, fs::Permissions::from_mode(0o666)).expect("set"),
        |answer| fs::hard_link(answer, answer.with_file_name("linked")).expect("linked"),
        |answer| {
            fs::rename(answer, answer.with_file_name("moved")).expect("moved");
            symlink("moved", answer).expect("a link");
        },
        |answer| {
            fs::remove_file(answer).expect("removed");
            assert!(std::process::Command::new("mkfifo").arg(answer).status().expect("it runs").success());
        },
    ];
    let root = tempfile::tempdir().expect("a folder");
    let cache = open(root.path(), ROOMY);
    let key = Digest::of_bytes(b"a");
    for (number, change) in changes.into_iter().enumerate() {
        assert!(cache.put(key, "one").expect("written"));
        assert_eq!(found(&cache, key).as_deref(), Some("one"), "{number}");
        change(&cache.path_of(key));
        assert!(matches!(cache.get(key), Lookup::Damaged), "{number}");
    }
    let other = tempfile::tempdir().expect("a folder");
    symlink(root.path().join("v1"), other.path().join("v1")).expect("a link");
    let error = AnswerCache::open(other.path(), ROOMY, AnswerReading::Use).expect_err("it is a link");
    assert!(error.to_string().contains("it is a symbolic link"), "{error}");
}

/// Sets the time at which a file was last used.
fn set_used(path: &Path, seconds: u64) {
    let used = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::options().write(true).open(path).and_then(|file| file.set_modified(used)).expect("set");
}

/// Returns the names in a folder, in order.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
    names.sort_unstable();
    names
}

/// Size of a cache with room for one small answer in each folder.
const SMALL_CACHE_BYTES: u64 = SHARDS as u64 * BLOCK;

#[cfg(unix)]
#[test]
fn nothing_is_written_or_deleted_through_a_linked_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let other = tempfile::tempdir().expect("a folder");
    let cache = open(root.path(), SMALL_CACHE_BYTES);
    std::os::unix::fs::symlink(other.path(), root.path().join("v1/00")).expect("a link");
    let keys = neighbours(2);
    for name in [names_of(keys[1]).1.as_str(), ".new-00000000000000ff", "notes.txt"] {
        std::fs::write(other.path().join(name), "x".repeat(5000)).expect("written");
        set_used(&other.path().join(name), 1000);
    }
    let before = names_in(other.path());
    let error = cache.put(keys[0], "answer").expect_err("the folder is a link");
    let expected =
        "an answer cannot be written: its folder '00' is a symbolic link, which is not followed here";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert!(matches!(cache.get(keys[1]), Lookup::Damaged));
    assert_eq!(names_in(other.path()), before);
}

#[test]
fn only_answers_and_abandoned_files_are_evicted() {
    let root = tempfile::tempdir().expect("a folder");
    let cache = open(root.path(), SMALL_CACHE_BYTES);
    let keys = neighbours(3);
    let shard = root.path().join("v1/00");
    std::fs::create_dir_all(shard.join(names_of(keys[2]).1)).expect("a folder in place of an answer");
    let foreign = ["notes.txt", "00.answer", ".new-x", ".new-00000000000000FF"];
    let (_, old) = names_of(keys[1]);
    let own = [".new-00000000000000ff", old.as_str()];
    for name in foreign.iter().chain(&own) {
        std::fs::write(shard.join(name), "x".repeat(5000)).expect("written");
        set_used(&shard.join(name), 1000);
    }
    assert!(cache.put(keys[0], "answer").expect("written"));
    let left = names_in(&shard);
    assert!(own.iter().all(|name| !left.iter().any(|left| left == name)), "{left:?}");
    assert!(foreign.iter().all(|name| left.iter().any(|left| left == name)), "{left:?}");
    assert!(shard.join(names_of(keys[2]).1).is_dir());
}

#[test]
fn what_was_read_least_lately_leaves_first() {
    let root = tempfile::tempdir().expect("a folder");
    // Room for ten small files in each folder.
    let cache = open(root.path(), SHARDS as u64 * 10 * BLOCK);
    let keys = neighbours(11);
    for (age, key) in (0_u64..).zip(keys[..10].iter().rev()) {
        assert!(cache.put(*key, "answer").expect("written"));
        set_used(&cache.path_of(*key), 1_000 - age);
    }
    // The oldest is read again, so it is no longer the least recently used.
    assert!(found(&cache, keys[9]).is_some() && found(&cache, keys[0]).is_some());
    std::fs::write(cache.path_of(keys[0]).with_file_name(".new-00000000000000ff"), "half").expect("written");
    assert!(cache.put(keys[10], "answer").expect("written"));
    let left: Vec<bool> = keys.iter().map(|key| cache.path_of(*key).exists()).collect();
    assert_eq!(left.iter().filter(|left| **left).count(), 9, "{left:?}");
    assert!(left[0] && left[9] && left[10], "{left:?}");
    assert!(
        cache.path_of(keys[0]).with_file_name(".new-00000000000000ff").exists(),
        "another process may be at it"
    );
    assert!(!cache.put(keys[0], &"x".repeat(50_000)).expect("no error"), "larger than its folder may be");
}

#[test]
fn processes_that_write_at_the_same_time_leave_whole_answers() {
    let root = tempfile::tempdir().expect("a folder");
    let keys = neighbours(8);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (keys, folder) = (&keys, root.path());
            scope.spawn(move || {
                let cache = open(folder, SHARDS as u64 * 6 * BLOCK);
                for round in 0..50 {
                    let key = keys[(round + writer) % keys.len()];
                    assert!(cache.put(key, &format!("of {}", key.hex())).expect("written"));
                    if let Some(text) = found(&cache, keys[round % keys.len()]) {
                        assert_eq!(text, format!("of {}", keys[round % keys.len()].hex()));
                    }
                }
            });
        }
    });
    let names = std::fs::read_dir(root.path().join("v1/00")).expect("a folder").flatten();
    assert!(names.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(UNFINISHED)));
}

proptest! {
    #[test]
    fn a_file_that_is_torn_or_damaged_is_no_answer(cut in 0_usize..200, flipped in 0_usize..200, bit in 0_u8..8) {
        let root = tempfile::tempdir().expect("a folder");
        let cache = open(root.path(), ROOMY);
        let key = Digest::of_bytes(b"a");
        let is_kept = cache.put(key, r#"{"answer":"four, of course, and nothing else"}"#).expect("written");
        prop_assert!(is_kept);
        let whole = std::fs::read(cache.path_of(key)).expect("there");
        let mut torn = whole.clone();
        torn.truncate(cut % whole.len());
        let mut damaged = whole.clone();
        damaged[flipped % whole.len()] ^= 1 << bit;
        for bytes in [torn, damaged] {
            std::fs::write(cache.path_of(key), bytes).expect("written");
            prop_assert!(matches!(cache.get(key), Lookup::Damaged));
        }
        std::fs::write(cache.path_of(key), whole).expect("written");
        prop_assert!(found(&cache, key).is_some());
    }
}
