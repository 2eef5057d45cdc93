//! Signatures of packages, with faults.

use crate::fixture::{Content, Fault, Registry};
use crate::{
    COMPONENT, MAX_COMPONENT_BYTES, bundle, check, client, client_with, content, manifest, pull, settings,
    simple,
};
use gage_core::Digest;
use gage_oci::{OciErrorKind, OciSettings};
use gage_packages::{
    Descriptor, EMPTY_CONFIG_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, bundle_manifest, bundles_tag, signatures_tag,
    simple_layer, simple_manifest,
};
use gage_signature::MAX_SIGNATURES;
use serde_json::json;
use std::time::Duration;

/// The end of requests for the list of referrers.
const REFERRERS: &str = "bundle.v0.3%2Bjson";

#[tokio::test]
async fn a_signature_that_cannot_be_used_is_left_out() {
    gage_recorded_messages::record_warnings("plugins");
    for has_referrers in [true, false] {
        let registry = Registry::start(Content { has_referrers, ..content() }).await;
        let (client, reference) = (client(), registry.reference("1"));
        let digest = Digest::of_bytes(&manifest());
        for signature in
            [bundle(b"good"), bundle(b"bad"), simple(b"damaged", "YQ=="), simple(b"kept", "Yg==")]
        {
            client.attach(&reference, digest, &signature).await.unwrap();
        }
        registry.change(|content| {
            for blob in [&b"bad"[..], b"damaged"] {
                let path = format!("blobs/{}", Digest::of_bytes(blob));
                content.faults.insert(path, Fault::Body(b"xxx".to_vec()));
            }
        });
        let pulled = client.pull(&reference, MAX_COMPONENT_BYTES).await.unwrap();
        assert_eq!(pulled.signatures, [bundle(b"good"), simple(b"kept", "Yg==")]);
    }
}

#[tokio::test]
async fn signatures_that_cannot_be_read_are_left_out() {
    gage_recorded_messages::record_warnings("plugins");
    let digest = Digest::of_bytes(&manifest());
    let (one, two) = (bundle(b"one"), simple(b"two", "YQ=="));
    let both = [one.clone(), two.clone()];
    let tag = format!("manifests/{}", bundles_tag(digest));
    let simple_tag = format!("manifests/{}", signatures_tag(digest));
    let blob = format!("blobs/{}", Digest::of_bytes(b"one"));
    for (path, fault, expected) in [
        (REFERRERS, Fault::Status(401, ""), &both[..]),
        (REFERRERS, Fault::Status(403, ""), &both[..]),
        (REFERRERS, Fault::Status(405, ""), &both[..]),
        (REFERRERS, Fault::Status(429, ""), &both[..]),
        (REFERRERS, Fault::Status(500, ""), &both[..]),
        (REFERRERS, Fault::Body(b"[".to_vec()), &both[..]),
        (REFERRERS, Fault::Cut, &both[..]),
        (REFERRERS, Fault::Redirect("ftp://r.example".to_owned()), &both[..]),
        (&tag, Fault::Status(403, ""), &both[1..]),
        (REFERRERS, Fault::Body(br#"{"schemaVersion": 2, "manifests": []}"#.to_vec()), &both[1..]),
        (&simple_tag, Fault::Status(500, ""), &both[..1]),
        (&blob, Fault::Status(503, ""), &both[1..]),
        (&blob, Fault::Cut, &both[1..]),
    ] {
        let registry = Registry::start(content()).await;
        for signature in [&one, &two] {
            client().attach(&registry.reference("1"), digest, signature).await.unwrap();
        }
        registry.change(|content| drop(content.faults.insert(path.to_owned(), fault.clone())));
        assert_eq!(pull(&registry).await.unwrap().signatures, expected, "{path} {fault:?}");
    }
}

#[tokio::test]
async fn signatures_that_never_arrive_are_not_waited_for() {
    gage_recorded_messages::record_warnings("plugins");
    let mut content = content();
    content.faults.insert(REFERRERS.to_owned(), Fault::Hang);
    let registry = Registry::start(content).await;
    let settings = OciSettings { stall: Duration::from_millis(200), ..settings() };
    let pulled = client_with(settings).pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await.unwrap();
    assert_eq!((pulled.component.as_slice(), pulled.signatures), (COMPONENT, Vec::new()));
}

#[tokio::test]
async fn a_referrer_is_judged_by_its_manifest() {
    gage_recorded_messages::record_warnings("plugins");
    let subject = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest());
    let mut content = content();
    let referrer = |content: &mut Content, artifact_type: Option<&str>, manifest: &[u8]| {
        content.put_manifest("other", manifest);
        let listed = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, manifest);
        Descriptor { artifact_type: artifact_type.map(str::to_owned), ..listed }
    };
    let mut listed = Vec::new();
    for (artifact_type, text) in [
        (Some(EMPTY_CONFIG_MEDIA_TYPE), "as cosign 2 lists it"),
        (None, "without a type"),
        (Some("application/spdx+json"), "of another type"),
    ] {
        content.put_blob(text.as_bytes());
        listed.push(referrer(&mut content, artifact_type, &bundle_manifest(text.as_bytes(), &subject)));
    }
    listed.push(referrer(&mut content, None, &manifest()));
    let index = |listed: &[Descriptor]| json!({"schemaVersion": 2, "manifests": listed}).to_string();
    content.put_manifest(&bundles_tag(subject.digest), index(&listed).as_bytes());
    let registry = Registry::start(content).await;
    let pulled = pull(&registry).await.unwrap();
    assert_eq!(pulled.signatures, [bundle(b"as cosign 2 lists it"), bundle(b"without a type")]);

    let others = vec![listed[3].clone(); 256];
    let many = [&others[..], &listed[..1]].concat();
    registry.change(|content| {
        content.put_manifest(&bundles_tag(subject.digest), index(&many).as_bytes());
    });
    assert_eq!(pull(&registry).await.unwrap().signatures, []);
}

#[tokio::test]
async fn only_so_many_signatures_are_read() {
    gage_recorded_messages::record_warnings("plugins");
    let digest = Digest::of_bytes(&manifest());
    let subject = Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, &manifest());
    let mut content = Content { has_referrers: true, ..content() };
    for number in 0..=MAX_SIGNATURES {
        let bundle = number.to_string().into_bytes();
        content.put_blob(&bundle);
        content.put_manifest("other", &bundle_manifest(&bundle, &subject));
    }
    let registry = Registry::start(content).await;
    assert_eq!(pull(&registry).await.unwrap().signatures.len(), MAX_SIGNATURES);

    let registry = Registry::start(crate::content()).await;
    let layers: Vec<Descriptor> =
        (0..MAX_SIGNATURES).map(|number| simple_layer(number.to_string().as_bytes(), "YQ==")).collect();
    registry.change(|content| content.put_manifest(&signatures_tag(digest), &simple_manifest(&layers).1));
    let error = client().attach(&registry.reference("1"), digest, &simple(b"x", "YQ==")).await.unwrap_err();
    check(&error, OciErrorKind::TooLarge, "it has 64 signatures, and more are not allowed");
}
