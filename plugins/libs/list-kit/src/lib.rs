//! Shared parts of the plugins on lists: how the items of a list are read, and which of them two lists have
//! in common.

mod items;
mod matching;

pub use items::{Item, ItemKey, List, MAX_VALUES, check_size};
pub use matching::{Matching, longest_increasing};
