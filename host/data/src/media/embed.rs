//! Embedding media into the messages of a request.

use super::allowed_roots::PathOrder;
use super::error::MediaError;
use super::reference_table::ReferenceTable;
use super::resolve::settle_content;
use super::store::{MediaStore, Purpose};
use gage_core::Message;

impl MediaStore {
    /// Makes `data:` URLs of local media, for a request, with the media type of the content; images
    /// are resized if the options say so, and so are those in `data:` URLs. A `data:` URL that is not
    /// base64 with the media type of its content is written again. Remote URLs stay.
    ///
    /// # Errors
    /// The first medium that is wrong, with its place; `media_unreadable` for a file that is not what
    /// it was when it was settled.
    pub fn embed(&self, messages: &mut [Message]) -> Result<(), MediaError> {
        let mut ledger = ReferenceTable::new(self, Purpose::Embed(PathOrder::OfSample, true));
        for (index, message) in messages.iter_mut().enumerate() {
            settle_content(&mut message.content, &format!("/messages/{index}/content"), &mut ledger)?;
        }
        Ok(())
    }
}
