//! Files of an export: written to temporary paths, and moved into place once all are complete.

use super::ExportError;
use gage_core::foreign_file;
use gage_record::TemporaryFile;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The files being written. Dropping it before [`Files::commit`] removes them all.
pub(super) struct Files {
    replaces: bool,
    /// Folder of the run. Others may have written it, so that no link below it is followed.
    run: PathBuf,
    pending: Vec<TemporaryFile>,
    /// Folders created for the files, outermost first.
    folders: Vec<PathBuf>,
}

/// A file being written.
pub(super) struct ExportFile {
    path: PathBuf,
    writer: BufWriter<File>,
    /// Hasher, for formats that include a digest.
    hasher: Option<Sha256>,
}

impl Files {
    pub(super) fn new(replaces: bool, run: &Path) -> Files {
        Files { replaces, run: run.to_owned(), pending: Vec::new(), folders: Vec::new() }
    }

    /// Creates a file and its folder.
    pub(super) fn create(&mut self, path: &Path) -> Result<ExportFile, ExportError> {
        if path.symlink_metadata().is_ok() && !self.replaces {
            return Err(ExportError::Exists { path: path.to_owned() });
        }
        if path.is_dir() {
            return Err(ExportError::write(path, std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        if let Ok(name) = path.strip_prefix(&self.run) {
            foreign_file::check_target(&self.run, name).map_err(|error| ExportError::write(path, error))?;
        }
        self.make_folder(path.parent().unwrap_or(Path::new("")))?;
        let created = TemporaryFile::create(path);
        let (mut temporary, file) = created.map_err(|error| ExportError::write(path, error))?;
        // The lock of the first file refuses another export to the same files.
        if !self.pending.is_empty() {
            temporary.release();
        }
        self.pending.push(temporary);
        Ok(ExportFile {
            path: path.to_owned(),
            writer: BufWriter::with_capacity(1 << 16, file),
            hasher: None,
        })
    }

    /// Moves the files to their final paths.
    pub(super) fn commit(mut self) -> Result<Vec<PathBuf>, ExportError> {
        self.folders.clear();
        let places: Vec<PathBuf> = self.pending.iter().map(|file| file.target().to_owned()).collect();
        // The first file comes last: it holds the lock.
        while let Some(temporary) = self.pending.pop() {
            let path = temporary.target().to_owned();
            temporary.put_in_place().map_err(|error| ExportError::write(&path, error))?;
        }
        Ok(places)
    }

    fn make_folder(&mut self, folder: &Path) -> Result<(), ExportError> {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        self.make_folder(folder.parent().unwrap_or(Path::new("")))?;
        match fs::create_dir(folder) {
            Ok(()) => {
                self.folders.push(folder.to_owned());
                Ok(())
            }
            Err(_) if folder.is_dir() => Ok(()),
            Err(error) => Err(ExportError::write(folder, error)),
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        while self.pending.pop().is_some() {}
        for folder in self.folders.iter().rev() {
            // Errors are ignored, because `drop` cannot return them.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl ExportFile {
    /// Writes a JSON value, followed by `end`.
    pub(super) fn json(&mut self, value: &impl Serialize, end: &str) -> Result<(), ExportError> {
        let written = serde_json::to_writer(&mut *self, value).map_err(std::io::Error::from);
        written
            .and_then(|()| self.write_all(end.as_bytes()))
            .map_err(|error| ExportError::write(&self.path, error))
    }

    /// Writes a complete file of indented JSON.
    pub(super) fn pretty_json(mut self, value: &impl Serialize) -> Result<(), ExportError> {
        let text =
            serde_json::to_string_pretty(value).map_err(|error| ExportError::write(&self.path, error))?;
        self.text(&(text + "\n"))?;
        self.finish().map(|_| ())
    }

    /// Writes a text.
    pub(super) fn text(&mut self, text: &str) -> Result<(), ExportError> {
        self.write_all(text.as_bytes()).map_err(|error| ExportError::write(&self.path, error))
    }

    /// Returns the file with digest computation enabled.
    pub(super) fn with_digest(self) -> ExportFile {
        ExportFile { hasher: Some(Sha256::new()), ..self }
    }

    /// Finishes the file. Returns the SHA-256 of its bytes in hexadecimal, if enabled.
    pub(super) fn finish(mut self) -> Result<Option<String>, ExportError> {
        let written = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        written.map_err(|error| ExportError::write(&self.path, error))?;
        Ok(self.hasher.map(|hasher| hex(&hasher.finalize())))
    }
}

impl Write for ExportFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = self.writer.write(bytes)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes.get(..length).unwrap_or_default());
        }
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

/// Returns the SHA-256 of a text in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts a name for use in a file name: characters that some systems reject, or that hide others, become `_`.
pub(super) fn file_part(name: &str) -> String {
    const BAD: [char; 9] = ['<', '>', ':', '"', '/', '\\', '|', '?', '*'];
    const TAKEN: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
    let is_visible = |character: char| {
        matches!(gage_core::printable_line(character.encode_utf8(&mut [0; 4])), Cow::Borrowed(_))
    };
    let safe =
        |character: char| if BAD.contains(&character) || !is_visible(character) { '_' } else { character };
    let safe: String = name.chars().map(safe).collect();
    let safe = safe.trim_end_matches(['.', ' ']);
    let stem = safe.split('.').next().unwrap_or_default().to_uppercase();
    let is_taken = TAKEN.contains(&stem.as_str())
        || ["COM", "LPT"].iter().any(|port| {
            stem.strip_prefix(port)
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
    if safe.is_empty() || safe.starts_with('.') || is_taken { format!("_{safe}") } else { safe.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::file_part;

    #[test]
    fn names_of_files_hide_nothing() {
        for (name, expected) in [
            ("piqa", "piqa"),
            ("a/b", "a_b"),
            ("evil\u{202e}fdp.exe", "evil_fdp.exe"),
            ("a\u{1b}[31m\u{200b}b", "a_[31m_b"),
            ("..", "_"),
            ("con", "_con"),
            ("é 中", "é 中"),
        ] {
            assert_eq!(file_part(name), expected, "{name:?}");
        }
    }
}
