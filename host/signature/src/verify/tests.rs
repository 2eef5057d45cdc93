use super::{SignatureError, verify};
use crate::bundle::{self, signed_bytes};
use crate::key::VerifyingKey;
use crate::sign::{sign_bundle, sign_simple};
use crate::signature::{MAX_SIGNATURE_BYTES, Signature, Subject};
use crate::test_keys::key_pairs;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::{Digest, OciReference};
use gage_recorded_messages::RecordedError as _;
use serde_json::{Value, json};
use std::slice;

fn component() -> Digest {
    Digest::of_bytes(b"component")
}

fn manifest() -> Digest {
    Digest::of_bytes(b"manifest")
}

fn subject() -> Subject {
    Subject { component: component(), manifest: None, name: "word_recall.wasm".to_owned() }
}

fn packaged_subject() -> Subject {
    Subject {
        manifest: Some(manifest()),
        name: "registry.example/metrics/word-recall".to_owned(),
        ..subject()
    }
}

fn reference() -> OciReference {
    "oci://registry.example/metrics/word-recall:0.1.0".parse().expect("a reference")
}

/// Returns a statement about the component, with changes.
fn statement(change: impl Fn(&mut Value)) -> Value {
    let mut statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "word_recall.wasm", "digest": {"sha256": component().hex()}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    });
    change(&mut statement);
    statement
}

/// Returns the bundle of a statement, signed with the key of ECDSA.
fn signed(statement: &str) -> Signature {
    let [(key, public), _] = key_pairs();
    let signature = key.sign(&signed_bytes(statement.as_bytes())).expect("a signature");
    Signature::Bundle(bundle::encode(&public, statement, &signature).into_bytes())
}

/// Returns an accepted bundle with changes, which need no new signature.
fn edited(change: impl Fn(&mut Value)) -> Signature {
    let [(key, _), _] = key_pairs();
    let json = sign_bundle(&key, &subject()).expect("a bundle");
    let mut bundle = serde_json::from_slice(&json).expect("JSON");
    change(&mut bundle);
    Signature::Bundle(bundle.to_string().into_bytes())
}

/// Returns a payload of simple signing with changes, signed with the key of ECDSA.
fn simple(change: impl Fn(&mut Value)) -> Signature {
    let [(key, _), _] = key_pairs();
    let mut payload = json!({"critical": {
        "identity": {"docker-reference": "registry.example/metrics/word-recall"},
        "image": {"docker-manifest-digest": manifest().to_string()},
        "type": "cosign container image signature",
    }});
    change(&mut payload);
    let payload = payload.to_string().into_bytes();
    let signature = STANDARD.encode(key.sign(&payload).expect("a signature"));
    Signature::Simple { payload, signature }
}

/// Asserts that the key of ECDSA does not accept a signature, and why.
fn assert_rejected(signature: Signature, subject: &Subject, expected: &str) {
    let [(_, key), _] = key_pairs();
    let error = verify(&[signature], subject, &[key]).expect_err(expected).recorded("plugins");
    assert!(error.starts_with("its signature is not accepted: it"), "{expected}\n{error}");
    assert!(error.contains(expected), "{expected}\n{error}");
    assert!(error.len() < 1500, "{error}");
}

#[test]
fn signatures_of_both_algorithms_are_accepted() {
    let keys = key_pairs().map(|(_, public)| public);
    for (key, public) in key_pairs() {
        for subject in [subject(), packaged_subject()] {
            let bundle = Signature::Bundle(sign_bundle(&key, &subject).expect("a bundle"));
            assert_eq!(verify(&[bundle], &subject, &keys), Ok(&public));
        }
        let simple = sign_simple(&key, &reference(), manifest()).expect("a signature");
        assert_eq!(verify(&[simple], &packaged_subject(), &keys), Ok(&public));
    }
}

#[test]
fn bundle_about_a_manifest_or_its_component_is_enough() {
    let [(key, public), _] = key_pairs();
    let keys = [public];
    let of_file = Signature::Bundle(sign_bundle(&key, &subject()).expect("a bundle"));
    assert!(verify(&[of_file], &packaged_subject(), &keys).is_ok());
    let of_package = Signature::Bundle(sign_bundle(&key, &packaged_subject()).expect("a bundle"));
    assert!(verify(&[of_package], &subject(), &keys).is_ok());
    let of_manifest = signed(
        &statement(|value| value["subject"] = json!([{"digest": {"sha256": manifest().hex()}}])).to_string(),
    );
    assert!(verify(slice::from_ref(&of_manifest), &packaged_subject(), &keys).is_ok());
    assert_rejected(
        of_manifest,
        &subject(),
        &format!("it is about sha256:{}, and not about", manifest().hex()),
    );
}

