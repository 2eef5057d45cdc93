//! Shards in object storage, on a server in memory with the protocol of S3.

use crate::server::Server;
use crate::support::{CommandOutput, Workspace, rows, suite};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use wiremock::{Request, ResponseTemplate};

const BUCKET: &str = "s3://bucket/team";

/// The content of a bucket, by key.
type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A server of objects.
struct ObjectServer {
    server: Server,
    objects: Objects,
}

impl ObjectServer {
    fn start() -> ObjectServer {
        let objects = Objects::default();
        let held = Arc::clone(&objects);
        let server = Server::answering();
        server.respond_to_all(move |request| answer(&held, request));
        ObjectServer { server, objects }
    }

    /// Runs the program with the variables of this server.
    fn run(&self, workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
        let address = self.server.server.uri();
        let variables = [
            ("AWS_ENDPOINT_URL", address.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test-secret"),
        ];
        workspace.run_with_env(variables, arguments)
    }

    fn push(&self, workspace: &Workspace, shard: &str) -> CommandOutput {
        let arguments = ["run", "suite.yaml", "--run-id", "r", "--shard", shard, "--push", BUCKET];
        self.run(workspace, &arguments)
    }

    fn merge(&self, workspace: &Workspace) -> CommandOutput {
        self.run(workspace, &["merge", &format!("{BUCKET}/r")])
    }
}

fn answer(objects: &Mutex<BTreeMap<String, Vec<u8>>>, request: &Request) -> ResponseTemplate {
    let path = request.url.path();
    let Some(key) = path.strip_prefix("/bucket/").filter(|key| !key.is_empty()) else {
        let prefix = request.url.query_pairs().find(|(name, _)| name == "prefix");
        return listing(&objects.lock(), &prefix.map(|(_, prefix)| prefix.into_owned()).unwrap_or_default());
    };
    let mut objects = objects.lock();
    match request.method.as_str() {
        "PUT" if request.headers.contains_key("if-none-match") && objects.contains_key(key) => {
            ResponseTemplate::new(412)
        }
        "PUT" => {
            objects.insert(key.to_owned(), request.body.clone());
            ResponseTemplate::new(200).insert_header("etag", "\"1\"")
        }
        _ => match objects.get(key) {
            Some(content) => ResponseTemplate::new(200)
                .insert_header("etag", "\"1\"")
                .insert_header("last-modified", "Mon, 05 Jan 2026 00:00:00 GMT")
                .set_body_bytes(content.clone()),
            None => ResponseTemplate::new(404).set_body_string("<Error><Code>NoSuchKey</Code></Error>"),
        },
    }
}

/// Lists the objects with a prefix, and the folders up to the next `/`.
fn listing(objects: &BTreeMap<String, Vec<u8>>, prefix: &str) -> ResponseTemplate {
    let mut entries = String::new();
    let mut folders: Vec<&str> = Vec::new();
    for (key, content) in objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
        match key[prefix.len()..].split_once('/') {
            Some((folder, _)) => folders.push(&key[..prefix.len() + folder.len() + 1]),
            None => entries.push_str(&format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-05T00:00:00.000Z</LastModified>\
                 <ETag>1</ETag><Size>{}</Size></Contents>",
                content.len()
            )),
        }
    }
    folders.dedup();
    for folder in folders {
        entries.push_str(&format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"));
    }
    let text = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
    );
    ResponseTemplate::new(200).set_body_string(text)
}

fn workspace(model: &Server) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(70));
    workspace.write("suite.yaml", suite(&model.backend(""), "[exact_match]"));
    workspace
}

