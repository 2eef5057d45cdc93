//! Headers of model files, and messages of the process that loads a model.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_core::{FinishReason, Usage};
use gage_model_protocol::gguf::Gguf;
use gage_model_protocol::memory_estimate::MemoryNeeds;
use gage_model_protocol::{
    Answer, Completion, Counts, FromModel, Greeting, JobError, JobErrorKind, JobResult, TokenLogprob,
    read_frame, write_frame,
};
use proptest::strategy::BoxedStrategy;
use std::time::Duration;

/// Headers of GGUF files.
pub const HEADERS: Target = Target {
    name: "gguf_headers",
    cases: 1_000,
    seeds: header_seeds,
    inputs: header_inputs,
    check: check_header,
};

/// Messages of a model process.
pub const MESSAGES: Target = Target {
    name: "model_messages",
    cases: 1_000,
    seeds: message_seeds,
    inputs: message_inputs,
    check: check_messages,
};

const HEADER_TOKENS: &[&str] = &[
    "GGUF",
    "general.architecture",
    "general.alignment",
    "general.file_type",
    "general.type",
    "adapter",
    "llama",
    "bert",
    "clip",
    "llama.block_count",
    "llama.embedding_length",
    "llama.attention.head_count",
    "tokenizer.ggml.tokens",
    "tokenizer.chat_template",
    "\u{8}\u{0}\u{0}\u{0}",
    "\u{9}\u{0}\u{0}\u{0}",
    "\u{4}\u{0}\u{0}\u{0}",
    "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
    "\u{1}",
    "blk.0.attn_q.weight",
];

const MESSAGE_TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\ud800",
    "\"Done\":",
    "\"Opened\":",
    "\"Refused\":",
    "\"Progress\"",
    "{\"Started\":7}",
    "\"top\":[",
    "\"secs\":",
    "\"nanos\":1000000000",
    "\"Ok\":",
    "\"Err\":",
    "\"vectors\":[[1e39]]",
    "null",
    "-",
    "1e308",
    "\u{0}",
    "\u{3}\u{0}\u{0}\u{0}",
    "é",
];

