use super::*;
use std::io::Seek as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

const LIMIT: FileLimit = FileLimit::new("a note", 2048);

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn reason<T>(result: io::Result<T>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

/// A folder `run` with files of every kind, and a file beside it.
fn hostile_folder() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let run = root.path().join("run");
    fs::create_dir_all(run.join("journal")).unwrap();
    fs::write(root.path().join("secret"), "s").unwrap();
    fs::write(run.join("plain"), "text").unwrap();
    fs::write(run.join("journal/first"), "line").unwrap();
    fs::write(run.join("large"), vec![b'a'; 2049]).unwrap();
    File::create(run.join("sparse")).unwrap().set_len(200 << 20).unwrap();
    make_pipe(&run.join("pipe"));
    drop(UnixListener::bind(run.join("socket")).unwrap());
    symlink("plain", run.join("link")).unwrap();
    symlink("nothing", run.join("dangling")).unwrap();
    symlink("/dev/zero", run.join("zeros")).unwrap();
    symlink("journal", run.join("linked")).unwrap();
    root
}

const REFUSED: [(&str, &str); 9] = [
    ("pipe", "it is a pipe, not a regular file"),
    ("socket", "it is a socket, not a regular file"),
    ("journal", "it is a folder, not a regular file"),
    ("link", "it is a symbolic link"),
    ("dangling", "it is a symbolic link"),
    ("zeros", "it is a symbolic link"),
    ("linked/first", "its folder 'linked' is a symbolic link"),
    ("../secret", "its name leads out of its folder"),
    ("/etc/passwd", "its name leads out of its folder"),
];

#[cfg(target_os = "linux")]
#[test]
fn holes_of_files_are_found() {
    let root = hostile_folder();
    let run = root.path().join("run");
    File::create(run.join("small")).unwrap().set_len(4096).unwrap();
    fs::write(run.join("full"), vec![b'a'; 2 << 20]).unwrap();
    for (name, expected) in [("small", ""), ("full", ""), ("sparse", "it has holes")] {
        let mut file = File::open(run.join(name)).unwrap();
        let found = reason(check_holes(&file));
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{name}: {found}");
        assert_eq!(file.stream_position().unwrap(), 0, "it is read from its start");
    }
}

