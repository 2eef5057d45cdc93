//! in-toto statements: what a bundle is about.

use crate::json::{check_type, read};
use crate::rejection::Rejection;
use crate::signature::Subject;
use gage_core::{Digest, name_list};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Payload type of an envelope that holds a statement.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Predicate type of a statement by which a key approves its subjects. Other statements say how something was built, or what
/// is in it.
pub(crate) const PREDICATE_TYPE: &str = "https://sigstore.dev/cosign/sign/v1";
/// Type of a statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of a statement as cosign 2 writes it. The members that are read are the same.
const OLDER_STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v0.1";
/// Maximum number of subjects of a statement.
const MAX_SUBJECTS: usize = 64;
/// Maximum number of subjects in a message.
const MAX_SHOWN_SUBJECTS: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    statement_type: String,
    predicate_type: String,
    subject: Vec<StatementSubject>,
}

#[derive(Deserialize)]
struct StatementSubject {
    name: Option<String>,
    digest: BTreeMap<String, String>,
}

/// Returns the statement of a new signature, as JSON.
pub(crate) fn encode(subject: &Subject) -> String {
    let entry = |name: &str, digest: Digest| json!({"name": name, "digest": {"sha256": digest.hex()}});
    let mut subjects = vec![entry(&subject.name, subject.component)];
    if let Some(manifest) = subject.manifest {
        subjects.push(entry(&format!("{}@{manifest}", subject.name), manifest));
    }
    let statement: Value = json!({
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {},
    });
    statement.to_string()
}

/// Checks that a verified statement approves a component.
pub(crate) fn check(payload: &[u8], subject: &Subject) -> Result<(), Rejection> {
    let statement: Statement = read(payload, "payload", "an in-toto statement")?;
    if statement.statement_type != OLDER_STATEMENT_TYPE {
        check_type("statement type", &statement.statement_type, STATEMENT_TYPE)?;
    }
    check_type("predicate type", &statement.predicate_type, PREDICATE_TYPE)?;
    let count = statement.subject.len();
    if count > MAX_SUBJECTS {
        return Err(Rejection::SubjectCount { count, max_count: MAX_SUBJECTS });
    }
    let accepted: Vec<String> =
        [Some(subject.component), subject.manifest].iter().flatten().map(Digest::hex).collect();
    let is_meant = |entry: &StatementSubject| {
        entry.digest.get("sha256").is_some_and(|found| accepted.iter().any(|digest| digest == found))
    };
    if statement.subject.iter().any(is_meant) {
        return Ok(());
    }
    let found = match count {
        0 => "nothing".to_owned(),
        _ => name_list(statement.subject.iter().map(describe), MAX_SHOWN_SUBJECTS, ", "),
    };
    Err(Rejection::OtherSubject { found, expected: expected(subject) })
}

/// Returns the SHA-256 digests of all subjects of a statement. `None` if one has no such digest, or it is not a statement.
pub(crate) fn subjects(payload: &[u8]) -> Option<Vec<Digest>> {
    let statement: Statement = read(payload, "payload", "an in-toto statement").ok()?;
    statement.subject.iter().map(|entry| entry.digest.get("sha256")?.parse().ok()).collect()
}

fn describe(entry: &StatementSubject) -> String {
    let name = entry.name.as_deref().unwrap_or_default();
    let digest = entry.digest.get("sha256").map_or("something without a SHA-256", String::as_str);
    let prefix = if digest.len() == 64 { "sha256:" } else { "" };
    format!("{name} {prefix}{digest}").trim_start().to_owned()
}

/// Describes what a signature must be about.
pub(crate) fn expected(subject: &Subject) -> String {
    match subject.manifest {
        Some(manifest) => format!("{} or its manifest {manifest}", subject.component),
        None => subject.component.to_string(),
    }
}
