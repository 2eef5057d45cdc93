//! Tests of packages in a file, with real archives.

use super::*;
use crate::package_manifest;
use gage_recorded_messages::RecordedError as _;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn package(name: &str, component: &[u8], signatures: &[Signature]) -> NewPackage {
    NewPackage {
        reference: format!("oci://{name}").parse().unwrap(),
        manifest: package_manifest(b"{}", component, &BTreeMap::new()),
        config: b"{}".to_vec(),
        component: component.to_vec(),
        signatures: signatures.to_vec(),
    }
}

fn store(folder: &TempDir, name: &str) -> PackageStore {
    PackageStore::new(folder.path().join(name))
}

fn simple(payload: &[u8], signature: &str) -> Signature {
    Signature::Simple { payload: payload.to_vec(), signature: signature.to_owned() }
}

/// Exports two packages. Returns the archive.
fn exported(folder: &TempDir) -> PathBuf {
    let from = store(folder, "from");
    let signatures = [Signature::Bundle(b"bundle".to_vec()), simple(b"one", "YQ=="), simple(b"two", "Yg==")];
    let packages = [
        from.save(&package("r.example/a/x:1", b"component of x", &signatures)).unwrap(),
        from.save(&package("r.example:5000/y:2", &[0; 3000], &[])).unwrap(),
    ];
    let target = folder.path().join("packages.tar");
    from.export(&packages, &target).unwrap();
    target
}

/// Reads the files of an archive.
fn files_of(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(fs::File::open(archive).unwrap());
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

/// Writes an archive of files.
fn write_files(target: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let mut archive = tar::Builder::new(fs::File::create(target).unwrap());
    for (name, bytes) in files {
        append(&mut archive, name, bytes).unwrap();
    }
    archive.into_inner().unwrap();
}

/// Writes an archive with one entry whose header is changed after its name was set.
fn write_entry(target: &Path, name: &str, change: impl FnOnce(&mut tar::Header)) {
    let mut header = tar::Header::new_ustar();
    header.set_size(0);
    header.set_mode(0o644);
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    change(&mut header);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend([0; 1024]);
    fs::write(target, bytes).unwrap();
}

fn import_error(folder: &TempDir, archive: &Path) -> String {
    let to = store(folder, "refused");
    let message = to.import(archive).unwrap_err().recorded("plugins");
    assert!(!folder.path().join("refused").exists(), "{message}");
    message
}

#[test]
fn what_is_exported_comes_back_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let archive = exported(&folder);
    let to = store(&folder, "to");
    let imported = to.import(&archive).unwrap();
    assert_eq!(imported.len(), 2);
    let found = to.find(&"oci://r.example/a/x:1".parse().unwrap(), None).unwrap().unwrap();
    assert_eq!(fs::read(&found.file).unwrap(), b"component of x");
    assert_eq!(found.signatures.len(), 3);
    let again = folder.path().join("again.tar");
    let reversed: Vec<StoredPackage> = imported.into_iter().rev().collect();
    to.export(&reversed, &again).unwrap();
    assert_eq!(fs::read(&archive).unwrap(), fs::read(&again).unwrap());
}

#[test]
fn a_package_that_is_damaged_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let from = store(&folder, "from");
    let saved = from.save(&package("r.example/x:1", b"one", &[])).unwrap();
    fs::write(&saved.file, b"two").unwrap();
    let target = folder.path().join("packages.tar");
    let message = from.export(&[saved], &target).unwrap_err().recorded("plugins");
    assert!(message.contains("fetch it with `gage-host plugin pull oci://r.example/x:1`"), "{message}");
    assert!(!target.exists());
}

#[test]
fn damaged_parts_of_an_archive_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = exported(&folder);
    let files = files_of(&archive);
    let target = folder.path().join("changed.tar");
    for name in files.keys().filter(|name| *name != "oci-layout") {
        let mut changed = files.clone();
        changed.remove(name);
        // Configurations of signatures are not needed to import them.
        let is_needed = !name.ends_with(&simple_manifest_config(&files));
        write_files(&target, &changed);
        if is_needed {
            let message = import_error(&folder, &target);
            assert!(message.contains("it has no '"), "{name}: {message}");
            changed.insert(name.clone(), b"other".to_vec());
            write_files(&target, &changed);
            let message = import_error(&folder, &target);
            assert!(message.contains("is damaged") || message.contains("'index.json'"), "{message}");
        }
    }
}

