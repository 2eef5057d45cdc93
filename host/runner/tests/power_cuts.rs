//! Every state of the disk that a power cut during a run may leave: each is verified, resumed and compared.
//!
//! The method is that of ALICE (Pillai et al., OSDI 2014) and CrashMonkey (Mohan et al., OSDI 2018). The writes, syncs,
//! renames and deletions of a run are recorded. For each point in time, only what was synced is certain to be on the disk.
//! The rest is left out, kept, torn or zeroed in turn.
//!
//! The test program defines the functions of the C library that change files. The linker prefers these to the system's,
//! so the test sees every change by this process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "symbols that replace those of the C library must not be mangled")]

use gage_load_server::{LoadServer, completion, last_message};
use gage_runner::{
    Context, ResumeRequest, RunEvent, RunProgress, RunRequest, RunStatus, RunnerError, VerifyRequest, resume,
    run, verify,
};
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::IoSlice;
use std::os::fd::{BorrowedFd, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: u64 = 4;

/// A change of the disk, or a promise that depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Create {
        path: PathBuf,
        inode: u64,
    },
    MakeFolder {
        path: PathBuf,
    },
    Write {
        inode: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        inode: u64,
        length: u64,
    },
    SyncFile {
        inode: u64,
    },
    SyncFolder {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    /// A sample is reported as answered: from now on it must not be lost.
    Acknowledge,
}

/// The changes below a folder, in order.
struct Recording {
    root: PathBuf,
    operations: Vec<Operation>,
}

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

/// Held while a test records: the recording is that of the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// Adds an operation on an absolute path below the recorded folder.
fn record(path: &Path, operation: impl FnOnce() -> Operation) {
    let mut recording = RECORDING.lock();
    if let Some(recording) = recording.as_mut().filter(|recording| path.starts_with(&recording.root)) {
        recording.operations.push(operation());
    }
}

fn is_recording() -> bool {
    RECORDING.lock().is_some()
}

/// Returns the path and the inode of an open file, if it is below the recorded folder.
fn opened(descriptor: BorrowedFd<'_>) -> Option<(PathBuf, u64, bool)> {
    if !is_recording() {
        return None;
    }
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&descriptor));
    let path = rustix::fs::readlinkat(CWD, link, Vec::new()).ok()?;
    let path = PathBuf::from(OsStr::from_bytes(path.as_bytes()));
    let stat = rustix::fs::fstat(descriptor).ok()?;
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
    Some((path, stat.st_ino, is_folder))
}