#[test]
fn shards_of_two_machines_meet_in_a_bucket() {
    let (storage, model) = (ObjectServer::start(), Server::answering());
    let [first, second, third] = [(); 3].map(|()| workspace(&model));
    first.run(&["run", "suite.yaml", "--run-id", "whole", "--quiet"]).expect_code(0);
    let none = storage.merge(&third).expect_code(4);
    assert!(none.stderr.contains("s3://bucket/team/r"), "{}", none.stderr);

    let pushed = storage.push(&first, "1/2").expect_code(0);
    assert!(
        pushed.stderr.contains("pushed ") && pushed.stderr.contains("s3://bucket/team/r"),
        "{}",
        pushed.stderr
    );
    let again = storage.push(&first, "1/2").expect_code(0);
    assert!(again.stderr.contains("the shard was pushed before"), "{}", again.stderr);
    // Another machine was given the same shard before that, and ends after it.
    second.run(&["run", "suite.yaml", "--run-id", "r", "--shard", "1/2", "--quiet"]).expect_code(0);
    let late = storage.push(&second, "1/2").expect_code(0);
    assert!(late.stderr.contains("warning: another machine has pushed shard 01-of-02"), "{}", late.stderr);
    // A new disk: the shard is fetched, and nothing is asked again.
    let (fourth, asked) = (workspace(&model), model.requests());
    let restored = storage.push(&fourth, "1/2").expect_code(0);
    assert!(
        restored.stderr.contains("shard 1/2 was pushed before, and was fetched from"),
        "{}",
        restored.stderr
    );
    assert_eq!(model.requests(), asked);

    let missing = storage.merge(&third).expect_code(4);
    assert!(missing.stderr.contains("shard 2/2 was not started"), "{}", missing.stderr);
    storage.push(&second, "2/2").expect_code(0);
    // The process was killed before the upload ended.
    let marker = "team/r/shards/02-of-02/manifest.json";
    let manifest = storage.objects.lock().remove(marker).expect("the mark of a complete upload");
    let torn = storage.merge(&third).expect_code(4);
    assert!(torn.stderr.contains("the upload of shard 02-of-02 did not end"), "{}", torn.stderr);
    storage.objects.lock().insert(marker.to_owned(), manifest);

    let merged = storage.merge(&third).expect_code(0);
    assert!(merged.stderr.contains("fetched 1 shard"), "{}", merged.stderr);
    for file in ["samples.jsonl", "summary.json"] {
        assert_eq!(
            third.read(&format!("runs/r/{file}")),
            first.read(&format!("runs/whole/{file}")),
            "{file}"
        );
    }
    let again = storage.merge(&third).expect_code(0);
    assert!(again.stderr.contains("fetched 0 shards"), "{}", again.stderr);
}

/// Each machine has a folder of its own, so that only the bucket has the other shards.
#[test]
fn shard_that_does_not_belong_to_the_pushed_ones_is_refused() {
    let (storage, model) = (ObjectServer::start(), Server::answering());
    let [first, second] = [(); 2].map(|()| workspace(&model));
    storage.push(&first, "1/2").expect_code(0);
    let asked = model.requests();
    let refused = storage.push(&second, "1/3").expect_code(2);
    let expected =
        "s3://bucket/team/r belongs to a run of 2 shards, and this is shard 1/3; a run is divided once";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let push = |further: &[&str]| {
        let arguments = ["run", "suite.yaml", "--run-id", "r", "--shard", "2/2", "--push", BUCKET];
        storage.run(&second, &[&arguments[..], further].concat())
    };
    // A shard that is done, one that was stopped, and a new one are compared alike.
    let limited = ["run", "suite.yaml", "--run-id", "r", "--shard", "2/2", "--max-samples", "40"];
    for has_begun in [false, true] {
        for (further, expected) in [
            (&["--max-samples", "40"][..], "--max-samples: none before, 40 now"),
            (&["--set", "metrics=[contains]"], "config.metrics"),
        ] {
            let refused = push(further).expect_code(3);
            let message = "shard 1/2 of the run was made from other inputs than this one";
            assert!(refused.stderr.contains(message), "{further:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(expected), "{further:?}: {}", refused.stderr);
            if has_begun {
                break;
            }
        }
        if !has_begun {
            assert_eq!(model.requests(), asked);
            second.run(&limited).expect_code(0);
        }
    }
    let keys: Vec<String> = storage.objects.lock().keys().cloned().collect();
    assert!(keys.iter().all(|key| key.starts_with("team/r/shards/01-of-02/")), "{keys:?}");
    push(&[]).expect_code(0);
    storage.merge(&first).expect_code(0);
}

#[test]
fn damaged_or_unnamed_shards_are_not_merged() {
    let (storage, model) = (ObjectServer::start(), Server::answering());
    let [machine, reader] = [(); 2].map(|()| workspace(&model));
    storage.push(&machine, "1/1").expect_code(0);
    let samples = |key: &&String| key.ends_with("/samples.jsonl");
    let key = storage.objects.lock().keys().find(samples).expect("samples").clone();
    storage.objects.lock().get_mut(&key).expect("an object")[0] ^= 1;
    let refused = storage.merge(&reader).expect_code(3);
    assert!(refused.stderr.contains("samples.jsonl"), "{}", refused.stderr);
    storage.objects.lock().remove(&key).expect("an object");
    let refused = storage.merge(&reader).expect_code(3);
    let expected = "samples.jsonl cannot be used: it is gone, and the manifest of its shard names it";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let unnamed = storage.run(&reader, &["merge", "s3://bucket"]).expect_code(2);
    assert!(unnamed.stderr.contains("names no run"), "{}", unnamed.stderr);
}
