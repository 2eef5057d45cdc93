//! Inputs made of valid ones: bytes are flipped, removed, repeated, spliced, and replaced by tokens and extreme numbers.

use crate::fuzz_input::FuzzInput;
use crate::json_text;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::ops::Range;

/// Maximum size of an input, in bytes.
const MAX_INPUT_BYTES: usize = 64 << 10;

/// Maximum number of mutations of an input.
const MAX_MUTATIONS: usize = 6;

/// Numbers at the limits of number types, and what some readers take for a number.
const EXTREME_NUMBERS: &[&str] = &[
    "0",
    "-1",
    "-0.0",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e308",
    "1e400",
    "4.9e-324",
    "NaN",
];

/// Numbers at the limits of number types, for formats of bytes.
const EXTREME_WORDS: &[u64] = &[
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Widths of numbers, in bytes.
const WORD_BYTES: &[usize] = &[1, 2, 4, 8];

/// Lengths of parts that are removed or repeated, in bytes.
const PART_BYTES: &[usize] = &[1, 1, 2, 4, 8, 32, 200];

/// Numbers of repetitions. The largest nests deeper than any reader allows.
const REPETITIONS: &[usize] = &[1, 1, 1, 2, 3, 16, 100, 4_000];

/// A change to an input.
#[derive(Clone, Debug)]
enum Mutation {
    FlipBit(Index, u8),
    SetByte(Index, u8),
    /// Replaces the next number in decimal digits.
    Number(Index, &'static str),
    /// Replaces bytes by a number, the lowest byte first.
    Word(Index, u64, usize),
    Truncate(Index),
    /// Removes a part of this length.
    Remove(Index, usize),
    /// Repeats a part of this length.
    Repeat(Index, usize, usize),
    Insert(Index, &'static str, usize),
    /// Replaces a part of this length by a token.
    Replace(Index, usize, &'static str),
    /// Inserts a part of another valid input.
    Splice(Index, Index, Index, Index),
}

fn mutation(tokens: &'static [&'static str]) -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    prop_oneof![
        (place(), 0..8_u8).prop_map(|(place, bit)| Mutation::FlipBit(place, bit)),
        (place(), any::<u8>()).prop_map(|(place, byte)| Mutation::SetByte(place, byte)),
        (place(), select(EXTREME_NUMBERS)).prop_map(|(place, number)| Mutation::Number(place, number)),
        (place(), select(EXTREME_WORDS), select(WORD_BYTES))
            .prop_map(|(place, word, width)| Mutation::Word(place, word, width)),
        place().prop_map(Mutation::Truncate),
        (place(), select(PART_BYTES)).prop_map(|(place, length)| Mutation::Remove(place, length)),
        (place(), select(PART_BYTES), select(REPETITIONS))
            .prop_map(|(place, length, count)| Mutation::Repeat(place, length, count)),
        (place(), select(tokens), select(REPETITIONS))
            .prop_map(|(place, token, count)| Mutation::Insert(place, token, count)),
        (place(), select(PART_BYTES), select(tokens))
            .prop_map(|(place, length, token)| Mutation::Replace(place, length, token)),
        (place(), place(), place(), place())
            .prop_map(|(place, seed, from, to)| Mutation::Splice(place, seed, from, to)),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let length = bytes.len();
        let at = |place: &Index| place.index(length + 1);
        match self {
            Mutation::FlipBit(place, bit) => {
                if let Some(byte) = bytes.get_mut(at(place)) {
                    *byte ^= 1 << *bit;
                }
            }
            Mutation::SetByte(place, byte) => replace(bytes, at(place), 1, &[*byte]),
            Mutation::Number(place, number) => set_number(bytes, at(place), number),
            Mutation::Word(place, word, width) => {
                let word = word.to_le_bytes();
                replace(bytes, at(place), *width, word.get(..*width).unwrap_or_default());
            }
            Mutation::Truncate(place) => bytes.truncate(at(place)),
            Mutation::Remove(place, part) => replace(bytes, at(place), *part, &[]),
            Mutation::Repeat(place, part, count) => {
                let part = part_of(bytes, at(place), *part);
                let repeated = bytes.get(part.clone()).unwrap_or_default().repeat(*count);
                replace(bytes, part.end, 0, &repeated);
            }
            Mutation::Insert(place, token, count) => {
                replace(bytes, at(place), 0, token.repeat(*count).as_bytes());
            }
            Mutation::Replace(place, part, token) => replace(bytes, at(place), *part, token.as_bytes()),
            Mutation::Splice(place, seed, from, to) => {
                let seed = seeds.get(seed.index(seeds.len().max(1))).map(Vec::as_slice).unwrap_or_default();
                let (one, other) = (from.index(seed.len() + 1), to.index(seed.len() + 1));
                replace(bytes, at(place), 0, seed.get(one.min(other)..one.max(other)).unwrap_or_default());
            }
        }
        bytes.truncate(MAX_INPUT_BYTES);
    }
}

/// Returns the range of a part, up to the end of the bytes.
fn part_of(bytes: &[u8], place: usize, length: usize) -> Range<usize> {
    place..bytes.len().min(place.saturating_add(length)).max(place)
}

fn replace(bytes: &mut Vec<u8>, place: usize, length: usize, replacement: &[u8]) {
    let part = part_of(bytes, place, length);
    drop(bytes.splice(part, replacement.iter().copied()));
}

fn set_number(bytes: &mut Vec<u8>, place: usize, number: &str) {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let after = bytes.get(place..).unwrap_or_default();
    let Some(skipped) = after.iter().position(u8::is_ascii_digit) else { return };
    let digits = after.iter().skip(skipped).take_while(is_digit).count();
    replace(bytes, place + skipped, digits, number.as_bytes());
}

/// Generates inputs: valid ones with up to six mutations, and now and then mere tokens or bytes.
pub fn inputs(seeds: Vec<Vec<u8>>, tokens: &'static [&'static str]) -> BoxedStrategy<FuzzInput> {
    let mutated =
        (any::<Index>(), vec(mutation(tokens), 0..=MAX_MUTATIONS)).prop_map(move |(seed, changes)| {
            let mut bytes = seeds.get(seed.index(seeds.len().max(1))).cloned().unwrap_or_default();
            changes.iter().for_each(|change| change.apply(&mut bytes, &seeds));
            FuzzInput(bytes)
        });
    let only_tokens = vec(select(tokens), 0..60).prop_map(|tokens| FuzzInput(tokens.concat().into_bytes()));
    let only_bytes = vec(any::<u8>(), 0..200).prop_map(FuzzInput);
    prop_oneof![16 => mutated, 2 => only_tokens, 1 => only_bytes].boxed()
}

/// Generates inputs of a format of JSON: as [`inputs`], and documents whose objects have members of these names.
pub fn json_inputs(seeds: Vec<Vec<u8>>, names: &'static [&'static str]) -> BoxedStrategy<FuzzInput> {
    prop_oneof![3 => inputs(seeds, JSON_TOKENS), 1 => json_text::documents(names)].boxed()
}

/// Tokens of JSON.
const JSON_TOKENS: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "null", "true", "false", "[]", "{}",
    "\"\"", "\"a\":", "0", "-", "1e", ".", "\u{0}", "\u{feff}", "\n", "é", "\u{202e}", "sha256:",
];
