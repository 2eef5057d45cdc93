//! Predictions and references; what they may be is shared with other families.

pub(crate) use gage_text_kit::references::{Accepts, prediction, references};
