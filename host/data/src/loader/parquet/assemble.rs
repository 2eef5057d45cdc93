//! Assembly of one row as JSON.

use super::column::Column;
use super::shape::{Levels, Node, Shape};
use ::parquet::errors::ParquetError;
use std::collections::HashSet;

/// Failure to write a row.
pub(crate) enum AssemblyError {
    /// A value cannot be represented in JSON; the columns have still advanced to the next row.
    Value(String),
    /// The columns cannot be read further.
    File(ParquetError),
}

impl From<ParquetError> for AssemblyError {
    fn from(error: ParquetError) -> AssemblyError {
        AssemblyError::File(error)
    }
}

/// Writes the next row of the columns.
pub(crate) fn assemble(
    shape: &Shape,
    columns: &mut [Column],
    text: &mut Vec<u8>,
) -> Result<(), AssemblyError> {
    for column in columns.iter_mut() {
        column.begin_row()?;
    }
    let mut writer = RowWriter { columns, text, problem: None };
    writer.write(shape)?;
    writer.problem.map_or(Ok(()), |problem| Err(AssemblyError::Value(problem)))
}

struct RowWriter<'a> {
    columns: &'a mut [Column],
    text: &'a mut Vec<u8>,
    /// First problem of the row. The rest of the row is still read.
    problem: Option<String>,
}

impl RowWriter<'_> {
    fn write(&mut self, shape: &Shape) -> Result<(), AssemblyError> {
        let definition = self.column(shape.first)?.definition()?;
        if definition < shape.present {
            self.skip(shape)?;
            self.text.extend_from_slice(b"null");
            return Ok(());
        }
        match &shape.node {
            Node::Leaf => {
                let mut text = std::mem::take(self.text);
                let written = self.column(shape.first)?.write(&mut text);
                *self.text = text;
                if let Err(problem) = written {
                    let message = format!("column '{}': {problem}", self.column(shape.first)?.name());
                    self.problem.get_or_insert(message);
                    self.text.extend_from_slice(b"null");
                }
                self.column(shape.first)?.advance();
                Ok(())
            }
            Node::Struct(fields) => {
                self.text.push(b'{');
                for (position, (key, field)) in fields.iter().enumerate() {
                    if position > 0 {
                        self.text.push(b',');
                    }
                    self.text.extend_from_slice(key.as_bytes());
                    self.write(field)?;
                }
                self.text.push(b'}');
                Ok(())
            }
            Node::List(repeated, item) => {
                self.text.push(b'[');
                self.items(shape, *repeated, definition, |writer| writer.write(item))?;
                self.text.push(b']');
                Ok(())
            }
            Node::Map(repeated, key, value) => {
                self.text.push(b'{');
                let mut keys = HashSet::new();
                self.items(shape, *repeated, definition, |writer| {
                    writer.key(key, &mut keys)?;
                    writer.write(value)
                })?;
                self.text.push(b'}');
                Ok(())
            }
        }
    }

    /// Writes repeated values, separated by commas.
    fn items(
        &mut self,
        shape: &Shape,
        repeated: Levels,
        definition: i16,
        mut item: impl FnMut(&mut Self) -> Result<(), AssemblyError>,
    ) -> Result<(), AssemblyError> {
        if definition < repeated.definition {
            return self.skip(shape);
        }
        loop {
            item(self)?;
            if self.column(shape.first)?.repetition() < repeated.repetition {
                return Ok(());
            }
            self.text.push(b',');
        }
    }

    /// Writes the key of a map as a text.
    fn key(&mut self, key: &Shape, keys: &mut HashSet<Vec<u8>>) -> Result<(), AssemblyError> {
        let start = self.text.len();
        self.write(key)?;
        let mut written = self.text.split_off(start);
        match written.first() {
            Some(b'"') => {}
            Some(b'{' | b'[' | b'n') => {
                self.problem.get_or_insert("a map has a key that is not a scalar".to_owned());
            }
            _ => {
                written.insert(0, b'"');
                written.push(b'"');
            }
        }
        self.text.extend_from_slice(&written);
        self.text.push(b':');
        if let Some(twice) = keys.replace(written) {
            let name = String::from_utf8_lossy(&twice).into_owned();
            self.problem.get_or_insert(format!("a map has the key {name} twice"));
        }
        Ok(())
    }

    /// Advances by one level in each column of an empty node.
    fn skip(&mut self, shape: &Shape) -> Result<(), AssemblyError> {
        match &shape.node {
            Node::Leaf => {
                let column = self.column(shape.first)?;
                column.definition()?;
                column.advance();
                Ok(())
            }
            Node::Struct(fields) => fields.iter().try_for_each(|(_, field)| self.skip(field)),
            Node::List(_, item) => self.skip(item),
            Node::Map(_, key, value) => {
                self.skip(key)?;
                self.skip(value)
            }
        }
    }

    fn column(&mut self, position: usize) -> Result<&mut Column, ParquetError> {
        let missing = || ParquetError::General("a column is missing".to_owned());
        self.columns.get_mut(position).ok_or_else(missing)
    }
}