#[test]
fn accepted_signature_may_follow_others() {
    let [(key, public), (other, _)] = key_pairs();
    let of_key = |key| Signature::Bundle(sign_bundle(key, &subject()).expect("a bundle"));
    let signatures = [Signature::Bundle(b"{}".to_vec()), of_key(&other), of_key(&key)];
    assert_eq!(verify(&signatures, &subject(), slice::from_ref(&public)), Ok(&public));
}

#[test]
fn subjects_of_a_bundle_are_read_without_a_key() {
    let of =
        |subjects: Value| signed(&statement(|statement| statement["subject"] = subjects.clone()).to_string());
    let about_component = || Some(vec![component()]);
    for (signature, expected) in [
        (edited(|_| {}), about_component()),
        (edited(|json| json["dsseEnvelope"]["signatures"][0]["sig"] = json!("")), about_component()),
        (edited(|json| json["verificationMaterial"] = json!({"certificate": {}})), about_component()),
        (
            of(json!([{"digest": {"sha256": component().hex()}}, {"digest": {"sha256": manifest().hex()}}])),
            Some(vec![component(), manifest()]),
        ),
        (of(json!([])), Some(Vec::new())),
        (of(json!([{"digest": {"sha512": "00"}}])), None),
        (edited(|json| json["dsseEnvelope"] = Value::Null), None),
        (edited(|json| json["dsseEnvelope"]["payloadType"] = json!("text/plain")), None),
        (Signature::Bundle(b"[".to_vec()), None),
    ] {
        let Signature::Bundle(json) = signature else { panic!("not a bundle") };
        assert_eq!(bundle::claimed_subjects(&json), expected, "{}", String::from_utf8_lossy(&json));
    }
}

#[test]
fn new_bundle_has_the_form_of_cosign() {
    let [(key, public), _] = key_pairs();
    let bundle: Value =
        serde_json::from_slice(&sign_bundle(&key, &packaged_subject()).expect("a bundle")).expect("JSON");
    assert_eq!(bundle["mediaType"], "application/vnd.dev.sigstore.bundle.v0.3+json");
    let hint = STANDARD.decode(bundle["verificationMaterial"]["publicKey"]["hint"].as_str().expect("a hint"));
    assert_eq!(hint.expect("Base64"), public.fingerprint_bytes());
    let payload = STANDARD.decode(bundle["dsseEnvelope"]["payload"].as_str().expect("a payload"));
    let statement: Value = serde_json::from_slice(&payload.expect("Base64")).expect("JSON");
    let name = "registry.example/metrics/word-recall";
    let expected = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": name, "digest": {"sha256": component().hex()}},
            {"name": format!("{name}@{}", manifest()), "digest": {"sha256": manifest().hex()}},
        ],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    });
    assert_eq!(statement, expected);
}