/// A value of a GGUF file.
enum GgufValue<'v> {
    Number(u32),
    LongNumber(u64),
    Bool(bool),
    Text(&'v str),
    Texts(&'v [&'v str]),
    Numbers(&'v [u32]),
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn put_value(bytes: &mut Vec<u8>, value: &GgufValue<'_>) {
    match value {
        GgufValue::Number(number) => {
            bytes.extend(4_u32.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        GgufValue::LongNumber(number) => {
            bytes.extend(10_u32.to_le_bytes());
            bytes.extend(number.to_le_bytes());
        }
        GgufValue::Bool(flag) => {
            bytes.extend(7_u32.to_le_bytes());
            bytes.push(u8::from(*flag));
        }
        GgufValue::Text(text) => {
            bytes.extend(8_u32.to_le_bytes());
            put_text(bytes, text);
        }
        GgufValue::Texts(texts) => {
            bytes.extend([9_u32.to_le_bytes(), 8_u32.to_le_bytes()].concat());
            bytes.extend((texts.len() as u64).to_le_bytes());
            texts.iter().for_each(|text| put_text(bytes, text));
        }
        GgufValue::Numbers(numbers) => {
            bytes.extend([9_u32.to_le_bytes(), 4_u32.to_le_bytes()].concat());
            bytes.extend((numbers.len() as u64).to_le_bytes());
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
    }
}

/// Returns a file with these values and one tensor of 8 numbers in rows of 4.
fn gguf(values: &[(&str, GgufValue<'_>)]) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend((values.len() as u64).to_le_bytes());
    for (key, value) in values {
        put_text(&mut bytes, key);
        put_value(&mut bytes, value);
    }
    put_text(&mut bytes, "token_embd.weight");
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend([4_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat());
    // The type F32, at the beginning of the data.
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    // Enough for each alignment of the examples.
    bytes.resize(bytes.len().next_multiple_of(64) + 64, 0);
    bytes
}

fn header_seeds() -> Vec<Vec<u8>> {
    let model = gguf(&[
        ("general.architecture", GgufValue::Text("llama")),
        ("general.file_type", GgufValue::Number(7)),
        ("llama.block_count", GgufValue::Number(4)),
        ("llama.embedding_length", GgufValue::Number(64)),
        ("llama.attention.head_count", GgufValue::Number(4)),
        ("llama.attention.head_count_kv", GgufValue::Numbers(&[2, 1, 2])),
        ("llama.attention.causal", GgufValue::Bool(true)),
        ("tokenizer.ggml.tokens", GgufValue::Texts(&["<s>", "</s>", "a"])),
        ("tokenizer.chat_template", GgufValue::Text("{{ messages[0].content }}")),
    ]);
    // Numbers as large as they go.
    let large = gguf(&[
        ("general.architecture", GgufValue::Text("llama")),
        ("llama.block_count", GgufValue::LongNumber(u64::MAX)),
        ("llama.embedding_length", GgufValue::LongNumber(u64::MAX)),
        ("llama.attention.head_count", GgufValue::Number(1)),
        ("llama.vocab_size", GgufValue::LongNumber(u64::MAX)),
        ("llama.feed_forward_length", GgufValue::LongNumber(u64::MAX)),
    ]);
    let adapter =
        gguf(&[("general.type", GgufValue::Text("adapter")), ("general.alignment", GgufValue::Number(64))]);
    vec![model, large, adapter]
}

fn header_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(header_seeds(), HEADER_TOKENS)
}

fn check_header(input: &[u8]) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, input).map_err(|error| error.to_string())?;
    match Gguf::read(&path) {
        Err(error) if error.to_string().is_empty() => Err("an error without a message".to_owned()),
        Err(_) => Ok(Verdict::Refused),
        Ok(gguf) => {
            describe(&gguf, &path);
            // Each tensor takes some bytes of the file, so the header cannot claim many more.
            match gguf.tensors.len() <= input.len() && gguf.metadata.len() <= input.len() {
                true => Ok(Verdict::Accepted),
                false => Err(format!("{} tensors in {} bytes", gguf.tensors.len(), input.len())),
            }
        }
    }
}

/// Computes everything that commands show of a model file.
fn describe(gguf: &Gguf, path: &std::path::Path) {
    let _ = (
        gguf.architecture(),
        gguf.quantization(),
        gguf.vocabulary_size(),
        gguf.of_architecture("context_length"),
    );
    let _ = (gguf.parameters(), gguf.tensor_bytes(), gguf.purpose().limits(), gguf.purpose().makes_vectors());
    let _ = (gguf.predicts(), gguf.no_model(path), gguf.unknown_architecture(path));
    for cells in [0, 4_096, u64::MAX] {
        let _ = MemoryNeeds::of(gguf, cells, (16.0, 8.5), 512).map(|needs| needs.total());
    }
}

fn message_seeds() -> Vec<Vec<u8>> {
    let result = |answer: Answer| {
        let (latency, first_token) = (Duration::from_millis(1_500), Some(Duration::from_nanos(1)));
        JobResult { answer, latency, first_token }
    };
    let logprob = |top: Vec<TokenLogprob>| TokenLogprob { token: "é".to_owned(), logprob: -0.5, top };
    let completion = Completion {
        text: "four".to_owned(),
        reason: FinishReason::Stop,
        usage: Usage { prompt_tokens: 3, completion_tokens: 1 },
        logprobs: Some(vec![logprob(vec![logprob(Vec::new())])]),
        left_out: 0,
    };
    let vectors = Answer::Embedded { vectors: vec![vec![0.5, -1.25]], tokens: 2 };
    let failed = JobError::new(JobErrorKind::ContextLength, "the prompt is too long");
    let messages = [
        FromModel::Started(7),
        FromModel::Queued(8),
        FromModel::Progress,
        FromModel::Done(7, Box::new(Ok(result(Answer::Generated(completion)))), Counts::default()),
        FromModel::Done(8, Box::new(Ok(result(vectors))), Counts::default()),
        FromModel::Done(9, Box::new(Err(failed)), Counts::default()),
        FromModel::Refused("no such file".to_owned()),
    ];
    let framed = |messages: &[FromModel]| {
        let mut bytes = Vec::new();
        messages.iter().try_for_each(|message| write_frame(&mut bytes, message)).ok().map(|()| bytes)
    };
    let single = messages.chunks(1).filter_map(framed);
    single.chain(framed(&messages)).collect()
}

fn message_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(message_seeds(), MESSAGE_TOKENS)
}

/// Reads messages until one is refused. Short bytes are also read as the content of one frame.
fn check_messages(input: &[u8]) -> Result<Verdict, String> {
    let mut framed = Vec::new();
    framed.extend(u32::try_from(input.len()).unwrap_or(u32::MAX).to_le_bytes());
    framed.extend(input);
    let mut verdict = Verdict::Refused;
    for bytes in [input, framed.as_slice()] {
        let mut reader = bytes;
        while let Ok(Some(_)) = read_frame::<FromModel>(&mut reader) {
            verdict = Verdict::Accepted;
        }
        let _ = read_frame::<Greeting>(&mut &*bytes);
    }
    Ok(verdict)
}
