//! Doc hooks: `visual_from_field`, `audio_from_field`, `text_from_field` and
//! `embed_local_message_images`. They find images, sounds and texts of a Sample in fields outside its
//! messages.
//!
//! A hook only locates media. The host reads them, checks them and puts them into the messages.

mod from_field;
mod local_images;
mod text;

pub use from_field::{AudioFromField, VisualFromField};
pub use local_images::EmbedLocalMessageImages;
pub use text::TextFromField;

gage_sdk::doc_hooks!(
    name: "hooks",
    description: "Media and texts from the fields of a Sample",
    doc_hooks: [VisualFromField, AudioFromField, TextFromField, EmbedLocalMessageImages],
);