/// Returns the digits of the digest of the only blob that an import does not read.
fn simple_manifest_config(files: &BTreeMap<String, Vec<u8>>) -> String {
    let config = files.values().find(|bytes| bytes.windows(8).any(|part| part == b"diff_ids"));
    Digest::of_bytes(config.unwrap()).hex()
}

#[test]
fn an_archive_of_another_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("other.tar");
    let index = |manifests: serde_json::Value| {
        serde_json::json!({"schemaVersion": 2, "manifests": manifests}).to_string().into_bytes()
    };
    let manifest = package_manifest(b"{}", b"component", &BTreeMap::new());
    let digest = Digest::of_bytes(&manifest);
    let mut entry = serde_json::json!(Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest));
    let nameless = index(serde_json::json!([entry]));
    entry["annotations"] = serde_json::json!({NAME_ANNOTATION: "r.example/../x:1"});
    let misnamed = index(serde_json::json!([entry]));
    entry["annotations"] =
        serde_json::json!({NAME_ANNOTATION: format!("r.example/x@{}", Digest::of_bytes(b"x"))});
    let other_digest = index(serde_json::json!([entry]));
    for (index, reason) in [
        (b"{".to_vec(), "'index.json': its manifest cannot be read"),
        (manifest.clone(), "'index.json': it is not an index"),
        (index(serde_json::json!([])), "it has no package"),
        (nameless, "has no name in the annotation 'io.containerd.image.name'"),
        (misnamed, "the name 'r.example/../x:1' of a manifest is not valid"),
        (other_digest, "is not that of 'oci://r.example/x@"),
        (vec![b' '; (4 << 20) + 1], "'index.json' has 4194305 bytes, and at most 4194304 are allowed"),
    ] {
        let blob = format!("blobs/sha256/{}", digest.hex());
        let files = BTreeMap::from([("index.json".to_owned(), index), (blob, manifest.clone())]);
        write_files(&target, &files);
        let message = import_error(&folder, &target);
        assert!(message.contains(reason), "{message}");
        assert!(message.ends_with("nothing was imported; make it with `gage-host plugin export`"));
    }
    fs::write(&target, b"no archive").unwrap();
    let message = import_error(&folder, &target);
    assert!(message.contains("is not an archive of packages"), "{message}");
    let message = import_error(&folder, &folder.path().join("missing.tar"));
    assert!(message.contains("cannot read"), "{message}");
}

#[test]
fn hostile_entries_of_an_archive_are_refused() {
    use tar::EntryType;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("hostile.tar");
    for (name, kind, size, reason) in [
        ("../x", EntryType::Regular, 0, "the name '../x' leads out of it"),
        ("blobs/../../x", EntryType::Regular, 0, "leads out of it"),
        ("/etc/x", EntryType::Regular, 0, "the name '/etc/x' leads out of it"),
        ("blobs\\x", EntryType::Regular, 0, "leads out of it"),
        ("index.json", EntryType::Symlink, 0, "'index.json' is a link"),
        ("index.json", EntryType::Link, 0, "'index.json' is a link"),
        ("index.json", EntryType::Fifo, 0, "is neither a file nor a folder"),
        ("index.json", EntryType::GNUSparse, 0, "is neither a file nor a folder"),
        ("x", EntryType::GNULongName, 0, "is neither a file nor a folder"),
        ("index.json", EntryType::Regular, 1 << 20, "has 1048576 bytes, more than the archive holds"),
        ("index.json", EntryType::Regular, u64::MAX, "it is damaged"),
        ("x", EntryType::XHeader, 1 << 40, "more than the archive holds"),
    ] {
        write_entry(&target, name, |header| {
            header.set_entry_type(kind);
            header.set_size(size);
        });
        let message = import_error(&folder, &target);
        assert!(message.contains(reason), "{name} {kind:?} {size}: {message}");
    }
    let archive = exported(&folder);
    let bytes = fs::read(&archive).unwrap();
    for length in [100, 600, 1_500, bytes.len() / 2] {
        fs::write(&target, &bytes[..length]).unwrap();
        let message = import_error(&folder, &target);
        assert!(message.contains("is not an archive of packages"), "{length}: {message}");
    }
    let mut changed = bytes.clone();
    changed[0] ^= 1;
    fs::write(&target, changed).unwrap();
    let message = import_error(&folder, &target);
    assert!(message.contains("checksum"), "{message}");
    let mut twice = tar::Builder::new(fs::File::create(&target).unwrap());
    append(&mut twice, "index.json", b"{}").unwrap();
    append(&mut twice, "./index.json", b"{}").unwrap();
    twice.into_inner().unwrap();
    let message = import_error(&folder, &target);
    assert!(message.contains("two files with the name"), "{message}");
}