#[test]
fn bundle_of_another_form_is_rejected() {
    let set = |pointer: &'static str, value: Value| {
        edited(move |bundle| *bundle.pointer_mut(pointer).expect("a member") = value.clone())
    };
    let add = |pointer: &'static str, name: &'static str, value: Value| {
        edited(move |bundle| bundle.pointer_mut(pointer).expect("an object")[name] = value.clone())
    };
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    let signature = json!({"sig": "AAAA"});
    let media_type = "application/vnd.dev.sigstore.bundle+json;version=0.2";
    for (signature, expected) in [
        (
            Signature::Bundle(vec![b' '; MAX_SIGNATURE_BYTES + 1]),
            "it has 1048577 bytes; at most 1048576 are read",
        ),
        (Signature::Bundle(deep.into_bytes()), "its JSON is nested deeper than 32 levels"),
        (
            Signature::Bundle(b"not JSON".to_vec()),
            "its JSON is not that of a Sigstore bundle: expected ident",
        ),
        (
            Signature::Bundle(format!("[{}0]", "0,".repeat(20_000)).into_bytes()),
            "more than 10000 JSON values",
        ),
        (Signature::Bundle(b"{}".to_vec()), "missing field `mediaType`"),
        (
            set("/mediaType", media_type.into()),
            "its media type is `application/vnd.dev.sigstore.bundle+json;version=0.2`",
        ),
        (set("/verificationMaterial", json!({})), "it has no `verificationMaterial.publicKey`"),
        (set("/dsseEnvelope", Value::Null), "it has no `dsseEnvelope`"),
        (
            set("/dsseEnvelope/payloadType", "text/plain".into()),
            "its payload type is `text/plain`; expected is",
        ),
        (set("/dsseEnvelope/signatures", json!([])), "its envelope has 0 signatures; exactly one is allowed"),
        (set("/dsseEnvelope/signatures", json!([signature, signature])), "its envelope has 2 signatures"),
        (set("/dsseEnvelope/payload", "AAA".into()), "its payload is not Base64"),
        (set("/dsseEnvelope/signatures/0/sig", "A*==".into()), "its signature is not Base64"),
        (
            add("/verificationMaterial", "certificate", json!({})),
            "it was made with a certificate (keyless signing)",
        ),
        (add("/verificationMaterial", "x509CertificateChain", json!({})), "it was made with a certificate"),
        (add("", "messageSignature", json!({})), "it signs the bytes of a file without a statement"),
    ] {
        assert_rejected(signature, &subject(), expected);
    }
}

#[test]
fn signature_of_another_key_is_rejected() {
    let [(_, public), (other, other_public)] = key_pairs();
    let bundle = sign_bundle(&other, &subject()).expect("a bundle");
    let named = format!(
        "it was made with the key {}, which is none of the accepted keys ({})",
        other_public.fingerprint(),
        public.fingerprint()
    );
    assert_rejected(Signature::Bundle(bundle.clone()), &subject(), &named);
    let mut without_hint: Value = serde_json::from_slice(&bundle).expect("JSON");
    without_hint["verificationMaterial"]["publicKey"] = json!({});
    let unnamed = format!("it was made with none of the accepted keys ({})", public.fingerprint());
    assert_rejected(Signature::Bundle(without_hint.to_string().into_bytes()), &subject(), &unnamed);
    let simple = sign_simple(&other, &reference(), manifest()).expect("a signature");
    assert_rejected(simple, &packaged_subject(), &unnamed);
    // A hint is no proof.
    let mut with_other_hint: Value = serde_json::from_slice(&bundle).expect("JSON");
    with_other_hint["verificationMaterial"]["publicKey"]["hint"] =
        STANDARD.encode(public.fingerprint_bytes()).into();
    let changed = format!("it does not match the key {}, which it names", public.fingerprint());
    assert_rejected(Signature::Bundle(with_other_hint.to_string().into_bytes()), &subject(), &changed);
}

#[test]
fn changed_byte_of_a_payload_or_signature_is_noticed() {
    for (key, public) in key_pairs() {
        let bundle: Value =
            serde_json::from_slice(&sign_bundle(&key, &subject()).expect("a bundle")).expect("JSON");
        for pointer in ["/dsseEnvelope/payload", "/dsseEnvelope/signatures/0/sig"] {
            let text = bundle.pointer(pointer).and_then(Value::as_str).expect("a text");
            let bytes = STANDARD.decode(text).expect("Base64");
            for index in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[index] ^= 1;
                let mut bundle = bundle.clone();
                *bundle.pointer_mut(pointer).expect("a member") = STANDARD.encode(changed).into();
                let signature = Signature::Bundle(bundle.to_string().into_bytes());
                let error = verify(&[signature], &subject(), slice::from_ref(&public)).expect_err(pointer);
                assert!(error.to_string().contains("its content or its signature was changed"), "{error}");
            }
        }
    }
}

