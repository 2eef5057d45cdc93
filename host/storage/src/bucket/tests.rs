use super::*;
use gage_recorded_messages::RecordedError as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

const SECRET: &str = "hidden-key-of-a-bucket-1";

/// Starts a server that gives every request the same answer, and returns its address.
fn server(status: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            // A client may go away at any time.
            let mut head = BufReader::new(&stream).lines();
            while head.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = (&stream).write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}")
}

/// Returns the error document of a server.
fn document(code: &str, message: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>")
}

fn bucket(variables: &[(&'static str, &str)]) -> Result<Bucket, StorageError> {
    let credentials = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let all = credentials.iter().chain(variables).map(|(name, value)| (*name, (*value).to_owned()));
    let url = ObjectUrl::parse("s3://runs/team").unwrap();
    let store = connect(&url, all, 0)?;
    Ok(Bucket::new(Arc::new(store), url.bucket(), PART_BYTES))
}

/// Returns the error of reading an object.
fn failure(variables: &[(&'static str, &str)]) -> StorageError {
    let bucket = bucket(variables).unwrap();
    let object = Path::from("team/nightly/manifest.json");
    crate::transfer::run(&(), async { bucket.read_manifest(&object).await.map(drop) }).unwrap_err()
}

#[test]
fn failed_requests_say_what_was_answered_and_what_to_do() {
    let leaked = format!("the key {SECRET} is unknown");
    for (status, code, message, expected, remedy, is_temporary) in [
        ("403 Forbidden", "AccessDenied", "no", "AccessDenied: no", "check AWS_ACCESS_KEY_ID", false),
        (
            "403 Forbidden",
            "InvalidAccessKeyId",
            leaked.as_str(),
            "the key (secret) is",
            "check AWS_ACCESS",
            false,
        ),
        ("404 Not Found", "NoSuchBucket", "none", "NoSuchBucket: none", "create the bucket", false),
        ("400 Bad Request", "AuthorizationHeaderMalformed", "x", "Malformed: x", "set AWS_REGION", false),
        ("503 Service Unavailable", "SlowDown", "wait", "SlowDown: wait", "later", true),
        ("400 Bad Request", "InvalidArgument", "bad\n\u{1b}[2J", "InvalidArgument: bad", "", false),
    ] {
        let address = server(status, document(code, message));
        let error = failure(&[("AWS_ENDPOINT_URL", address.as_str()), ("AWS_ALLOW_HTTP", "true")]);
        let text = error.recorded("storage");
        assert!(text.starts_with("cannot read s3://runs/team/nightly/manifest.json: "), "{text}");
        assert!(text.contains(expected) && text.contains(remedy), "{code}: {text}");
        assert!(!text.contains(SECRET) && !text.contains('\u{1b}'), "{text}");
        assert_eq!(error.is_temporary(), is_temporary, "{code}");
    }
}

#[test]
fn answer_without_a_document_shows_its_status() {
    let address = server("403 Forbidden", String::new());
    let text = failure(&[("AWS_ENDPOINT_URL", address.as_str()), ("AWS_ALLOW_HTTP", "true")]).to_string();
    assert!(text.contains("the server answered 403 Forbidden; check AWS_ACCESS_KEY_ID"), "{text}");
}

#[test]
fn missing_object_is_no_error() {
    let address = server("404 Not Found", document("NoSuchKey", "none"));
    let bucket = bucket(&[("AWS_ENDPOINT_URL", address.as_str()), ("AWS_ALLOW_HTTP", "true")]).unwrap();
    let object = Path::from("team/x");
    let read = crate::transfer::run(&(), async {
        Ok::<_, StorageError>((bucket.read_manifest(&object).await?, bucket.size(&object).await?))
    });
    assert_eq!(read.unwrap(), (None, None));
}

#[test]
fn unreachable_server_names_the_variables() {
    // Nothing listens at a port that was just free.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = failure(&[("AWS_ENDPOINT_URL", address.as_str()), ("AWS_ALLOW_HTTP", "true")]);
    let text = error.recorded("storage");
    assert!(text.contains("check AWS_ENDPOINT_URL") && error.is_temporary(), "{text}");
    let text = failure(&[("AWS_ENDPOINT_URL", address.as_str())]).recorded("storage");
    assert!(text.contains("set AWS_ALLOW_HTTP=true"), "{text}");
}

#[test]
fn variables_are_checked_and_secrets_are_marked() {
    let error = bucket(&[("AWS_ALLOW_HTTP", "maybe")]).err().unwrap();
    assert!(error.recorded("storage").contains("check the variables that begin with AWS_"), "{error}");
    assert!(bucket(&[("AWS_ENDPOINT_URL", ""), ("AWS_SESSION_TOKEN", " token-of-a-session-1\n")]).is_ok());
    assert_eq!(gage_secrets::redact(SECRET), "(secret)");
    assert_eq!(gage_secrets::redact("is token-of-a-session-1"), "is (secret)");
}

#[test]
fn every_variable_is_one_that_the_client_knows() {
    for name in VARIABLES {
        assert!(name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().is_ok(), "{name}");
    }
    assert!(SECRET_VARIABLES.iter().all(|name| VARIABLES.contains(name)));
}