fn borrowed<'d>(descriptor: c_int) -> BorrowedFd<'d> {
    // SAFETY: the caller of the C function passes an open descriptor, and it is used only during the call.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

fn path_of(path: *const c_char) -> PathBuf {
    // SAFETY: the caller of the C function passes a string that ends with NUL.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    let path = PathBuf::from(OsStr::from_bytes(bytes));
    if path.is_absolute() {
        path
    } else {
        std::env::current_dir().map(|folder| folder.join(&path)).unwrap_or(path)
    }
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// Returns the value of a C function: -1 and `errno` for an error.
fn ended<T>(result: rustix::io::Result<T>, value: impl FnOnce(T) -> isize) -> isize {
    match result {
        Ok(output) => value(output),
        Err(error) => {
            // SAFETY: the C library has an `errno` for each thread.
            unsafe { *__errno_location() = error.raw_os_error() };
            -1
        }
    }
}

/// Records bytes that were written at the position before the current one, or at an offset.
fn record_write(descriptor: BorrowedFd<'_>, bytes: &[u8], offset: Option<u64>) {
    let Some((path, inode, _)) = opened(descriptor) else { return };
    let end = || rustix::fs::tell(descriptor).unwrap_or(0);
    let offset = offset.unwrap_or_else(|| end().saturating_sub(bytes.len() as u64));
    record(&path, || Operation::Write { inode, offset, bytes: bytes.to_vec() });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the caller passes a buffer of this length.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    ended(rustix::io::write(borrowed(descriptor), bytes), |written| {
        record_write(borrowed(descriptor), &bytes[..written], None);
        written.cast_signed()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, slices: *const IoSlice<'_>, count: c_int) -> isize {
    // SAFETY: `IoSlice` has the layout of `iovec`, and the caller passes that many.
    let slices = unsafe { std::slice::from_raw_parts(slices, usize::try_from(count).unwrap_or(0)) };
    ended(rustix::io::writev(borrowed(descriptor), slices), |written| {
        let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).take(written).collect();
        record_write(borrowed(descriptor), &all, None);
        written.cast_signed()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, length: usize, offset: i64) -> isize {
    // SAFETY: the caller passes a buffer of this length.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    let offset = offset.cast_unsigned();
    ended(rustix::io::pwrite(borrowed(descriptor), bytes, offset), |written| {
        record_write(borrowed(descriptor), &bytes[..written], Some(offset));
        written.cast_signed()
    })
}

fn sync(descriptor: c_int, synced: rustix::io::Result<()>) -> c_int {
    let value = ended(synced, |()| {
        if let Some((path, inode, is_folder)) = opened(borrowed(descriptor)) {
            record(&path, || match is_folder {
                true => Operation::SyncFolder { path: path.clone() },
                false => Operation::SyncFile { inode },
            });
        }
        0
    });
    c_int::try_from(value).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    sync(descriptor, Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    sync(descriptor, Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(descriptor: c_int, length: i64) -> c_int {
    let length = length.cast_unsigned();
    let value = ended(rustix::fs::ftruncate(borrowed(descriptor), length), |()| {
        if let Some((path, inode, _)) = opened(borrowed(descriptor)) {
            record(&path, || Operation::Truncate { inode, length });
        }
        0
    });
    c_int::try_from(value).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let path = path_of(path);
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let existed = is_recording() && rustix::fs::statat(CWD, &path, AtFlags::empty()).is_ok();
    let file = rustix::fs::openat(CWD, &path, flags, Mode::from_bits_retain(mode));
    let value = ended(file, |file| {
        if let Some((path, inode, false)) = opened(borrowed(std::os::fd::AsRawFd::as_raw_fd(&file))) {
            if !existed {
                record(&path, || Operation::Create { path: path.clone(), inode });
            } else if flags.contains(OFlags::TRUNC) {
                record(&path, || Operation::Truncate { inode, length: 0 });
            }
        }
        isize::try_from(file.into_raw_fd()).unwrap_or(-1)
    });
    c_int::try_from(value).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let (from, to) = (path_of(from), path_of(to));
    let value = ended(rustix::fs::renameat(CWD, &from, CWD, &to), |()| {
        record(&to, || Operation::Rename { from: from.clone(), to: to.clone() });
        0
    });
    c_int::try_from(value).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn unlink(path: *const c_char) -> c_int {
    let path = path_of(path);
    let value = ended(rustix::fs::unlinkat(CWD, &path, AtFlags::empty()), |()| {
        record(&path, || Operation::Remove { path: path.clone() });
        0
    });
    c_int::try_from(value).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    let path = path_of(path);
    let value = ended(rustix::fs::mkdirat(CWD, &path, Mode::from_bits_retain(mode)), |()| {
        record(&path, || Operation::MakeFolder { path: path.clone() });
        0
    });
    c_int::try_from(value).unwrap_or(-1)
}

/// Files and folders, as they may be on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Disk {
    names: BTreeMap<PathBuf, u64>,
    contents: BTreeMap<u64, Vec<u8>>,
    folders: BTreeSet<PathBuf>,
}

/// How an operation that was not synced is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
    /// The first half of a write.
    Torn,
    /// The length of a write, and zeros.
    Zeroed,
}

impl Disk {
    fn apply(&mut self, operation: &Operation, fate: Fate) {
        if fate == Fate::Lost {
            return;
        }
        match operation {
            Operation::Create { path, inode } => {
                self.names.insert(path.clone(), *inode);
            }
            Operation::MakeFolder { path } => {
                self.folders.insert(path.clone());
            }
            Operation::Write { inode, offset, bytes } => {
                let content = self.contents.entry(*inode).or_default();
                let offset = usize::try_from(*offset).unwrap();
                let length = if fate == Fate::Torn { bytes.len() / 2 } else { bytes.len() };
                if content.len() < offset + length {
                    content.resize(offset + length, 0);
                }
                match fate {
                    Fate::Zeroed => content[offset..offset + length].fill(0),
                    _ => content[offset..offset + length].copy_from_slice(&bytes[..length]),
                }
            }
            Operation::Truncate { inode, length } => {
                self.contents.entry(*inode).or_default().resize(usize::try_from(*length).unwrap(), 0);
            }
            Operation::Rename { from, to } => {
                if let Some(inode) = self.names.remove(from) {
                    self.names.insert(to.clone(), inode);
                }
            }
            Operation::Remove { path } => {
                self.names.remove(path);
            }
            Operation::SyncFile { .. } | Operation::SyncFolder { .. } | Operation::Acknowledge => {}
        }
    }

    /// Writes the files below `from` to another folder.
    fn write_to(&self, from: &Path, to: &Path) {
        for folder in &self.folders {
            fs::create_dir_all(to.join(folder.strip_prefix(from).unwrap())).unwrap();
        }
        for (path, inode) in &self.names {
            let target = to.join(path.strip_prefix(from).unwrap());
            if target.parent().is_some_and(Path::is_dir) {
                fs::write(target, self.contents.get(inode).map_or(&[][..], Vec::as_slice)).unwrap();
            }
        }
    }
}

/// Returns the folder whose entries an operation changes.
fn folder_of(operation: &Operation) -> Option<&Path> {
    match operation {
        Operation::Create { path, .. } | Operation::MakeFolder { path } | Operation::Remove { path } => {
            path.parent()
        }
        Operation::Rename { to, .. } => to.parent(),
        _ => None,
    }
}

/// Returns the file whose content an operation changes.
fn file_of(operation: &Operation) -> Option<u64> {
    match operation {
        Operation::Write { inode, .. } | Operation::Truncate { inode, .. } => Some(*inode),
        _ => None,
    }
}

/// Returns the places of the operations whose effect is not certain after a power cut.
fn unsynced(operations: &[Operation]) -> Vec<usize> {
    let is_synced = |place: usize| {
        operations[place + 1..].iter().any(|later| match later {
            Operation::SyncFile { inode } => file_of(&operations[place]) == Some(*inode),
            Operation::SyncFolder { path } => folder_of(&operations[place]) == Some(path.as_path()),
            _ => false,
        })
    };
    let changes =
        |place: &usize| file_of(&operations[*place]).is_some() || folder_of(&operations[*place]).is_some();
    (0..operations.len()).filter(changes).filter(|place| !is_synced(*place)).collect()
}

/// Returns the disks that a power cut after these operations may leave.
fn disks(operations: &[Operation]) -> Vec<Disk> {
    let pending = unsynced(operations);
    let disk = |fate_of: &dyn Fn(usize) -> Fate| {
        let mut disk = Disk::default();
        for (place, operation) in operations.iter().enumerate() {
            disk.apply(operation, if pending.contains(&place) { fate_of(place) } else { Fate::Kept });
        }
        disk
    };
    let kept_if = |is_kept: bool| if is_kept { Fate::Kept } else { Fate::Lost };
    let mut found = vec![
        disk(&|_| Fate::Kept),
        disk(&|_| Fate::Lost),
        disk(&|place| kept_if(folder_of(&operations[place]).is_some())),
        disk(&|place| kept_if(file_of(&operations[place]).is_some())),
    ];
    for one in &pending {
        found.push(disk(&|place| kept_if(place != *one)));
        found.push(disk(&|place| kept_if(place == *one)));
        // File systems keep the order of entries of a folder more often than not.
        found.push(disk(&|place| kept_if(place <= *one)));
        if matches!(operations[*one], Operation::Write { .. }) {
            for fate in [Fate::Torn, Fate::Zeroed] {
                found.push(disk(&|place| if place == *one { fate } else { Fate::Kept }));
            }
        }
    }
    found
}

/// Records that a sample is acknowledged.
#[derive(Default)]
struct Acknowledgements;

impl RunProgress for Acknowledgements {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::SampleAnswered { .. } = event
            && let Some(recording) = RECORDING.lock().as_mut()
        {
            recording.operations.push(Operation::Acknowledge);
        }
    }
}

struct Workspace {
    folder: tempfile::TempDir,
    server: LoadServer,
}

impl Workspace {
    fn new() -> Workspace {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let server =
            LoadServer::start(|request| completion(&last_message(request).replace('q', "a")).into()).unwrap();
        let row = |index| {
            format!("{{\"id\": \"s{index}\", \"question\": \"q{index}\", \"answer\": \"a{index}\"}}\n")
        };
        fs::write(folder.path().join("rows.jsonl"), (0..ROWS).map(row).collect::<String>()).unwrap();
        let suite = include_str!("suite.yaml").replace("SERVER", &server.url());
        fs::write(folder.path().join("suite.yaml"), suite).unwrap();
        Workspace { folder, server }
    }

    fn context(&self) -> Context {
        let mut context = Context { progress: Arc::new(Acknowledgements), ..Context::default() };
        // Compiled components are shared with the other tests of this machine.
        context.host.cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
        context
    }

    fn request(&self, output_folder: &Path) -> RunRequest {
        RunRequest {
            context: self.context(),
            output_folder: output_folder.to_owned(),
            run_id: Some("run".to_owned()),
            concurrency: Some(1),
            ..RunRequest::new(self.folder.path().join("suite.yaml"))
        }
    }

    fn resume(&self, output_folder: &Path) -> Result<RunStatus, RunnerError> {
        let request = ResumeRequest { run: self.request(output_folder), retry: Vec::new(), rejudge: None };
        resume(&request).map(|outcome| outcome.status)
    }

    /// Returns true if the files of a run are as it recorded them, and its figures the same.
    fn is_verified(&self, run: &Path) -> Result<bool, RunnerError> {
        verify(&VerifyRequest { context: self.context(), ..VerifyRequest::new(run) })
            .map(|outcome| outcome.is_verified())
    }
}

/// Records the operations of a run, and what it wrote in the end.
fn recorded_run(workspace: &Workspace, root: &Path) -> (Vec<Operation>, [Vec<u8>; 2]) {
    let _turn = TURN.lock();
    fs::create_dir_all(root).unwrap();
    *RECORDING.lock() = Some(Recording { root: root.to_owned(), operations: Vec::new() });
    let outcome = run(&workspace.request(root)).unwrap();
    let recording = RECORDING.lock().take().expect("it was recorded");
    assert_eq!(outcome.status, RunStatus::Complete);
    (recording.operations, results(&root.join("run")))
}

fn results(run: &Path) -> [Vec<u8>; 2] {
    ["samples.jsonl", "summary.json"].map(|name| fs::read(run.join(name)).unwrap())
}

/// The disk after all operations is the real one: no change was missed.
#[test]
fn every_change_of_the_disk_is_recorded() {
    let workspace = Workspace::new();
    let root = workspace.folder.path().join("runs");
    let (operations, _) = recorded_run(&workspace, &root);
    let mut disk = Disk::default();
    operations.iter().for_each(|operation| disk.apply(operation, Fate::Kept));
    let copy = workspace.folder.path().join("copy");
    disk.write_to(&root, &copy);
    let mut compared = 0;
    let mut folders = vec![root.join("run")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let other = copy.join(path.strip_prefix(&root).unwrap());
            assert!(fs::read(&path).unwrap() == fs::read(other).unwrap(), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 8, "{compared} files");
}

#[test]
fn every_state_after_a_power_cut_can_be_resumed() {
    let workspace = Workspace::new();
    let root = workspace.folder.path().join("runs");
    let (operations, expected) = recorded_run(&workspace, &root);
    let after = workspace.folder.path().join("after");
    let (mut seen, mut tried, mut unstarted) = (HashSet::new(), 0_u64, 0_u64);
    for cut in 0..=operations.len() {
        let before = &operations[..cut];
        let acknowledged = before.iter().filter(|one| **one == Operation::Acknowledge).count() as u64;
        for disk in disks(before) {
            let mut hasher = DefaultHasher::new();
            (&disk, acknowledged).hash(&mut hasher);
            if !seen.insert(hasher.finish()) {
                continue;
            }
            tried += 1;
            let _ = fs::remove_dir_all(&after);
            fs::create_dir_all(&after).unwrap();
            disk.write_to(&root, &after);
            let asked = workspace.server.requests();
            let run_folder = after.join("run");
            let place = format!("after {cut} operations, state {tried}, kept in {}", after.display());
            if !run_folder.join("manifest.json").exists() {
                // Nothing was acknowledged, so the run may begin again.
                assert_eq!(acknowledged, 0, "{place}");
                unstarted += 1;
                let started = run(&workspace.request(&after));
                assert!(started.is_ok(), "{place}: {}", started.err().unwrap());
                continue;
            }
            // A reader may complain about a run that has not ended, but never fail in itself.
            let _ = workspace.is_verified(&run_folder);
            match workspace.resume(&after) {
                Ok(status) => assert_eq!(status, RunStatus::Complete, "{place}"),
                Err(error) => panic!("{place}: {error}"),
            }
            let asked = workspace.server.requests() - asked;
            assert!(asked <= ROWS - acknowledged, "{place}: {asked} asked, {acknowledged} acknowledged");
            assert!(results(&run_folder) == expected, "{place}: other results");
            assert!(workspace.is_verified(&run_folder).unwrap(), "{place}: not verified");
        }
    }
    println!("{} operations, {tried} states, {unstarted} of them before the run began", operations.len());
    assert!(tried > 200, "{tried} states");
}
