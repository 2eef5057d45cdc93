//! GGUF files for tests: the tiny model with changed keys, and small synthetic ones.

use std::path::Path;

/// Value of a key.
pub enum Setting<'a> {
    Number(u32),
    Real(f32),
    Flag(bool),
    Text(&'a str),
    Texts(Vec<String>),
    Integers(Vec<i32>),
}

/// Numbers of value types in the format.
const UINT32: u32 = 4;
const INT32: u32 = 5;
const FLOAT32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Alignment of tensors, in bytes.
const ALIGNMENT: usize = 32;

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn list(out: &mut Vec<u8>, kind: u32, length: usize) {
    out.extend(ARRAY.to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend((length as u64).to_le_bytes());
}

/// Encodes a key with its value.
fn entry(key: &str, setting: &Setting<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, key);
    match setting {
        Setting::Number(number) => {
            out.extend(UINT32.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        Setting::Real(number) => {
            out.extend(FLOAT32.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        Setting::Flag(flag) => {
            out.extend(BOOL.to_le_bytes());
            out.push(u8::from(*flag));
        }
        Setting::Text(value) => {
            out.extend(STRING.to_le_bytes());
            text(&mut out, value);
        }
        Setting::Texts(texts) => {
            list(&mut out, STRING, texts.len());
            texts.iter().for_each(|one| text(&mut out, one));
        }
        Setting::Integers(numbers) => {
            list(&mut out, INT32, numbers.len());
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
    }
    out
}

/// Sequential reader of a file.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        taken
    }

    fn number32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn number64(&mut self) -> usize {
        let number = u64::from_le_bytes(self.take(8).try_into().expect("eight bytes"));
        usize::try_from(number).expect("a small number")
    }

    fn text(&mut self) -> &'a str {
        let length = self.number64();
        std::str::from_utf8(self.take(length)).expect("UTF-8")
    }

    /// Skips a value. Returns the texts if it is a list of texts.
    fn value(&mut self) -> Vec<&'a str> {
        let kind = self.number32();
        let size = |kind: u32| match kind {
            0 | 1 | BOOL => 1,
            2 | 3 => 2,
            10..=12 => 8,
            _ => 4,
        };
        match kind {
            STRING => drop(self.text()),
            ARRAY => {
                let (kind, length) = (self.number32(), self.number64());
                if kind == STRING {
                    return (0..length).map(|_| self.text()).collect();
                }
                self.take(length * size(kind));
            }
            kind => drop(self.take(size(kind))),
        }
        Vec::new()
    }
}

/// Parts of a model file: the header, the encoded keys, and everything after them.
struct Parts<'a> {
    head: &'a [u8],
    tensors: usize,
    entries: Vec<(&'a str, &'a [u8])>,
    tokens: Vec<&'a str>,
    descriptions: &'a [u8],
    data: &'a [u8],
}

fn parts(bytes: &[u8]) -> Parts<'_> {
    let mut cursor = Cursor { bytes, at: 0 };
    let head = cursor.take(8);
    let (tensors, keys) = (cursor.number64(), cursor.number64());
    let (mut entries, mut tokens) = (Vec::new(), Vec::new());
    for _ in 0..keys {
        let from = cursor.at;
        let key = cursor.text();
        let texts = cursor.value();
        if key == "tokenizer.ggml.tokens" {
            tokens = texts;
        }
        entries.push((key, &bytes[from..cursor.at]));
    }
    let from = cursor.at;
    for _ in 0..tensors {
        cursor.text();
        let dimensions = cursor.number32() as usize;
        // Dimensions, type of the elements, and offset.
        cursor.take(8 * dimensions + 4 + 8);
    }
    let descriptions = &bytes[from..cursor.at];
    Parts {
        head,
        tensors,
        entries,
        tokens,
        descriptions,
        data: &bytes[cursor.at.next_multiple_of(ALIGNMENT)..],
    }
}

fn joined(head: &[u8], tensors: usize, entries: &[Vec<u8>], descriptions: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out = head.to_vec();
    out.extend((tensors as u64).to_le_bytes());
    out.extend((entries.len() as u64).to_le_bytes());
    out.extend(entries.concat());
    out.extend(descriptions);
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out.extend(data);
    out
}

