//! The rows that examples are picked from. They are held in memory.

use crate::loader::Chain;
use crate::object_text::with_member;
use crate::row::{DataError, Row, RowPosition};
use crate::row_builder::RowBuilder;
use crate::source::{FewShotSource, PoolFiles, RowSource};
use gage_config::{ExamplePick, SUBSET_FIELD};
use gage_template::FieldExpressions;
use serde_json::Value;
use std::ops::Range;
use std::sync::OnceLock;

/// Maximum number of rows of all pools.
const MAX_POOL_ROWS: usize = 1_000_000;
/// Maximum size of the rows of all pools, in bytes.
const MAX_POOL_BYTES: usize = 256 << 20;
/// Size of the rows whose fields are computed in one call, in bytes.
const BATCH_BYTES: usize = 1 << 20;

/// The rows of all pools.
pub(crate) struct ExamplePool {
    rows: Vec<PoolRow>,
    /// Files as messages show them.
    files: Vec<String>,
}

/// A row that may be an example.
struct PoolRow {
    body: String,
    file: usize,
    place: RowPosition,
    /// The row with its computed fields, once it was needed.
    computed: OnceLock<Result<String, String>>,
}

impl ExamplePool {
    /// Reads the pools of a source. Returns the rows, and the range of each pool.
    ///
    /// # Errors
    /// When a file cannot be read, a row is not an object, or there are too many rows.
    pub(super) fn read(
        source: &RowSource,
        few_shot: &FewShotSource,
    ) -> Result<(ExamplePool, Vec<Range<u32>>), DataError> {
        let mut pool = ExamplePool { rows: Vec::new(), files: Vec::new() };
        let (mut ranges, mut bytes) = (Vec::with_capacity(few_shot.pools.len()), 0);
        for (number, files) in few_shot.pools.iter().enumerate() {
            let first = pool.rows.len();
            // Without a field to compare, the first rows suffice.
            let most = match (few_shot.pick, &few_shot.by, files.is_of_rows) {
                (ExamplePick::First, None, false) => few_shot.count,
                _ => usize::MAX,
            };
            let subset = source.subsets.get(number).map(|subset| subset.name.as_str());
            pool.add(source, files, subset, most, &mut bytes)?;
            ranges.push(index(first)..index(pool.rows.len()));
        }
        Ok((pool, ranges))
    }

    /// Adds up to `most` rows of files. `bytes` is the size of all rows so far.
    fn add(
        &mut self,
        source: &RowSource,
        pool: &PoolFiles,
        subset: Option<&str>,
        most: usize,
        bytes: &mut usize,
    ) -> Result<(), DataError> {
        let source =
            RowSource { options: source.options.clone(), ..RowSource::new(pool.format, pool.files.clone()) };
        let unusable = |message: String| DataError::Examples { files: source.named(), message };
        let mut chain = Chain::open(&source).map_err(|error| match error {
            DataError::Empty { .. } => unusable("there are no rows".to_owned()),
            other => other,
        })?;
        let mut builder = RowBuilder::plain(&source);
        let first_file = self.files.len();
        self.files.extend(builder.files.iter().cloned());
        let mut count = 0;
        while count < most
            && let Some(numbered) = chain.next()?
        {
            count += 1;
            let file = numbered.file;
            let Some(Row { place, body, .. }) = builder.build(numbered) else { continue };
            let body = body.map_err(|problem| unusable(problem.message))?;
            let body = match subset {
                Some(subset) => with_member(&body, SUBSET_FIELD, &Value::from(subset).to_string()),
                None => body,
            };
            *bytes += body.len();
            if self.rows.len() >= MAX_POOL_ROWS || *bytes > MAX_POOL_BYTES {
                return Err(unusable(format!(
                    "they have more than {MAX_POOL_ROWS} rows or {} MiB; name a smaller split or file",
                    MAX_POOL_BYTES >> 20
                )));
            }
            self.rows.push(PoolRow { body, file: first_file + file, place, computed: OnceLock::new() });
        }
        Ok(())
    }

    /// Returns the text of a row as read, with its subset.
    pub(super) fn body(&self, number: u32) -> &str {
        self.rows.get(number as usize).map_or("{}", |row| row.body.as_str())
    }

    /// Computes the fields of rows that were not needed before.
    pub(crate) fn compute(&self, numbers: impl Iterator<Item = u32>, fields: &FieldExpressions) {
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let rows = numbers.into_iter().filter_map(|number| self.rows.get(number as usize));
        let missing: Vec<&PoolRow> = rows.filter(|row| row.computed.get().is_none()).collect();
        let bodies: Vec<&str> = missing.iter().map(|row| row.body.as_str()).collect();
        for (row, computed) in missing.iter().zip(with_fields(&bodies, fields)) {
            // Another thread may have computed it meanwhile, with the same result.
            let _ = row.computed.set(computed);
        }
    }

    /// Returns the text of an example: with its computed fields, if the dataset has some and they were computed.
    ///
    /// # Errors
    /// Describes the example and its problem.
    pub(crate) fn text(&self, number: u32) -> Result<&str, String> {
        let Some(row) = self.rows.get(number as usize) else { return Ok("{}") };
        match row.computed.get() {
            None => Ok(&row.body),
            Some(Ok(text)) => Ok(text),
            Some(Err(problem)) => {
                let file = self.files.get(row.file).map(String::as_str).unwrap_or_default();
                Err(format!("the example at {} of {file}: {problem}", row.place))
            }
        }
    }
}

/// Returns the texts of rows with their computed fields, in order. The rows are computed in several calls if they are large.
pub(crate) fn with_fields(rows: &[&str], fields: &FieldExpressions) -> Vec<Result<String, String>> {
    let mut computed = Vec::with_capacity(rows.len());
    let mut rest = rows;
    while !rest.is_empty() {
        let mut bytes = 0;
        let is_within = |row: &&&str| {
            let before = bytes;
            bytes += row.len();
            before < BATCH_BYTES
        };
        let count = rest.iter().take_while(is_within).count();
        let (batch, after) = rest.split_at(count);
        rest = after;
        for (row, found) in batch.iter().zip(fields.compute_batch(batch)) {
            let add =
                |text: String, (name, value): (&String, &Value)| with_member(&text, name, &value.to_string());
            computed.push(match found {
                Ok(found) => Ok(found.iter().fold((*row).to_owned(), add)),
                Err(error) => Err(error.text),
            });
        }
    }
    computed
}

/// Returns an index as rows store it. There are fewer rows than it can count.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