#[test]
fn only_regular_files_below_a_folder_are_opened() {
    let root = hostile_folder();
    let run = root.path().join("run");
    for name in ["plain", "journal/first"] {
        assert!(!read_below(&run, name, LIMIT).unwrap().is_empty(), "{name}");
    }
    for (name, expected) in REFUSED {
        let found = reason(read_below(&run, name, LIMIT));
        assert!(found.starts_with(expected), "{name}: {found}");
        let found = reason(check_target(&run, name));
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    for name in ["nothing", "nothing/first"] {
        assert_eq!(read_below(&run, name, LIMIT).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        check_target(&run, name).unwrap();
    }
    // The folder itself may be a link: the user named it.
    symlink(&run, root.path().join("of-user")).unwrap();
    assert_eq!(read_below(&root.path().join("of-user"), "plain", LIMIT).unwrap(), b"text");
}

/// The part is a link when it is opened, although it was none when it was looked at.
#[test]
fn links_that_appear_meanwhile_are_not_followed() {
    let root = hostile_folder();
    let run = root.path().join("run");
    let open = |parts: &[&str]| open_parts(&run, &parts.iter().map(OsStr::new).collect::<Vec<_>>());
    assert!(open(&["journal", "first"]).is_ok());
    assert!(open(&["link"]).is_err() && open(&["linked", "first"]).is_err());
    // A pipe is opened at once, and then refused.
    assert!(reason(check_opened(open(&["pipe"]).unwrap(), LIMIT)).starts_with("it is a pipe"));
}

#[test]
fn large_files_are_refused_with_their_size_and_the_limit() {
    let root = hostile_folder();
    let run = root.path().join("run");
    assert_eq!(
        reason(read_below(&run, "sparse", LIMIT)),
        "it has 200 MiB; at most 2 KiB are allowed for a note"
    );
    assert_eq!(
        reason(read_below(&run, "large", FileLimit::new("a note", 1000))),
        "it has 2 KiB; at most 1000 bytes are allowed for a note"
    );
    assert_eq!(
        reason(read_below(&run, "large", LIMIT)),
        "it has 2049 bytes; at most 2048 bytes are allowed for a note"
    );
    let error = read_named(&run.join("large"), LIMIT).unwrap_err();
    assert!(matches!(FileRefusal::find(&error), Some(FileRefusal::TooLarge { bytes: 2049, .. })), "{error}");
    assert!(open_below(&run, "sparse", FileLimit::NONE).is_ok());
    // A file that says it is empty.
    let error = read_named(Path::new("/proc/self/status"), FileLimit::new("a status", 16));
    assert!(!cfg!(target_os = "linux") || reason(error).starts_with("it has 17 bytes"));
}

#[test]
fn named_files_may_be_links_to_regular_files() {
    let root = hostile_folder();
    let run = root.path().join("run");
    assert_eq!(read_named_text(&run.join("link"), LIMIT).unwrap(), "text");
    assert_eq!(read_named(&run.join("linked/first"), LIMIT).unwrap(), b"line");
    for (name, expected) in
        [("pipe", "it is a pipe"), ("zeros", "it is a device"), ("journal", "it is a folder")]
    {
        let found = reason(open_named(&run.join(name), LIMIT));
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    fs::write(run.join("bytes"), [0xff]).unwrap();
    assert_eq!(read_named_text(&run.join("bytes"), LIMIT).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn files_are_written_without_following_links() {
    use std::io::Write as _;
    let root = hostile_folder();
    let run = root.path().join("run");
    let write =
        |name: &str| open_to_write(&run.join(name), File::options().create(true).truncate(false).write(true));
    for name in ["pipe", "link", "dangling", "journal"] {
        assert!(FileRefusal::find(&write(name).unwrap_err()).is_some(), "{name}");
    }
    assert!(!run.join("nothing").exists(), "the target of the dangling link");
    write("new").unwrap().write_all(b"new").unwrap();
    write("plain").unwrap().write_all(b"T").unwrap();
    assert_eq!(fs::read(run.join("plain")).unwrap(), b"Text");

    for name in ["link", "dangling", "pipe", "large", "another"] {
        create_anew(&run.join(name)).unwrap().write_all(b"anew").unwrap();
        assert_eq!(read_below(&run, name, LIMIT).unwrap(), b"anew", "{name}");
    }
    assert_eq!(fs::read(run.join("plain")).unwrap(), b"Text", "the target of the link");
    assert!(create_anew(&run.join("journal")).is_err());
}

#[test]
fn lines_have_a_maximum_length() {
    let mut text = &b"abc\nabcd\n"[..];
    let mut line = Vec::new();
    assert_eq!(read_line(&mut text, &mut line, 4).unwrap(), 4);
    line.clear();
    let error = read_line(&mut text, &mut line, 4).unwrap_err();
    assert_eq!(FileRefusal::find(&error), Some(&FileRefusal::LongLine { max_bytes: 4 }));
    assert_eq!(line.len(), 5);
    // Nothing is read beyond the limit.
    line.clear();
    assert!(read_line(&mut io::BufReader::new(io::repeat(b'a')), &mut line, 1 << 16).is_err());
    assert_eq!(read_line(&mut io::empty(), &mut line, 4).unwrap(), 0);
}

#[test]
fn files_that_others_may_write_are_not_private() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file");
    fs::write(&path, "").unwrap();
    let check = |path: &Path| reason(check_private(&fs::symlink_metadata(path).unwrap()));
    for (mode, expected) in [
        (0o600, ""),
        (0o644, ""),
        (0o620, "other users can write to it"),
        (0o602, "other users can write to it"),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(check(&path), expected, "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&path, root.path().join("other")).unwrap();
    assert!(check(&path).starts_with("it has several names"));
    fs::create_dir(root.path().join("folder")).unwrap();
    assert_eq!(check(root.path()), "", "a folder has a name for each folder in it");
    // Only root can give a file away.
    let owner = rustix::process::geteuid();
    let theirs = if owner.is_root() { path.as_path() } else { Path::new("/") };
    if owner.is_root() {
        std::os::unix::fs::chown(&path, Some(61_234), None).unwrap();
    }
    assert_eq!(check(theirs), "it belongs to another user");
}
