//! Packed form of columns: a JSON head and plain numbers, which a browser reads without parsing them.
//!
//! A block begins with the length of its head in bytes, as a number of 8 bytes. The head is padded, so that the numbers begin
//! at a multiple of 8. All numbers are little-endian. The columns follow in this order, with a number for each sample:
//!
//! 1. 64-bit floating-point numbers, NaN if unknown: index, latency, time of the end, tokens, and the scores of each metric.
//! 2. 16-bit integers: the task.
//! 3. 8-bit integers: the outcome, the pass mark for each metric (-1 if unknown), and the value of each key of the metadata.

use super::columns::{Columns, ErrorGroup, UnscoredSamples};
use super::metadata::PackedKey;
use serde::Serialize;

/// Size of the length of the head, and of the largest numbers.
const NUMBER_BYTES: usize = 8;
/// Pass mark of a sample without one: -1.
const UNKNOWN_PASS: u8 = u8::MAX;

/// The head of a packed block: its lists of names, and what few samples have. The fields are those of [`Columns`].
#[derive(Serialize)]
struct PackedHead<'a> {
    rows: usize,
    run: usize,
    texts_every: u64,
    tasks: &'a [String],
    outcomes: &'a [&'static str],
    metrics: &'a [String],
    tags: &'a [String],
    tagged: &'a [(usize, usize)],
    errors: &'a [ErrorGroup],
    failed: &'a [(usize, usize)],
    unscored: &'a [UnscoredSamples],
    judge_cost: &'a [(usize, f64)],
    judge_tokens: [u64; 2],
    /// In the order of their bytes.
    metadata: Vec<PackedKey<'a>>,
}

/// Packs the columns of some samples.
///
/// # Errors
/// If the head cannot be written as JSON.
pub(super) fn pack(columns: &Columns) -> serde_json::Result<Vec<u8>> {
    let rows = columns.len();
    let mut head = serde_json::to_vec(&PackedHead {
        rows,
        run: 0,
        texts_every: 1,
        tasks: &columns.tasks,
        outcomes: &columns.outcomes,
        metrics: &columns.metrics,
        tags: &columns.tags,
        tagged: &columns.tagged,
        errors: &columns.errors,
        failed: &columns.failed,
        unscored: &columns.unscored,
        judge_cost: &columns.judge_cost,
        judge_tokens: columns.judge_tokens,
        metadata: columns.metadata.keys(),
    })?;
    let padded = head.len().next_multiple_of(NUMBER_BYTES);
    head.resize(padded, b' ');
    let mut packed = Vec::with_capacity(NUMBER_BYTES + padded + rows * 10 * NUMBER_BYTES);
    packed.extend_from_slice(&(padded as u64).to_le_bytes());
    packed.extend_from_slice(&head);
    // Indexes, times and tokens stay far below 2^53.
    push_numbers(&mut packed, columns.index.iter().map(|index| Some(*index as f64)));
    push_numbers(&mut packed, columns.latency.iter().copied());
    push_numbers(&mut packed, columns.finished.iter().map(|step| step.map(|step| step as f64)));
    push_numbers(&mut packed, columns.tokens.iter().map(|tokens| tokens.map(|tokens| tokens as f64)));
    for scores in &columns.scores {
        push_numbers(&mut packed, scores.iter().copied());
    }
    for task in &columns.task {
        packed.extend_from_slice(&u16::try_from(*task).unwrap_or(u16::MAX).to_le_bytes());
    }
    packed.extend(columns.outcome.iter().map(|outcome| u8::try_from(*outcome).unwrap_or(u8::MAX)));
    for pass in &columns.pass {
        packed.extend(pass.iter().map(|pass| pass.unwrap_or(UNKNOWN_PASS)));
    }
    columns.metadata.pack(rows, &mut packed);
    Ok(packed)
}

/// Appends a column of floating-point numbers.
fn push_numbers(packed: &mut Vec<u8>, numbers: impl Iterator<Item = Option<f64>>) {
    for number in numbers {
        packed.extend_from_slice(&number.unwrap_or(f64::NAN).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Outcome;
    use gage_figures::test_records::{failed, sample};
    use gage_record::SampleStage;
    use serde_json::{Value, json};

    #[test]
    fn numbers_follow_the_head_in_their_order() {
        let mut columns = Columns::new(0, 1);
        let mut first = sample("t", 4, 0.5, 12.0);
        first.sample = json!({"metadata": {"level": "hard"}}).into();
        for record in [first, failed("u", 7, Outcome::BackendError)] {
            columns.add(&(&record).into(), SampleStage::Ended, None);
        }
        let packed = pack(&columns).unwrap();
        let (length, rest) = packed.split_first_chunk::<8>().unwrap();
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
        assert!(length.is_multiple_of(8));
        let (head, numbers) = rest.split_at(length);
        let head: Value = serde_json::from_slice(head).unwrap();
        assert_eq!((&head["rows"], &head["tasks"]), (&json!(2), &json!(["t", "u"])));
        assert_eq!(head["metadata"], json!([{"key": "level", "values": ["hard"], "is_unlisted": false}]));
        let metrics = head["metrics"].as_array().unwrap().len();
        assert_eq!(numbers.len(), 2 * (8 * (4 + metrics) + 2 + 1 + metrics + 1));
        let number = |place: usize| f64::from_le_bytes(numbers[place * 8..place * 8 + 8].try_into().unwrap());
        assert_eq!((number(0), number(1)), (4.0, 7.0));
        assert_eq!(number(8), 0.5);
        assert!(number(9).is_nan());
        assert_eq!(numbers.last_chunk::<2>(), Some(&[0, u8::MAX]));
    }
}
