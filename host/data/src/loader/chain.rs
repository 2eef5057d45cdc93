//! Several files that count as one.

use super::{Loader, LoaderError, Record, open};
use crate::row::DataError;
use crate::source::{DataFile, FormatOptions, RowSource};
use gage_config::FileFormat;

/// Records of all files, in their order.
pub(crate) struct Chain {
    files: Vec<DataFile>,
    format: FileFormat,
    options: FormatOptions,
    /// Index of the current file, and number of its records returned.
    file: usize,
    given: u64,
    loader: Option<Box<dyn Loader>>,
    /// Number of records returned from all files.
    number: u64,
    /// First record, read ahead to check that there is one.
    ahead: Option<NumberedRecord>,
}

/// A record, its position in the dataset and its file.
pub(crate) struct NumberedRecord {
    pub number: u64,
    pub file: usize,
    pub record: Record,
}

impl Chain {
    /// Opens the files.
    ///
    /// # Errors
    /// When one of them cannot be read by its loader, or when all of them together contain no row.
    pub(crate) fn open(source: &RowSource) -> Result<Chain, DataError> {
        let mut chain = Chain {
            files: source.files.clone(),
            format: source.format,
            options: source.options.clone(),
            file: 0,
            given: 0,
            loader: None,
            number: 0,
            ahead: None,
        };
        // The last file is checked before the first row is returned, not hours later.
        for file in &chain.files {
            open(file, chain.format, &chain.options).map_err(|fault| error(file, 0, fault))?;
        }
        chain.ahead = chain.next()?;
        match chain.ahead {
            Some(_) => Ok(chain),
            None => Err(DataError::Empty { files: source.named() }),
        }
    }

    /// Returns the number of records read so far.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn next(&mut self) -> Result<Option<NumberedRecord>, DataError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        while let Some(file) = self.files.get(self.file) {
            let loader = match &mut self.loader {
                Some(loader) => loader,
                none => {
                    let opened = open(file, self.format, &self.options);
                    none.insert(opened.map_err(|fault| error(file, 0, fault))?)
                }
            };
            if let Some(record) = loader.next().map_err(|fault| error(file, self.given, fault))? {
                let numbered = NumberedRecord { number: self.number, file: self.file, record };
                self.number += 1;
                self.given += 1;
                return Ok(Some(numbered));
            }
            self.loader = None;
            self.file += 1;
            self.given = 0;
        }
        Ok(None)
    }
}

/// Adds the file, and the number of its good rows, to a fault.
pub(crate) fn error(file: &DataFile, rows: u64, fault: LoaderError) -> DataError {
    if let Some(changed) = DataError::of_change(file) {
        return changed;
    }
    match fault {
        LoaderError::Unreadable(source) => DataError::unreadable(file, source),
        LoaderError::Damaged(message) => DataError::Damaged { file: file.named(), rows, message },
        LoaderError::Unsuited(message) => DataError::Unsuited { file: file.named(), message },
    }
}
