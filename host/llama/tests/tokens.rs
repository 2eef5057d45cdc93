//! Compares the tokens of llama.cpp and of `tokenizers` for the same vocabulary.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use std::path::{Path, PathBuf};
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

/// Pre-tokenization pattern of the tiny model's tokenizer family, from its `tokenizer.json`.
const PATTERN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn tiny_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf")
}

/// Returns the texts of a list in a GGUF file.
fn list(bytes: &[u8], key: &str) -> Vec<String> {
    let number = |at: usize| {
        let field: [u8; 8] = bytes[at..at + 8].try_into().expect("eight bytes");
        usize::try_from(u64::from_le_bytes(field)).expect("small")
    };
    let at =
        bytes.windows(key.len()).position(|window| window == key.as_bytes()).expect("the key") + key.len();
    assert_eq!(bytes[at..at + 8], [9, 0, 0, 0, 8, 0, 0, 0], "a list of texts");
    let mut next = at + 16;
    let text = |_| {
        let length = number(next);
        let text = String::from_utf8(bytes[next + 8..next + 8 + length].to_vec()).expect("UTF-8");
        next += 8 + length;
        text
    };
    (0..number(at + 8)).map(text).collect()
}

#[test]
fn both_cut_mixed_text_alike() {
    let bytes = std::fs::read(tiny_file()).expect("the model");
    let vocabulary = list(&bytes, "tokenizer.ggml.tokens").into_iter().zip(0_u32..).collect();
    let merges = list(&bytes, "tokenizer.ggml.merges").into_iter().map(|merge| {
        let (one, two) = merge.split_once(' ').expect("two parts");
        (one.to_owned(), two.to_owned())
    });
    let model = BPE::new(vocabulary, merges.collect());
    let mut reference = Tokenizer::new(model);
    let split = Split::new(SplitPattern::Regex(PATTERN.to_owned()), SplitDelimiterBehavior::Isolated, false);
    let parts = vec![split.expect("a pattern").into(), ByteLevel::new(false, false, false).into()];
    reference.with_pre_tokenizer(Some(Sequence::new(parts)));

    let mut backend = LlamaBackend::init().expect("llama.cpp");
    backend.void_logs();
    let model = LlamaModel::load_from_file(&backend, tiny_file(), &LlamaModelParams::default());
    let model = model.expect("the model");
    for text in TEXTS {
        assert_eq!(cut(&model, text), encoded(&reference, text), "{text:?}");
    }
}

/// Makes the same comparison for a real model and its official `tokenizer.json`, also with each line of the
/// documentation.
#[test]
#[ignore = "needs a model and its tokenizer.json: docs/contributing/llama-scheduling.md names them"]
fn a_real_model_and_its_tokenizer_cut_alike() {
    let file = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let reference = Tokenizer::from_file(file("GAGE_TEST_TOKENIZER")).expect("a tokenizer");
    let mut backend = LlamaBackend::init().expect("llama.cpp");
    backend.void_logs();
    let params = LlamaModelParams::default();
    let model = LlamaModel::load_from_file(&backend, file("GAGE_TEST_MODEL"), &params).expect("a model");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages =
        ["README.md", "docs/concepts/figures.md", "docs/reference/data.md", "docs/reference/suite.md"];
    let pages = pages.map(|page| std::fs::read_to_string(root.join(page)).expect(page));
    let mut different = Vec::new();
    let mut count = 0;
    for text in TEXTS.into_iter().chain(pages.iter().flat_map(|page| page.lines())) {
        count += 1;
        let (found, expected) = (cut(&model, text), encoded(&reference, text));
        if found != expected {
            different.push(format!("{text:?}\n  {found:?}\n  {expected:?}"));
        }
    }
    assert!(different.is_empty(), "{} of {count} texts:\n{}", different.len(), different.join("\n"));
}

fn cut(model: &LlamaModel, text: &str) -> Vec<u32> {
    let tokens = model.vocab().tokenize(text.as_bytes(), false, false);
    tokens.iter().map(|token| u32::try_from(token.0).expect("a token")).collect()
}

fn encoded(reference: &Tokenizer, text: &str) -> Vec<u32> {
    reference.encode(text, false).expect("encoded").get_ids().to_vec()
}

const TEXTS: [&str; 11] = [
    "What is the capital of France?",
    "  two  spaces,\ttabs\t\tand\r\n\r\nlines \n",
    "don't WE'LL it's I'M",
    "12345 + 6.789e-3 = ?",
    "Größe, naïve café, ÅNGSTRÖM",
    "日本語と中文，한국어 และ العربية",
    "👩‍👩‍👧‍👦 😀 e\u{301} \u{200b}\u{feff}",
    "fn main() { println!(\"{:?}\", vec![0u8; 4]); }",
    "<|user|> a_b-c/d\\e@f#g",
    "\u{0}\u{1}\u{7f}",
    "",
];