#[test]
fn statement_about_something_else_is_rejected() {
    let set = |name: &'static str, value: Value| {
        signed(&statement(move |statement| statement[name] = value.clone()).to_string())
    };
    let other = Digest::of_bytes(b"another component");
    let entry = |digest: &str| json!({"name": "a\nb.wasm", "digest": {"sha256": digest}});
    let deep = format!(r#"{{"predicate":{}{}}}"#, "[".repeat(40), "]".repeat(40));
    let about_other = format!("it is about a\\nb.wasm {other}, and not about {}", component());
    for (signature, expected) in [
        (
            set("predicateType", "https://slsa.dev/provenance/v1".into()),
            "its predicate type is `https://slsa.dev/",
        ),
        (
            set("_type", "https://example.org/Statement/v1".into()),
            "its statement type is `https://example.org/",
        ),
        (set("subject", json!([entry(&other.hex())])), about_other.as_str()),
        (set("subject", json!([entry(&component().hex().to_uppercase())])), "it is about a\\nb.wasm sha256:"),
        (
            set("subject", json!([{"digest": {"sha1": "00"}}])),
            "it is about something without a SHA-256, and not about",
        ),
        (set("subject", json!([])), "it is about nothing, and not about"),
        (set("subject", json!(vec![entry("00"); 65])), "its statement has 65 subjects; at most 64 are read"),
        (set("subject", json!("x")), "its payload is not that of an in-toto statement: invalid type"),
        (signed("no JSON"), "its payload is not that of an in-toto statement"),
        (signed(&deep), "its payload is nested deeper than 32 levels"),
    ] {
        assert_rejected(signature, &subject(), expected);
    }
}

#[test]
fn payload_about_another_manifest_is_rejected() {
    let set = |pointer: &'static str, value: Value| {
        simple(move |payload| *payload.pointer_mut(pointer).expect("a member") = value.clone())
    };
    let other = Digest::of_bytes(b"another manifest");
    let about_other =
        format!("it is about the manifest {other}, and not about {} or its manifest", component());
    for (signature, expected) in [
        (set("/critical/image/docker-manifest-digest", other.to_string().into()), about_other.as_str()),
        (set("/critical/type", "atomic container signature".into()), "its payload type is `atomic container"),
        (
            set("/critical", json!({})),
            "its payload is not that of cosign's simple signing: missing field `image`",
        ),
        (
            Signature::Simple { payload: b"{}".to_vec(), signature: "AAA".to_owned() },
            "its signature is not Base64",
        ),
        (
            Signature::Simple { payload: b"{}".to_vec(), signature: "A".repeat(2000) },
            "it has 2000 bytes; at most 1024 are read",
        ),
        (
            Signature::Simple { payload: vec![b' '; MAX_SIGNATURE_BYTES + 1], signature: String::new() },
            "it has 1048577 bytes; at most 1048576 are read",
        ),
    ] {
        assert_rejected(signature, &packaged_subject(), expected);
    }
    let about_manifest = format!("it is about the manifest {}, and not about {}", manifest(), component());
    assert_rejected(simple(|_| {}), &subject(), &about_manifest);
}

#[test]
fn several_reasons_are_listed_up_to_a_limit() {
    let [(key, public), _] = key_pairs();
    let keys = [public];
    let with = |count: usize| {
        let error = verify(&vec![Signature::Bundle(b"[".to_vec()); count], &subject(), &keys);
        error.expect_err("no signature").recorded("plugins")
    };
    let two = with(2);
    assert!(two.starts_with("none of its 2 signatures is accepted: 1. its JSON is not"), "{two}");
    assert!(two.contains("; 2. its JSON is not") && !two.contains("more"), "{two}");
    let ten = with(10);
    assert!(ten.contains("; 8. its") && !ten.contains("; 9.") && ten.ends_with("; and 2 more"), "{ten}");
    let many = with(65);
    assert!(many.ends_with("; only 64 signatures are checked"), "{many}");
    let mut signatures = vec![Signature::Bundle(b"[".to_vec()); 64];
    signatures.push(Signature::Bundle(sign_bundle(&key, &subject()).expect("a bundle")));
    assert!(matches!(
        verify(&signatures, &subject(), &keys),
        Err(SignatureError::Rejected { total: 65, .. })
    ));
    assert!(verify(&signatures[1..], &subject(), &keys).is_ok());
}

#[test]
fn missing_signatures_and_keys_are_reported() {
    let [(key, public), _] = key_pairs();
    let unsigned = verify(&[], &subject(), &[public]).expect_err("no signature");
    assert_eq!(unsigned.recorded("plugins"), "it has no signature");
    let bundle = Signature::Bundle(sign_bundle(&key, &subject()).expect("a bundle"));
    let no_keys: &[VerifyingKey] = &[];
    let error = verify(&[bundle], &subject(), no_keys).expect_err("no key");
    assert_eq!(error.recorded("plugins"), "there is no key to check its signatures with");
}
