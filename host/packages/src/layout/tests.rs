//! Tests of packages in a file, with real archives.

use super::*;
use crate::{NewPackage, package_manifest};
use gage_recorded_messages::RecordedError as _;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn package(name: &str, component: &[u8], signatures: &[Signature]) -> NewPackage {
    NewPackage {
        reference: format!("oci://{name}").parse().unwrap(),
        manifest: package_manifest(b"{}", component, "x.wasm", &BTreeMap::new()),
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

/// Describes a manifest under a name.
fn named(manifest: &[u8], name: &str) -> Descriptor {
    let mut entry = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, manifest);
    entry.annotations.insert(NAME_ANNOTATION.to_owned(), name.to_owned());
    entry
}

/// Returns the version of the layout, as a file.
fn layout_version() -> (String, Vec<u8>) {
    ("oci-layout".to_owned(), br#"{"imageLayoutVersion": "1.0.0"}"#.to_vec())
}

/// Writes an archive with an index and some blobs.
fn write_layout(target: &Path, index: Vec<Descriptor>, blobs: &[&[u8]]) {
    let index = ImageIndex { manifests: index }.to_bytes();
    let mut files = BTreeMap::from([layout_version(), ("index.json".to_owned(), index)]);
    let blob_file = |blob: &&[u8]| (format!("blobs/sha256/{}", Digest::of_bytes(blob).hex()), blob.to_vec());
    files.extend(blobs.iter().map(blob_file));
    write_files(target, &files);
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
    let mut imported = to.import(&archive).unwrap();
    imported.sort_by(|one, other| one.reference.cmp(&other.reference));
    let found = |name: &str| to.find(&format!("oci://{name}").parse().unwrap(), None).unwrap().unwrap();
    let packages = [found("r.example/a/x:1"), found("r.example:5000/y:2")];
    assert_eq!(imported, packages.each_ref().map(PackageSummary::from));
    assert_eq!(fs::read(&packages[0].file).unwrap(), b"component of x");
    assert_eq!(packages.each_ref().map(|package| package.signatures.len()), [3, 0]);
    let again = folder.path().join("again.tar");
    let reversed: Vec<StoredPackage> = packages.into_iter().rev().collect();
    to.export(&reversed, &again).unwrap();
    assert_eq!(fs::read(&archive).unwrap(), fs::read(&again).unwrap());
}

#[test]
fn the_last_package_of_a_name_counts_after_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = |component: &[u8]| package_manifest(b"{}", component, "a.wasm", &BTreeMap::new());
    let (one, two) = (manifest(b"one"), manifest(b"two"));
    let archive = folder.path().join("packages.tar");
    for (order, expected) in [([&one, &two], "two"), ([&two, &one], "one")] {
        let index = order.map(|manifest| named(manifest, "r.example/x:1")).to_vec();
        write_layout(&archive, index, &[b"{}", b"one", b"two", &one, &two]);
        let to = store(&folder, &format!("after-{expected}"));
        assert_eq!(to.import(&archive).unwrap().len(), 2);
        let found = to.find(&"oci://r.example/x:1".parse().unwrap(), None).unwrap().unwrap();
        assert_eq!(fs::read(found.file).unwrap(), expected.as_bytes());
    }
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
    for name in files.keys() {
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
            let is_named = message.contains(&format!("'{name}' cannot be read: "));
            assert!(message.contains("is damaged") || is_named, "{name}: {message}");
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
    let manifest = package_manifest(b"{}", b"component", "x.wasm", &BTreeMap::new());
    let digest = Digest::of_bytes(&manifest);
    let mut entry = serde_json::json!(Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest));
    let nameless = index(serde_json::json!([entry]));
    entry["annotations"] = serde_json::json!({NAME_ANNOTATION: "r.example/../x:1"});
    let misnamed = index(serde_json::json!([entry]));
    entry["annotations"] =
        serde_json::json!({NAME_ANNOTATION: format!("r.example/x@{}", Digest::of_bytes(b"x"))});
    let other_digest = index(serde_json::json!([entry]));
    for (index, reason) in [
        (b"{".to_vec(), "'index.json' cannot be read: EOF while parsing"),
        (manifest.clone(), "'index.json': it is not an index"),
        (index(serde_json::json!([])), "it has no package"),
        (nameless, "has no name in the annotation 'io.containerd.image.name'"),
        (misnamed, "the name 'r.example/../x:1' of a manifest is not valid"),
        (other_digest, "is not that of 'oci://r.example/x@"),
        (vec![b' '; (4 << 20) + 1], "'index.json' has 4194305 bytes, and at most 4194304 are allowed"),
    ] {
        let blob = format!("blobs/sha256/{}", digest.hex());
        let files =
            BTreeMap::from([layout_version(), ("index.json".to_owned(), index), (blob, manifest.clone())]);
        write_files(&target, &files);
        let message = import_error(&folder, &target);
        assert!(message.contains(reason), "{message}");
        assert!(message.ends_with("nothing was imported; make it with `gage-host plugin export`"));
    }
    for (bytes, reason) in [
        (&b"no archive"[..], "is not an archive of packages"),
        (b"", "it has no 'oci-layout'"),
        (b"\x1f\x8b\x08\0 compressed", "it is compressed with gzip, and must be unpacked first"),
        (b"\x28\xb5\x2f\xfd compressed", "it is compressed with zstd, and must be unpacked first"),
    ] {
        fs::write(&target, bytes).unwrap();
        let message = import_error(&folder, &target);
        assert!(message.contains(reason), "{message}");
    }
    let message = import_error(&folder, &folder.path().join("missing.tar"));
    assert!(message.ends_with("missing.tar: no such file or directory"), "{message}");
}

#[test]
fn an_archive_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = exported(&folder);
    let mut files = files_of(&archive);
    let target = folder.path().join("other.tar");
    for (version, reason) in [
        (r#"{"imageLayoutVersion": "9"}"#, "its imageLayoutVersion is '9', and '1.0.0' is expected"),
        ("{}", "'oci-layout' cannot be read: missing field `imageLayoutVersion`"),
        ("1.0.0", "'oci-layout' cannot be read"),
    ] {
        files.insert("oci-layout".to_owned(), version.as_bytes().to_vec());
        write_files(&target, &files);
        let message = import_error(&folder, &target);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn a_manifest_with_many_names_is_read_and_held_once() {
    const MAX_HELD_BYTES: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("packages.tar");
    let annotations = BTreeMap::from([("padding".to_owned(), "a".repeat(500_000))]);
    let component = vec![0_u8; 200_000];
    let manifest = package_manifest(b"{}", &component, "a.wasm", &annotations);
    let bundle = vec![b' '; 500_000];
    let signature = bundle_manifest(&bundle, &Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest));
    let write = |names: usize| {
        let mut index = vec![Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &signature)];
        index.extend((0..names).map(|name| named(&manifest, &format!("r.example/x:{name}"))));
        write_layout(&archive, index, &[b"{}", &component, &manifest, &bundle, &signature]);
    };
    write(MAX_PACKAGES);
    let size = fs::metadata(&archive).unwrap().len();
    let mut opened = LayoutArchive::open(&archive).unwrap();
    let contents = LayoutContents::read(&mut opened).unwrap();
    contents.check(&mut opened).unwrap();
    assert_eq!(contents.packages().count(), MAX_PACKAGES);
    assert_eq!(contents.blobs().len(), 4, "the manifest and its three parts");
    assert!(opened.read_bytes < size, "{} of {size} bytes", opened.read_bytes);
    assert!(contents.record_bytes < MAX_HELD_BYTES, "{} bytes", contents.record_bytes);

    write(MAX_PACKAGES + 1);
    let message = import_error(&folder, &archive);
    assert!(message.contains("it has more than 256 packages"), "{message}");

    write(20);
    let to = store(&folder, "to");
    let imported = to.import(&archive).unwrap();
    assert!(imported.len() == 20 && imported.iter().all(|package| package.signatures == 1));
    let found = to.find(&"oci://r.example/x:7".parse().unwrap(), None).unwrap().unwrap();
    assert!(found.signatures == [Signature::Bundle(bundle)]);
}

#[test]
fn signatures_of_an_archive_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("packages.tar");
    let manifest = package_manifest(b"{}", b"component", "a.wasm", &BTreeMap::new());
    let payload = b"payload";
    for (names, signatures, length, reason) in [
        (1, 64, 100, None),
        (1, 65, 100, Some("has more than 64 signatures")),
        (1, 1, 1 << 20, Some("a signature of the package oci://r.example/x:0 has more than 1048576 bytes")),
        (1, 64, 50_000, None),
        (8, 64, 50_000, Some("the signatures of its packages take more than 16 MiB")),
    ] {
        let text = |number: usize| format!("{number:02}{}", "a".repeat(length));
        let layers: Vec<Descriptor> =
            (0..signatures).map(|number| simple_layer(payload, &text(number))).collect();
        // Repeated layers are one signature.
        let (_, simple) = simple_manifest(&[layers.as_slice(), &layers[..1]].concat());
        let mut signed = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &simple);
        let tag = signatures_tag(Digest::of_bytes(&manifest));
        signed.annotations.insert(TAG_ANNOTATION.to_owned(), tag);
        let mut index = vec![signed];
        index.extend((0..names).map(|name| named(&manifest, &format!("r.example/x:{name}"))));
        write_layout(&archive, index, &[b"{}", b"component", payload, &manifest, &simple]);
        let case = format!("{names} names, {signatures} signatures of {length} bytes");
        match reason {
            Some(reason) => {
                let message = import_error(&folder, &archive);
                assert!(message.contains(reason), "{case}: {message}");
            }
            None => {
                let imported = store(&folder, "to").import(&archive).unwrap();
                assert_eq!(imported[0].signatures, signatures, "{case}");
            }
        }
    }
}

#[test]
fn an_archive_has_a_maximum_number_of_packages() {
    let folder = tempfile::tempdir().unwrap();
    let from = store(&folder, "from");
    let saved = from.save(&package("r.example/x:1", b"one", &[])).unwrap();
    let tagged = |number: usize| StoredPackage {
        reference: saved.reference.with_tag(&number.to_string()),
        ..saved.clone()
    };
    let packages: Vec<StoredPackage> = (0..=MAX_PACKAGES).map(tagged).collect();
    let target = folder.path().join("packages.tar");
    let message = from.export(&packages, &target).unwrap_err().recorded("plugins");
    assert!(message.contains("257 packages to export, and an archive has at most 256"), "{message}");
    assert!(!target.exists());
    from.export(&packages[1..], &target).unwrap();
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
