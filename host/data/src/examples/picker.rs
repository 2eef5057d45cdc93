//! The pick of examples for each row, in the order of the rows.

use super::ExamplePool;
use crate::python_random::PythonRandom;
use crate::row::DataError;
use crate::row_builder::PickExamples;
use crate::row_fields::{RowField, RowFields};
use crate::source::RowSource;
use gage_config::ExamplePick;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Picks the examples of each row. A random draw depends on the rows before it. All rows are therefore passed in the order
/// of the file, including those that a filter or a shard leaves out.
pub(crate) struct ExamplePicker {
    pool: Arc<ExamplePool>,
    /// The choice for the rows of each subset.
    choices: Vec<Choice>,
    count: usize,
    by: Option<String>,
    pick: ExamplePick,
    seed: u64,
    random: PythonRandom,
    /// Number of the subset of the last row. The generator is created again for each.
    subset: usize,
}

/// The examples that rows of a subset may get.
struct Choice {
    /// Rows of the pool by the value of the field `by`, as JSON text; all have the empty text without such a field.
    groups: FxHashMap<String, Vec<u32>>,
    /// True if the pool has the rows themselves. A row is not its own example.
    is_of_rows: bool,
}

impl ExamplePicker {
    /// Reads the pools of a source.
    ///
    /// # Errors
    /// When a pool cannot be read, or one of its rows lacks the field `by`.
    pub(crate) fn read(source: &RowSource) -> Result<Option<ExamplePicker>, DataError> {
        let Some(few_shot) = &source.few_shot else { return Ok(None) };
        let (pool, ranges) = ExamplePool::read(source, few_shot)?;
        let mut choices = Vec::with_capacity(ranges.len());
        for (files, range) in few_shot.pools.iter().zip(ranges) {
            let mut groups: FxHashMap<String, Vec<u32>> = FxHashMap::default();
            for number in range {
                let group = group_of(pool.body(number), few_shot.by.as_deref()).map_err(|message| {
                    let files = RowSource::new(files.format, files.files.clone()).named();
                    DataError::Examples { files, message: format!("a row {message}") }
                })?;
                groups.entry(group).or_default().push(number);
            }
            choices.push(Choice { groups, is_of_rows: files.is_of_rows });
        }
        Ok(Some(ExamplePicker {
            pool: Arc::new(pool),
            choices,
            count: few_shot.count,
            by: few_shot.by.clone(),
            pick: few_shot.pick,
            seed: few_shot.seed,
            random: PythonRandom::new(few_shot.seed),
            subset: 0,
        }))
    }

    /// Returns the rows that are picked from.
    pub(crate) fn pool(&self) -> &Arc<ExamplePool> {
        &self.pool
    }
}

/// Returns the value of the field `by` as JSON text; empty without such a field. The error follows after `the row`.
fn group_of(row: &str, by: Option<&str>) -> Result<String, String> {
    let Some(by) = by else { return Ok(String::new()) };
    match RowFields::new(row).get(0, by) {
        Some(RowField::Value(value)) => Ok(value.to_string()),
        Some(RowField::Large(_)) => Err(format!("has a field `{by}` that is too large to be compared")),
        None => Err(format!("has no field `{by}`, which `few_shot` names in `by`")),
    }
}

impl PickExamples for ExamplePicker {
    fn pick(&mut self, subset: usize, row: Option<&str>) -> Result<Vec<u32>, String> {
        if self.subset != subset {
            self.subset = subset;
            self.random = PythonRandom::new(self.seed);
        }
        let ExamplePicker { pool, choices, count, by, pick, random, .. } = self;
        let by = by.as_deref();
        let group = match (row, by) {
            (None, Some(_)) => return Ok(Vec::new()),
            (None, None) => String::new(),
            (Some(row), by) => group_of(row, by).map_err(|message| format!("the row {message}"))?,
        };
        let Some(choice) = choices.get(subset) else { return Ok(Vec::new()) };
        let own = choice.groups.get(&group).map_or(&[][..], Vec::as_slice);
        let is_other = |number: &u32| !choice.is_of_rows || row != Some(pool.body(*number));
        let rows = || by.map_or_else(|| "rows".to_owned(), |by| format!("rows with its `{by}`"));
        match pick {
            ExamplePick::First => {
                let first: Vec<u32> = own.iter().copied().filter(is_other).take(*count).collect();
                match first.is_empty() {
                    true => Err(format!("the examples of `few_shot` have no {}", rows())),
                    false => Ok(first),
                }
            }
            ExamplePick::Random => {
                let drawn = *count + usize::from(choice.is_of_rows);
                let population = u32::try_from(own.len()).unwrap_or(u32::MAX);
                if drawn > own.len() {
                    let (rows, found) = (rows(), own.len());
                    return Err(format!("`few_shot` draws {drawn} examples, but there are {found} {rows}"));
                }
                let places = random.sample(population, drawn).into_iter();
                let numbers = places.filter_map(|place| own.get(place as usize).copied());
                Ok(numbers.filter(is_other).take(*count).collect())
            }
        }
    }
}
