//! A common shape for all kinds of answers, so that predictions and references can be compared across tasks.

use serde::{Deserialize, Serialize};

/// An answer in normalized form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer_type", rename_all = "snake_case")]
pub enum CanonicalAnswer {
    /// One of several options.
    Choice {
        /// The option's id.
        value: String,
        /// Other names of the same option.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        aliases: Vec<String>,
    },
    /// A quantity.
    Number {
        /// The value.
        value: f64,
        /// The unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Several items.
    List {
        /// The items.
        items: Vec<String>,
        /// True if the order counts.
        #[serde(default)]
        ordered: bool,
    },
    /// Free text.
    Text {
        /// The text.
        value: String,
    },
    /// A final answer with the steps that led to it.
    Reasoning {
        /// The answer that counts.
        final_answer: Box<CanonicalAnswer>,
        /// The steps, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
    },
}
