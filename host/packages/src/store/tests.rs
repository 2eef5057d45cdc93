//! Tests of the cache of packages, with real files.

use super::*;
use crate::package_manifest;
use gage_recorded_messages::RecordedError as _;
use std::collections::BTreeMap;
use std::fs;

fn reference(text: &str) -> OciReference {
    format!("oci://{text}").parse().unwrap()
}

fn package(name: &str, component: &[u8], signatures: &[Signature]) -> NewPackage {
    let annotations = BTreeMap::from([("org.opencontainers.image.title".to_owned(), "x".to_owned())]);
    NewPackage {
        reference: reference(name),
        manifest: package_manifest(b"{}", component, "x.wasm", &annotations),
        config: b"{}".to_vec(),
        component: component.to_vec(),
        signatures: signatures.to_vec(),
    }
}

fn signatures() -> Vec<Signature> {
    let simple = |payload: &[u8], signature: &str| Signature::Simple {
        payload: payload.to_vec(),
        signature: signature.to_owned(),
    };
    vec![simple(b"payload", "YQ=="), Signature::Bundle(b"{}".to_vec()), simple(b"payload", "Yg==")]
}

fn store() -> (tempfile::TempDir, PackageStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = PackageStore::new(folder.path().join("cache").join("plugins"));
    (folder, store)
}

#[test]
fn a_saved_package_is_found_with_its_parts() {
    let (_folder, store) = store();
    let new = package("r.example/a/x:1", b"one", &signatures());
    assert!(store.find(&new.reference, None).unwrap().is_none());
    let saved = store.save(&new).unwrap();
    let found = store.find(&new.reference, None).unwrap().unwrap();
    assert_eq!(fs::read(&found.file).unwrap(), b"one");
    assert_eq!(found.component, Digest::of_bytes(b"one"));
    assert_eq!(found.manifest, Digest::of_bytes(&new.manifest));
    assert_eq!(found.annotations["org.opencontainers.image.title"], "x");
    assert_eq!(found.signatures.len(), 3);
    assert_eq!((saved.file, saved.signatures), (found.file, found.signatures));
}

#[test]
fn signatures_belong_to_a_manifest_and_not_to_its_name() {
    let (_folder, store) = store();
    let unsigned = package("r.example/x:1", b"one", &[]);
    let by_digest = unsigned.reference.with_digest(Digest::of_bytes(&unsigned.manifest));
    store
        .save(&NewPackage { reference: by_digest.clone(), ..package("r.example/x:1", b"one", &[]) })
        .unwrap();
    let signatures = || store.find(&by_digest, None).unwrap().unwrap().signatures;
    assert_eq!(signatures().len(), 0);
    store.save(&package("r.example/x:1", b"two", &self::signatures())).unwrap();
    assert_eq!(signatures().len(), 0, "the component is another one");
    store.save(&package("r.example/x:1", b"one", &self::signatures())).unwrap();
    assert_eq!(signatures().len(), 3);
}

#[test]
fn the_last_package_of_a_tag_counts_without_a_digest() {
    let (_folder, store) = store();
    let (one, two) = (package("r.example/x:1", b"one", &[]), package("r.example/x:1", b"two", &[]));
    for (new, expected) in [(&one, "one"), (&two, "two"), (&one, "one")] {
        store.save(new).unwrap();
        let found = store.find(&reference("r.example/x:1"), None).unwrap().unwrap();
        assert_eq!(found.component, Digest::of_bytes(expected.as_bytes()));
    }
    let digest = |package: &NewPackage| Digest::of_bytes(&package.manifest);
    let component = Digest::of_bytes(b"two");
    for (wanted, sha256, expected) in [
        (reference("r.example/x:1"), Some(component), Some(component)),
        (reference("r.example/x:2"), Some(component), Some(component)),
        (reference("r.example/x:2"), None, None),
        (reference("r.example/x:2").with_digest(digest(&two)), None, Some(component)),
        (reference("r.example/x:1").with_digest(digest(&one)), Some(component), None),
        (reference("r.example/y:1"), Some(component), None),
        (reference("s.example/x:1"), Some(component), None),
        (reference("r.example/x:1"), Some(Digest::of_bytes(b"three")), None),
    ] {
        let found = store.find(&wanted, sha256).unwrap();
        assert_eq!(found.as_ref().map(|found| found.component), expected, "{wanted} {sha256:?}");
        assert!(found.is_none_or(|found| found.reference == wanted));
    }
}

