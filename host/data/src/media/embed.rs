//! Embedding media into the messages of a request.

use super::allowed_roots::PathOrder;
use super::error::MediaError;
use super::reference_table::ReferenceTable;
use super::resolve::settle_content;
use super::store::{MediaStore, Purpose};
use gage_core::Message;

impl MediaStore {
    /// Replaces local media of a request by `data:` URLs, with the media type of their content. Images, including
    /// those in `data:` URLs, are resized if the options say so. A `data:` URL is rewritten unless it is base64 with
    /// the media type of its content. Remote URLs stay.
    ///
    /// # Errors
    /// The first invalid medium, with its place; `media_unreadable` for a file that changed since it was settled.
    pub fn embed(&self, messages: &mut [Message]) -> Result<(), MediaError> {
        let mut ledger = ReferenceTable::new(self, Purpose::Embed(PathOrder::OfSample, true));
        for (index, message) in messages.iter_mut().enumerate() {
            settle_content(&mut message.content, &format!("/messages/{index}/content"), &mut ledger)?;
        }
        Ok(())
    }
}
