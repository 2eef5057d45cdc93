//! Questions about images, with the tiny model and its projector. The model reads sums whose first half is an image.

use crate::support::{best, counted, generate, loglikelihood, open_file, texts, tiny, tiny_file};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_backend::{
    Backend, BackendError, BackendErrorKind, Continuation, GenerateRequest, LoglikelihoodOutput,
    LoglikelihoodRequest, MediaSupport,
};
use gage_core::{ContentPart, LazyObject, MediaKind, Message, ModelOutput, Role, SamplingParams};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}

async fn seeing(settings: &str) -> Arc<dyn Backend> {
    let mmproj = shipped("models/gage-tiny-mmproj.gguf");
    tiny(&format!(", mmproj: '{}'{settings}", mmproj.display())).await
}

fn media(kind: MediaKind, url: String) -> ContentPart {
    ContentPart::Media { kind, url, options: LazyObject::default(), extra: LazyObject::default() }
}

fn image(bytes: &[u8]) -> ContentPart {
    media(MediaKind::Image, format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

/// Returns the picture of a number and a sign, such as `19-plus`.
fn picture(name: &str) -> ContentPart {
    image(&std::fs::read(shipped(&format!("data/tiny/pictures/{name}.png"))).expect("a picture"))
}

/// Returns the question `What is [picture]35?`, after some text.
fn sum(before: &str, name: &str, second: u32) -> Vec<Message> {
    let mut message = Message::text(Role::User, format!("{before}What is "));
    message.content.extend([picture(name), ContentPart::text(format!("{second}?"))]);
    vec![message]
}

async fn ask(backend: &dyn Backend, messages: Vec<Message>) -> Result<ModelOutput, BackendError> {
    let request = GenerateRequest {
        id: "q".to_owned(),
        messages: messages.into(),
        prompt: None,
        params: SamplingParams { max_new_tokens: Some(8), ..SamplingParams::default() },
        tools: Vec::new(),
        tool_choice: None,
        draw: None,
        place: None,
    };
    Ok(backend.generate(Box::new(request)).await?.output)
}

async fn weigh(
    backend: &dyn Backend,
    messages: Vec<Message>,
    options: &[String],
) -> Result<LoglikelihoodOutput, BackendError> {
    let continuation = |text: &String| Continuation { id: text.clone(), text: text.clone() };
    let request = LoglikelihoodRequest {
        id: "q".to_owned(),
        messages: messages.into(),
        prompt: None,
        continuations: options.iter().map(continuation).collect(),
    };
    Ok(backend.loglikelihood(request).await?.output)
}

/// Names of pictures, the numbers that they show with their signs, and second numbers.
const SUMS: [(&str, i64, u32); 8] = [
    ("19-plus", 19, 35),
    ("92-plus", 92, 17),
    ("79-plus", 79, 51),
    ("19-plus", 19, 42),
    ("10-plus", 10, 88),
    ("36-minus", 36, 12),
    ("40-minus", 40, 21),
    ("19-plus", 19, 35),
];

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_read_where_the_message_has_them() {
    let backend = seeing(", slots: 4").await;
    assert_eq!(backend.info().capabilities.media, MediaSupport::Images);
    let details = &backend.info().details;
    assert_eq!(details["mmproj_projector"], "mlp");
    assert!(
        details["mmproj_digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")),
        "{details:?}"
    );
    let answers = futures::future::join_all(SUMS.iter().map(|(name, _, second)| {
        let backend = Arc::clone(&backend);
        async move { ask(backend.as_ref(), sum("", name, *second)).await.expect("an answer") }
    }))
    .await;
    for ((name, first, second), output) in SUMS.iter().zip(&answers) {
        let second = i64::from(*second);
        let expected = if name.ends_with("plus") { first + second } else { first - second };
        assert_eq!(output.answer, expected.to_string(), "{name} {second}");
    }
    // A picture has the same four tokens as its text.
    let as_text = generate(backend.as_ref(), "What is 19 + 35?", SamplingParams::default()).await;
    assert_eq!(
        answers[0].usage.map(|usage| usage.prompt_tokens),
        as_text.usage.map(|usage| usage.prompt_tokens)
    );
}

/// All tokens are counted, and a picture at the same place as before is not computed again.
#[tokio::test(flavor = "multi_thread")]
async fn what_prompts_share_ends_where_their_pictures_differ() {
    let options = texts(&["54", "61", "45"]);
    for settings in ["", ", deterministic: true"] {
        let backend = seeing(settings).await;
        let behind = "Which is larger, 3 or 5? ".repeat(8);
        let first = weigh(backend.as_ref(), sum(&behind, "19-plus", 35), &options).await.expect("scores");
        let prompt = first.usage.expect("counted").prompt_tokens;
        // For each two-digit option, only the first token is computed.
        assert_eq!(counted(backend.as_ref(), "evaluated_tokens"), prompt + 3, "{settings}");
        assert_eq!(counted(backend.as_ref(), "images"), 1);
        let same = weigh(backend.as_ref(), sum(&behind, "19-plus", 42), &options).await.expect("scores");
        assert_eq!(counted(backend.as_ref(), "images"), 1, "the picture is held{settings}");
        assert_eq!((best(&first.scores), best(&same.scores)), ("54", "61"), "{settings}");
        let reused = counted(backend.as_ref(), "reused_tokens");
        let other = weigh(backend.as_ref(), sum(&behind, "10-plus", 35), &options).await.expect("scores");
        assert_eq!(counted(backend.as_ref(), "images"), 2, "another picture is another{settings}");
        assert_eq!(best(&other.scores), "45", "{settings}");
        let text_only = prompt - 4 - 3 - 2;
        assert!(counted(backend.as_ref(), "reused_tokens") - reused <= text_only, "{settings}");
        // It is scored as if there had been no other request.
        let alone = weigh(seeing(settings).await.as_ref(), sum(&behind, "10-plus", 35), &options).await;
        for (one, two) in alone.expect("scores").scores.iter().zip(&other.scores) {
            let tolerance = if settings.is_empty() { 1e-3 } else { 0.0 };
            assert!((one.logprob - two.logprob).abs() <= tolerance, "{settings}: {one:?} {two:?}");
        }
    }
}

/// The projector's weights were made so that a picture is equivalent to its text.
#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_as_likely_as_its_text() {
    let backend = seeing(", deterministic: true").await;
    let options = texts(&["54", "53", "154"]);
    let seen = weigh(backend.as_ref(), sum("", "19-plus", 35), &options).await.expect("scores");
    let read = loglikelihood(backend.as_ref(), "What is 19 + 35?", &options).await;
    for (one, two) in seen.scores.iter().zip(&read.scores) {
        assert!((one.logprob - two.logprob).abs() < 0.01 * (1.0 - two.logprob), "{one:?} {two:?}");
        assert_ne!(one.logprob.to_bits(), two.logprob.to_bits());
    }
}