/// Returns a model file with some keys removed, changed or added.
pub fn with_keys(file: &Path, without: &[&str], settings: &[(&str, Setting<'_>)]) -> Vec<u8> {
    let bytes = std::fs::read(file).expect("the model");
    let parts = parts(&bytes);
    let is_kept = |key: &str| !without.contains(&key) && settings.iter().all(|(other, _)| *other != key);
    let kept = parts.entries.iter().filter(|(key, _)| is_kept(key)).map(|(_, bytes)| bytes.to_vec());
    let entries: Vec<Vec<u8>> =
        kept.chain(settings.iter().map(|(key, setting)| entry(key, setting))).collect();
    joined(parts.head, parts.tensors, &entries, parts.descriptions, parts.data)
}

/// Returns a model file converted to another architecture, with all its keys under that name.
pub fn of_architecture(file: &Path, architecture: &str) -> Vec<u8> {
    let bytes = std::fs::read(file).expect("the model");
    let parts = parts(&bytes);
    let renamed = |(key, bytes): &(&str, &[u8])| match key.strip_prefix("llama.") {
        _ if *key == "general.architecture" => entry(key, &Setting::Text(architecture)),
        None => bytes.to_vec(),
        Some(rest) => {
            let mut out = Vec::new();
            text(&mut out, &format!("{architecture}.{rest}"));
            out.extend(&bytes[8 + key.len()..]);
            out
        }
    };
    let entries: Vec<Vec<u8>> = parts.entries.iter().map(renamed).collect();
    joined(parts.head, parts.tensors, &entries, parts.descriptions, parts.data)
}

/// Returns the number of a token in the vocabulary of a model file.
pub fn token(file: &Path, sought: &str) -> u32 {
    let bytes = std::fs::read(file).expect("the model");
    let place = parts(&bytes).tokens.iter().position(|token| *token == sought).expect("a token");
    u32::try_from(place).expect("a small vocabulary")
}

/// Returns an untrained BERT of one layer: an embedding model, which predicts no tokens.
pub fn encoder() -> Vec<u8> {
    const WIDTH: usize = 64;
    const INNER: usize = 64;
    let mut tokens: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned).into();
    let special = tokens.len();
    // Words begin with a mark, and continue without it.
    tokens.extend(('a'..='z').map(|letter| format!("\u{2581}{letter}")));
    tokens.extend(('a'..='z').map(String::from));
    let count = tokens.len();
    let kinds = (0..count).map(|place| if place < special { 3 } else { 1 }).collect();
    let settings = [
        ("general.architecture", Setting::Text("bert")),
        ("general.name", Setting::Text("untrained")),
        ("bert.context_length", Setting::Number(64)),
        ("bert.embedding_length", Setting::Number(WIDTH as u32)),
        ("bert.feed_forward_length", Setting::Number(INNER as u32)),
        ("bert.block_count", Setting::Number(1)),
        ("bert.attention.head_count", Setting::Number(4)),
        ("bert.attention.layer_norm_epsilon", Setting::Real(1e-12)),
        ("bert.attention.causal", Setting::Flag(false)),
        ("bert.pooling_type", Setting::Number(1)),
        ("tokenizer.ggml.model", Setting::Text("bert")),
        ("tokenizer.ggml.pre", Setting::Text("default")),
        ("tokenizer.ggml.tokens", Setting::Texts(tokens)),
        ("tokenizer.ggml.token_type", Setting::Integers(kinds)),
        ("tokenizer.ggml.token_type_count", Setting::Number(2)),
        ("tokenizer.ggml.padding_token_id", Setting::Number(0)),
        ("tokenizer.ggml.unknown_token_id", Setting::Number(1)),
        ("tokenizer.ggml.cls_token_id", Setting::Number(2)),
        ("tokenizer.ggml.bos_token_id", Setting::Number(2)),
        ("tokenizer.ggml.seperator_token_id", Setting::Number(3)),
        ("tokenizer.ggml.mask_token_id", Setting::Number(4)),
    ];
    let mut tensors: Vec<(String, Vec<usize>, Option<f32>)> = vec![
        ("token_embd.weight".to_owned(), vec![WIDTH, count], None),
        ("token_types.weight".to_owned(), vec![WIDTH, 2], None),
        ("position_embd.weight".to_owned(), vec![WIDTH, 64], None),
    ];
    let mut norm = |name: &str| {
        tensors.push((format!("{name}.weight"), vec![WIDTH], Some(1.0)));
        tensors.push((format!("{name}.bias"), vec![WIDTH], Some(0.0)));
    };
    for name in ["token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"] {
        norm(name);
    }
    let layers = ["attn_q", "attn_k", "attn_v", "attn_output"].map(|name| (name, WIDTH, WIDTH));
    for (name, from, to) in layers.into_iter().chain([("ffn_up", WIDTH, INNER), ("ffn_down", INNER, WIDTH)]) {
        tensors.push((format!("blk.0.{name}.weight"), vec![from, to], None));
        tensors.push((format!("blk.0.{name}.bias"), vec![to], Some(0.0)));
    }
    let (mut descriptions, mut data) = (Vec::new(), Vec::new());
    let mut state = 1_u32;
    for (name, dimensions, constant) in &tensors {
        text(&mut descriptions, name);
        descriptions.extend((dimensions.len() as u32).to_le_bytes());
        dimensions.iter().for_each(|length| descriptions.extend((*length as u64).to_le_bytes()));
        // 32-bit floats.
        descriptions.extend(0_u32.to_le_bytes());
        descriptions.extend((data.len() as u64).to_le_bytes());
        for _ in 0..dimensions.iter().product::<usize>() {
            // Any numbers will do, as long as they differ.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = constant.unwrap_or((state >> 16) as f32 / 65_536.0 - 0.5);
            data.extend(number.to_le_bytes());
        }
        data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    }
    let entries: Vec<Vec<u8>> = settings.iter().map(|(key, setting)| entry(key, setting)).collect();
    joined(b"GGUF\x03\0\0\0", tensors.len(), &entries, &descriptions, &data)
}