#[test]
fn a_damaged_part_counts_as_missing_and_is_replaced() {
    gage_recorded_messages::record_warnings("plugins");
    let (_folder, store) = store();
    let new = package("r.example/x:1", b"one", &signatures());
    store.save(&new).unwrap();
    for blob in [&b"one"[..], &new.manifest, b"payload", b"{}"] {
        let path = store.blob_path(Digest::of_bytes(blob));
        for damage in [&b"other"[..], b""] {
            fs::write(&path, damage).unwrap();
            assert!(store.find(&new.reference, None).unwrap().is_none(), "{}", path.display());
            store.save(&new).unwrap();
            assert_eq!(fs::read(&path).unwrap(), blob);
        }
        fs::remove_file(&path).unwrap();
        assert!(store.find(&new.reference, None).unwrap().is_none());
        store.save(&new).unwrap();
        assert!(store.find(&new.reference, None).unwrap().is_some());
    }
    let folder = store.records_folder(&new.reference);
    for entry in fs::read_dir(folder).unwrap() {
        fs::write(entry.unwrap().path(), "{").unwrap();
    }
    assert!(store.find(&new.reference, None).unwrap().is_none());
}

#[test]
fn a_package_that_contradicts_itself_is_not_saved() {
    let valid = || package("r.example/x:1", b"one", &signatures());
    let long = Signature::Bundle(vec![0; MAX_SIGNATURE_BYTES + 1]);
    let many: Vec<Signature> = (0..100_u8).map(|number| Signature::Bundle(vec![number])).collect();
    let other = Digest::of_bytes(b"other");
    for (change, reason) in [
        (NewPackage { component: b"two".to_vec(), ..valid() }, "its component differs"),
        (NewPackage { config: b"[]".to_vec(), ..valid() }, "its configuration differs"),
        (NewPackage { manifest: b"{}".to_vec(), ..valid() }, "its manifest cannot be read"),
        (
            NewPackage { reference: valid().reference.with_digest(other), ..valid() },
            "the digest of its manifest",
        ),
        (NewPackage { signatures: vec![long], ..valid() }, "one of its signatures has more than"),
        (NewPackage { signatures: many, ..valid() }, "it has more than"),
        (
            NewPackage { config: vec![b' '; MAX_CONFIG_BYTES + 1], ..valid() },
            "its configuration has more than",
        ),
    ] {
        let (folder, store) = store();
        let message = store.save(&change).unwrap_err().recorded("plugins");
        assert!(message.contains(reason) && message.contains("nothing was saved"), "{message}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_blob_that_is_copied_has_its_digest() {
    let (_folder, store) = store();
    let digest = Digest::of_bytes(b"one");
    let message = store.copy_blob(digest, &b"two"[..]).unwrap_err().recorded("plugins");
    assert!(message.contains("cannot write") && message.contains("its digest is sha256:"), "{message}");
    let blobs = store.folder.join("blobs").join("sha256");
    assert_eq!(fs::read_dir(&blobs).unwrap().count(), 0);
    store.copy_blob(digest, &b"one"[..]).unwrap();
    assert_eq!(fs::read(store.blob_path(digest)).unwrap(), b"one");
    // It is there now, and nothing is read.
    store.copy_blob(digest, &b"two"[..]).unwrap();
}

#[test]
fn processes_may_save_the_same_packages_at_once() {
    let (_folder, store) = store();
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let store = &store;
            scope.spawn(move || {
                for version in 0..4_u8 {
                    let new = package("r.example/x:1", &[version], &signatures());
                    store.save(&new).unwrap();
                    let own = package(&format!("r.example/x:own-{writer}"), &[version], &[]);
                    store.save(&own).unwrap();
                    let found = store.find(&own.reference, None).unwrap().unwrap();
                    assert_eq!(found.component, Digest::of_bytes(&[version]));
                }
            });
        }
    });
    for version in 0..4_u8 {
        let wanted = Some(Digest::of_bytes(&[version]));
        assert!(store.find(&reference("r.example/x:1"), wanted).unwrap().is_some());
    }
}

#[cfg(unix)]
#[test]
fn links_in_the_cache_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    gage_recorded_messages::record_warnings("plugins");
    let (folder, store) = store();
    let new = package("r.example/x:1", b"one", &[]);
    let saved = store.save(&new).unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, b"one").unwrap();
    fs::remove_file(&saved.file).unwrap();
    symlink(&outside, &saved.file).unwrap();
    assert!(store.find(&new.reference, None).unwrap().is_none());
    store.save(&new).unwrap();
    assert!(fs::symlink_metadata(&saved.file).unwrap().is_file());
    assert_eq!(fs::metadata(&store.folder).unwrap().permissions().mode() & 0o777, 0o700);

    let blobs = store.folder.join("blobs");
    fs::rename(&blobs, folder.path().join("moved")).unwrap();
    symlink(folder.path().join("moved"), &blobs).unwrap();
    assert!(store.find(&new.reference, None).unwrap().is_none());
    let message = store.save(&new).unwrap_err().recorded("plugins");
    assert!(message.contains("it is a symbolic link, which is not followed here"), "{message}");
}