/// Returns the results of all sums, as bits.
async fn ask_all(backend: &Arc<dyn Backend>, backwards: bool) -> Vec<String> {
    let asked = (0..24_usize).map(|index| {
        let index = if backwards { 23 - index } else { index };
        let backend = Arc::clone(backend);
        async move {
            let (name, _, second) = SUMS[index % SUMS.len()];
            let messages = sum(&"Which is larger, 3 or 5? ".repeat(index % 9), name, second);
            let found = if index.is_multiple_of(2) {
                let scores = weigh(backend.as_ref(), messages, &texts(&["54", "no", "127"]))
                    .await
                    .expect("scores")
                    .scores;
                scores.iter().map(|score| format!("{:016x} ", score.logprob.to_bits())).collect()
            } else {
                let output = ask(backend.as_ref(), messages).await.expect("an answer");
                format!("{} {:?}", output.answer, output.extra)
            };
            (index, found)
        }
    });
    let mut found: Vec<(usize, String)> = futures::future::join_all(asked).await;
    found.sort();
    found.into_iter().map(|(_, found)| found).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bit_depends_on_what_came_before_or_on_threads() {
    let settings = ", deterministic: true, logprobs: 1";
    let reference = ask_all(&seeing(&format!("{settings}, threads: 1")).await, false).await;
    for (threads, backwards) in [(2, true), (1, true), (2, false)] {
        let backend = seeing(&format!("{settings}, threads: {threads}")).await;
        assert_eq!(ask_all(&backend, backwards).await, reference, "{threads} threads");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_fails_by_itself() {
    let backend = seeing("").await;
    let whole = std::fs::read(shipped("data/tiny/pictures/19-plus.png")).expect("a picture");
    let of = |parts: Vec<ContentPart>| vec![Message { content: parts, ..Message::text(Role::User, "") }];
    let text = || ContentPart::text("What is it?");
    for (parts, kind, expected) in [
        (vec![image(&whole[..60]), text()], BackendErrorKind::Rejected, "its image 1: it cannot be decoded"),
        (vec![picture("19-plus"), image(b"GIF89a"), text()], BackendErrorKind::Rejected, "its image 2"),
        (
            vec![media(MediaKind::Image, "data:image/png;base64,@@".to_owned()), text()],
            BackendErrorKind::Rejected,
            "not base64",
        ),
        (
            vec![media(MediaKind::Image, "https://example.org/a.png".to_owned()), text()],
            BackendErrorKind::Unsupported,
            "downloads nothing",
        ),
        (
            vec![media(MediaKind::Audio, "data:audio/wav;base64,QQ==".to_owned()), text()],
            BackendErrorKind::Unsupported,
            "accepts text and images only, but a message contains media (audio_url)",
        ),
        (
            (0..70).map(|_| picture("19-plus")).chain([text()]).collect(),
            BackendErrorKind::ContextLength,
            "tokens",
        ),
    ] {
        let error = ask(backend.as_ref(), of(parts)).await.expect_err(expected);
        assert!(error.kind == kind && error.message.contains(expected), "{expected}: {error}");
    }
    let right = ask(backend.as_ref(), sum("", "19-plus", 35)).await.expect("still there");
    assert_eq!(right.answer, "54");
    let blind = tiny("").await;
    let error = ask(blind.as_ref(), sum("", "19-plus", 35)).await.expect_err("no mmproj");
    assert!(error.message.contains("accepts text only"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_needs_text_behind_it() {
    let backend = seeing(", chat_template: none").await;
    let messages = vec![Message {
        content: vec![ContentPart::text("What is "), picture("19-plus")],
        ..Message::text(Role::User, "")
    }];
    let error = ask(backend.as_ref(), messages.clone()).await.expect_err("nothing behind it");
    assert!(error.message.contains("an image is at the end of the prompt"), "{error}");
    let error = weigh(backend.as_ref(), messages, &texts(&["35?"])).await.expect_err("nothing behind it");
    assert!(error.message.contains("between the last image and the continuation"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_makes_no_tokens_of_images_is_said_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(shipped("models/gage-tiny-mmproj.gguf")).expect("a file");
    std::fs::write(folder.path().join("cut.gguf"), &whole[..whole.len() / 2]).expect("written");
    let replaced = |name: &str, sought: &[u8], by: &[u8]| {
        assert_eq!(sought.len(), by.len());
        let at = whole.windows(sought.len()).position(|window| window == sought).expect("it is there");
        let mut other = whole.clone();
        other[at..at + by.len()].copy_from_slice(by);
        let file = folder.path().join(name);
        std::fs::write(&file, other).expect("written");
        file
    };
    let unknown = replaced("unknown.gguf", b"\x03\0\0\0\0\0\0\0mlp", b"\x03\0\0\0\0\0\0\0mlq");
    std::fs::write(folder.path().join("text.gguf"), "no model").expect("written");
    for (file, expected) in [
        (tiny_file(), "says that it is `llama`, not `clip`"),
        (folder.path().join("cut.gguf"), "is cut off"),
        (folder.path().join("text.gguf"), "not in the GGUF format"),
        (folder.path().join("none.gguf"), "cannot read the model file"),
        (unknown, "this build of llama.cpp is older than the file"),
    ] {
        let opened = open_file(&tiny_file(), &format!(", mmproj: '{}'", file.display())).await;
        let errors = opened.map(|_| ()).expect_err(expected);
        assert!(errors[0].message.contains(expected), "{expected}: {errors:?}");
    }
    let opened = open_file(&shipped("models/gage-tiny-mmproj.gguf"), "").await;
    let errors = opened.map(|_| ()).expect_err("it is no language model");
    assert!(errors[0].message.contains("`mmproj`"), "{errors:?}");
}
