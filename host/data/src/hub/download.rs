//! Download of one file of a hub, with its content checked.

use super::cache::CommitFolder;
use super::client::RequestTarget;
use super::error::HubError;
use super::listing::HubEntry;
use super::partial::PartialFile;
use super::repository::Repository;
use super::source::HubProgress;
use super::transfer::Transfer;
use gage_core::Digest;

/// Download of one file.
pub(super) struct Download<'a> {
    pub(super) repository: Repository<'a>,
    pub(super) folder: &'a CommitFolder,
    pub(super) commit: &'a str,
    pub(super) entry: &'a HubEntry,
    pub(super) progress: &'a dyn HubProgress,
}

impl Download<'_> {
    /// Downloads the file and puts it in its place. Retries once if the content is wrong.
    #[tracing::instrument(name = "hub_download", skip_all, fields(path = self.entry.path))]
    pub(super) async fn run(&self) -> Result<(), HubError> {
        let Repository { client, asked, .. } = self.repository;
        let name = Digest::of_bytes(self.entry.path.as_bytes()).hex();
        let mut partial = PartialFile::open(&self.folder.partial()?, &name, Some(self.entry))?;
        let transfer = Transfer {
            client,
            url: &self.repository.file(self.commit, &self.entry.path)?,
            asked: RequestTarget { path: Some(&self.entry.path), ..asked },
            commit: Some(self.commit),
            has_digest: true,
            name: &self.entry.path,
            progress: self.progress,
        };
        let path = gage_core::printable_line(&self.entry.path);
        let mut is_second = false;
        loop {
            let found = match transfer.complete(&mut partial).await? {
                Some(found) => found,
                None => match partial.content(self.entry, client.retry())? {
                    found if found == self.entry.oid => {
                        return partial.finish(&self.folder.file(&self.entry.path)?);
                    }
                    found => found.to_string(),
                },
            };
            if is_second {
                partial.discard()?;
                return Err(HubError::Content {
                    name: asked.name.to_owned(),
                    path: path.into_owned(),
                    expected: format!("{} and {} bytes", self.entry.oid, self.entry.bytes),
                    found,
                });
            }
            tracing::warn!(
                "'{path}' differs from what the hub says: expected {}, found {found}; it is downloaded again",
                self.entry.oid
            );
            partial.restart()?;
            is_second = true;
        }
    }
}
