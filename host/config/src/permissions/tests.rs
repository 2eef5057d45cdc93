//! Tests of permissions.

use super::{AllowedHost, AllowedResources, Permissions, host_and_port};
use std::path::{Path, PathBuf};

#[test]
fn hosts_and_ports() {
    let good = |host: &str, port| Ok((host.to_owned(), port));
    assert_eq!(host_and_port("API.example.com"), good("api.example.com", None));
    assert_eq!(host_and_port("localhost:8000"), good("localhost", Some(8000)));
    assert_eq!(host_and_port("[::1]:80"), good("[::1]", Some(80)));
    assert_eq!(host_and_port("[::1]"), good("[::1]", None));
    assert_eq!(host_and_port("[0:0::1]"), good("[::1]", None));
    assert_eq!(host_and_port("10.0.0.1"), good("10.0.0.1", None));
    for text in ["127.1", "0x7f.1", "2130706433", "10.0.0.256"] {
        assert!(host_and_port(text).is_err(), "{text}");
    }
    for text in ["", "https://a.b", "a/b", "a b", "*.example.com", "a:0", "a:99999", "u@h", "::1", "[x]"] {
        assert!(host_and_port(text).is_err(), "{text}");
    }
}

#[test]
fn everything_is_allowed_without_a_restriction() {
    let permissions = Permissions::default();
    assert_eq!(permissions.allowed(), None);
    assert_eq!(permissions.check_env("HOME"), Ok(()));
    assert_eq!(permissions.check_file(Path::new("/etc/passwd")), Ok(()));
    assert_eq!(permissions.check_host("127.0.0.1", 8000), Ok(()));
    assert_eq!(permissions.with_folder(Path::new(".")).check_file(Path::new("..")), Ok(()));
}

#[test]
fn variables_and_hosts_are_allowed_one_by_one() {
    let net = ["api.example.com", "127.0.0.1:8000"].map(|text| text.parse::<AllowedHost>());
    let net = net.into_iter().collect::<Result<Vec<_>, _>>().expect("hosts");
    assert_eq!(net[1].to_string(), "127.0.0.1:8000");
    let allowed = AllowedResources { env: vec!["LANG".to_owned()], read: Vec::new(), net };
    let permissions = Permissions::restricted(allowed);
    assert_eq!(permissions.check_env("LANG"), Ok(()));
    let refusal = permissions.check_env("HOME").expect_err("not allowed");
    assert_eq!(
        refusal.to_string(),
        "the suite may not read the environment variable HOME; allow it with `--allow-env HOME`"
    );
    for (address, refused) in [
        ("https://api.example.com/v1", None),
        ("http://API.example.com:8000/v1", None),
        ("http://127.0.0.1:8000", None),
        // The same address, spelled as a number.
        ("http://2130706433:8000", None),
        ("http://127.0.0.1:8001", Some("127.0.0.1:8001")),
        ("https://example.com", Some("example.com")),
        ("https://api.example.com.", Some("api.example.com.")),
        ("http://[::1]:8000", Some("[::1]:8000")),
        ("http://localhost:8000", Some("localhost:8000")),
    ] {
        let found = permissions.check_url(&address.parse().expect("a URL")).map_err(|refusal| refusal.help);
        let expected = refused.map(|host| format!("allow it with `--allow-net {host}`"));
        assert_eq!(found.err(), expected, "{address}");
    }
    assert!(permissions.check_hub("hub.example", 443).is_err());
    assert_eq!(permissions.offline().check_hub("hub.example", 443), Ok(()));
}

/// A folder with a suite, and what is around it.
struct Place {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("resolved");
        for name in ["suite/data", "other"] {
            std::fs::create_dir_all(base.join(name)).expect("made");
        }
        for name in ["suite/rows.jsonl", "other/secret.csv"] {
            std::fs::write(base.join(name), "x").expect("written");
        }
        Place { _folder: folder, base }
    }

    fn permissions(&self, read: &[&str]) -> Permissions {
        let read = read.iter().map(|name| self.base.join(name)).collect();
        let allowed = AllowedResources { read, ..AllowedResources::default() };
        Permissions::restricted(allowed).with_folder(&self.base.join("suite"))
    }
}

#[test]
fn only_files_of_the_suite_and_of_allowed_folders_are_read() {
    let place = Place::new();
    let alone = place.permissions(&[]);
    for inside in
        ["suite", "suite/rows.jsonl", "suite/data/../rows.jsonl", "suite/new/file", "other/../suite"]
    {
        assert_eq!(alone.check_file(&place.base.join(inside)), Ok(()), "{inside}");
    }
    let secret = place.base.join("other/secret.csv");
    let refusal = alone.check_file(&secret).expect_err("outside");
    let other = place.base.join("other");
    assert_eq!(
        refusal.to_string(),
        format!(
            "the file {} is outside the suite's folder; allow it with `--allow-read {}`",
            secret.display(),
            other.display()
        )
    );
    assert_eq!(place.permissions(&["other"]).check_file(&secret), Ok(()));
    for outside in ["", "other", "suite/../other/secret.csv", "suite2/rows.jsonl"] {
        assert!(alone.check_file(&place.base.join(outside)).is_err(), "{outside}");
    }
    // A part that is made later must not turn the path into another one.
    for later in ["suite/new/../../other/secret.csv", "suite/new/../rows.jsonl"] {
        let refusal = alone.check_file(&place.base.join(later)).expect_err(later);
        assert!(refusal.message.contains("leads through a folder that does not exist"), "{refusal}");
    }
}

#[cfg(unix)]
#[test]
fn links_out_of_the_suite_are_refused() {
    let place = Place::new();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(place.base.join(target), place.base.join(name)).expect("linked");
    };
    link("other/secret.csv", "suite/file.csv");
    link("other", "suite/folder");
    link("suite/rows.jsonl", "suite/same.jsonl");
    link("nowhere", "suite/dangling");
    link("suite/rows.jsonl", "other/back.jsonl");
    let permissions = place.permissions(&[]);
    let refused =
        |name: &str| permissions.check_file(&place.base.join(name)).err().map(|refusal| refusal.message);
    assert_eq!(refused("suite/same.jsonl"), None);
    for name in
        ["suite/file.csv", "suite/folder", "suite/folder/secret.csv", "suite/dangling", "other/back.jsonl"]
    {
        assert!(refused(name).is_some(), "{name}");
    }
    let file = refused("suite/file.csv").unwrap_or_default();
    assert!(
        file.contains("suite/file.csv leads to ") && file.contains("other/secret.csv, outside"),
        "{file}"
    );
}
