//! Stands in for `parquet` in a build without that feature: such files are refused.

use super::{Loader, LoaderError, Record};
use crate::checked_file::CheckedFile;

/// An open Parquet file. This build reads none, so there is no value of this type.
pub(crate) enum Parquet {}

impl Parquet {
    /// Refuses the file.
    pub(crate) fn open(_: CheckedFile) -> Result<Parquet, LoaderError> {
        Err(LoaderError::Unsuited(
            "this build cannot read Parquet; enable the feature `parquet` of gage-runner, or convert the file to JSON Lines"
                .to_owned(),
        ))
    }

    /// Returns the number of rows.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn rows(&self) -> u64 {
        match *self {}
    }
}

impl Loader for Parquet {
    fn next(&mut self) -> Result<Option<Record>, LoaderError> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{error, kind};
    use crate::source::DataFile;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn build_without_parquet_names_the_feature() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, "PAR1").expect("written");
        let file = DataFile::shown_as(path, "rows.parquet".to_owned());
        let (opened, _) = kind::open(&file).expect("a file");
        let fault = Parquet::open(opened).err().expect("a refusal");
        let message = error(&file, 0, fault).recorded("data");
        assert!(message.contains("enable the feature `parquet` of gage-runner"), "{message}");
    }
}
