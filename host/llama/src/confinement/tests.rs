//! Attacks from inside a confined process. Confinement cannot be undone, so each test runs itself again in a process of
//! its own.

use super::confine;
use gage_model_protocol::Confinement;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variable with the folder of the process that a test confines; not set in the process of the test itself.
const FOLDER: &str = "CONFINED_TEST_FOLDER";

/// Variable with the address of a server that must not be reached.
const ADDRESS: &str = "CONFINED_TEST_ADDRESS";

/// Runs a test again in a process that confines itself. `attack` gets the folder of that process, with the files
/// `model.gguf` and `other`.
fn in_confined_process(test: &str, reaches_gpus: bool, attack: impl FnOnce(&Path, &Confinement)) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = PathBuf::from(folder);
        let confinement = confine(&[folder.join("model.gguf")], &[], reaches_gpus);
        attack(&folder, &confinement);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["model.gguf", "other"] {
        fs::write(folder.path().join(name), name).expect("written");
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let name = format!("{}::{test}", module_path!().split_once("::").expect("a module").1);
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &name, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .env(ADDRESS, address)
        .stdin(Stdio::null())
        .output()
        .expect("a process");
    let output =
        [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(ended.status.success() && output.contains("1 passed"), "{name}: {output}");
}

/// Returns a value from the status of this thread.
fn status(key: &str) -> String {
    let text = fs::read_to_string("/proc/thread-self/status").expect("the status");
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

#[track_caller]
fn assert_denied<T>(result: std::io::Result<T>, attack: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{attack} succeeded"));
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{attack}: {error}");
}

/// Checks that the files of others can be neither read nor changed.
fn attack_files(folder: &Path) {
    let model = folder.join("model.gguf");
    assert_eq!(fs::read(&model).expect("its own model"), b"model.gguf");
    assert_denied(File::open("/etc/passwd"), "reading /etc/passwd");
    assert_denied(File::open(folder.join("other")), "reading the file next to the model");
    assert_denied(fs::read_dir(folder), "listing the folder of the model");
    assert_denied(fs::write(folder.join("new"), ""), "writing a file");
    assert_denied(File::options().append(true).open(&model), "changing the model");
    assert_denied(fs::remove_file(&model), "deleting the model");
    let parent = std::os::unix::process::parent_id();
    assert_denied(File::open(format!("/proc/{parent}/environ")), "reading the variables of the parent");
}

/// Checks that neither a program, nor another process, nor a server can be reached.
fn attack_system_calls(folder: &Path) {
    assert_denied(TcpStream::connect(std::env::var(ADDRESS).expect("set")), "connecting to a server");
    assert_denied(UdpSocket::bind("127.0.0.1:0"), "opening a socket");
    assert_denied(Command::new("/bin/true").status(), "starting a program");
    let permissions = Permissions::from_mode(0o777);
    assert_denied(fs::set_permissions(folder.join("other"), permissions), "changing permissions");
    let parent = rustix::process::getppid().expect("a parent");
    assert_denied(rustix::process::test_kill_process(parent).map_err(Into::into), "signalling the parent");
    // What llama.cpp needs still works.
    assert_eq!(std::thread::spawn(|| 7).join().expect("a thread"), 7);
    assert!(std::thread::available_parallelism().is_ok());
}

#[test]
fn confined_process_reaches_nothing_but_its_model() {
    in_confined_process("confined_process_reaches_nothing_but_its_model", false, |folder, confinement| {
        assert_eq!(status("NoNewPrivs"), "1");
        assert_eq!(confinement.privileges, Ok(()));
        let limits = fs::read_to_string("/proc/self/limits").expect("the limits");
        for limit in ["Max core file size", "Max file size"] {
            let line = limits.lines().find(|line| line.starts_with(limit)).expect("a limit");
            assert!(line[limit.len()..].split_whitespace().take(2).eq(["0", "0"]), "{line}");
        }
        if confinement.files.is_ok() {
            attack_files(folder);
        }
        if confinement.system_calls.is_ok() {
            assert_eq!(status("Seccomp"), "2");
            attack_system_calls(folder);
            assert_denied(UnixStream::pair(), "opening local sockets");
        }
    });
}

/// The rules of builds for GPUs differ in the files of drivers, and in local sockets that listen.
#[test]
fn confined_process_with_gpus_reaches_only_their_drivers() {
    let test = "confined_process_with_gpus_reaches_only_their_drivers";
    in_confined_process(test, true, |folder, confinement| {
        if confinement.files.is_ok() {
            attack_files(folder);
            assert!(fs::read_dir("/usr/lib").is_ok(), "libraries are found");
        }
        if confinement.system_calls.is_ok() {
            attack_system_calls(folder);
        }
    });
}
