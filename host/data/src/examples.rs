//! Examples of rows (`few_shot`): a pool of other rows, and the pick for each row.

mod picker;
mod pool;

pub(crate) use picker::ExamplePicker;
pub(crate) use pool::{ExamplePool, with_fields};

#[cfg(test)]
mod tests;
