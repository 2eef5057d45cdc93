mod array;
mod changed;
mod compressed;
mod delimited;
mod lines;
mod parquet;
mod parquet_damage;
mod several;
mod together;

use super::*;
use crate::source::{DataFile, LabelsFile};
use gage_recorded_messages::RecordedError as _;
use std::path::Path;

/// A folder with files, and the source that reads them.
struct Data {
    folder: tempfile::TempDir,
    source: RowSource,
}

impl Data {
    fn new(format: FileFormat, files: &[(&str, &[u8])]) -> Data {
        let folder = tempfile::tempdir().expect("a folder");
        let mut source = RowSource::new(format, Vec::new());
        source.spool_folder = Some(folder.path().to_owned());
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).expect("written");
            let file = DataFile::shown_as(folder.path().join(name), (*name).to_owned());
            source.files.push(file);
        }
        Data { folder, source }
    }

    fn one(format: FileFormat, content: impl AsRef<[u8]>) -> Data {
        Data::new(format, &[("rows", content.as_ref())])
    }

    fn labels(mut self, content: &str) -> Data {
        let path = self.folder.path().join("labels");
        std::fs::write(&path, content).expect("written");
        let file = DataFile::shown_as(path, "labels".to_owned());
        self.source.labels = Some(LabelsFile { file, field: "label".to_owned() });
        self
    }

    fn open(&self) -> Result<Rows, DataError> {
        open(&self.source, None)
    }

    fn rows(&self) -> Vec<Row> {
        let rows = self.open().unwrap_or_else(|error| panic!("{error}"));
        rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the text of each row, or its problem after the name of the file.
    fn bodies(&self) -> Vec<Result<String, String>> {
        let body = |row: Row| row.body.map_err(|problem| problem.message);
        self.rows().into_iter().map(body).collect()
    }

    /// Returns the number of good rows before the error, and the error.
    fn failure(&self) -> (usize, String) {
        match self.open() {
            Err(error) => (0, error.recorded("data")),
            Ok(mut rows) => {
                let mut good = 0;
                loop {
                    match rows.next() {
                        Some(Ok(_)) => good += 1,
                        Some(Err(error)) => {
                            assert!(rows.next().is_none(), "nothing comes behind an error");
                            return (good, error.recorded("data"));
                        }
                        None => panic!("no error after {good} rows"),
                    }
                }
            }
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::fast());
    let mut packed = Vec::new();
    std::io::Read::read_to_end(&mut encoder, &mut packed).expect("compressed");
    packed
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    // Without a checksum, some damage merely yields different data.
    encoder.include_checksum(true).expect("set");
    std::io::Write::write_all(&mut encoder, bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

/// Returns distinct rows, as JSON Lines.
fn numbered(rows: u64) -> String {
    (0..rows).map(|number| format!("{{\"n\":{number}}}\n")).collect()
}

fn numbers(data: &Data) -> Vec<u64> {
    data.rows().iter().map(|row| row.number).collect()
}

fn is_empty_folder_but(folder: &Path, names: &[&str]) -> bool {
    let entries = std::fs::read_dir(folder).expect("read");
    entries.flatten().all(|entry| names.iter().any(|name| entry.file_name() == *name))
}
