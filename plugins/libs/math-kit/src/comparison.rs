//! The comparison of answers.

mod building;
mod canonical;
mod form;
mod region;
mod relations;
mod shown;
mod structure;

pub use building::form_of;
pub use canonical::canonical;
pub use form::Form;
pub use structure::same_form;
