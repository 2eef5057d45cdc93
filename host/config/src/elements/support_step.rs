//! The step `support`, and the `tools` of the step `inference`: context and tools from role adapters.
//!
//! ```yaml
//! - {step: support, adapter_id: retriever}      # a role of the type context_provider
//! - step: inference
//! - {step: support, adapter_id: cleaner, sets_answer: true}   # a role of the type helper_model
//!   tools:                                      # the model's calls of tools are answered
//!     adapter_id: simulator                     # a role of the type tool_provider
//!     max_turns: 8
//!     max_tokens: 20000
//!     max_time: 120
//! ```

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use std::time::Duration;

/// A step `support`: a role finds context for the model, or works on its answer. A task may have several.
#[derive(Clone, Debug)]
pub struct SupportStep {
    /// The role that is asked; default the only one of the type `context_provider`.
    pub adapter_id: Option<String>,
    /// True if the step follows `inference`. The role then sees the answer.
    pub follows_inference: bool,
    /// True if the reply replaces the answer.
    pub sets_answer: bool,
    /// Span of the step, or of its adapter.
    pub span: Span,
}

/// Settings of tool calls: the role that answers them, and limits.
#[derive(Clone, Debug)]
pub struct ToolLoopSpec {
    /// The role that answers; default the only one of the type `tool_provider`.
    pub adapter_id: Option<String>,
    /// Maximum number of model requests per sample; default 10.
    pub max_turns: u32,
    /// Number of prompt and completion tokens after which no further request is sent.
    pub max_tokens: Option<u64>,
    /// Maximum total time of one sample's requests and tools, without waits for a free slot.
    pub max_time: Option<Duration>,
    /// Span of the key.
    pub span: Span,
}

/// The default of `max_turns`.
const DEFAULT_TURNS: u32 = 10;
/// Maximum of `max_time` in seconds: a day.
const MAX_SECONDS: f64 = 86_400.0;

impl SupportStep {
    /// Reads the keys next to `step`.
    pub(crate) fn read(
        table: &mut MappingReader<'_>,
        node: &Node,
        follows_inference: bool,
        problems: &mut Problems,
    ) -> SupportStep {
        let adapter_id = table.text("adapter_id", problems);
        let sets_answer = table.boolean("sets_answer", problems).unwrap_or(false);
        if sets_answer && !follows_inference {
            let message = "there is no answer yet: a step `support` with `sets_answer` follows `inference`";
            table.error("sets_answer", message, problems);
        }
        let span = table.get("adapter_id").map_or(node.span, |node| node.span);
        SupportStep { adapter_id, follows_inference, sets_answer, span }
    }
}

impl ToolLoopSpec {
    /// Reads the key `tools` of a step: a mapping, or the id of a role.
    pub(crate) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<ToolLoopSpec> {
        let path = table.path_of("tools");
        let node = table.get("tools")?;
        let usual = |adapter_id: Option<String>, span: Span| ToolLoopSpec {
            adapter_id,
            max_turns: DEFAULT_TURNS,
            max_tokens: None,
            max_time: None,
            span,
        };
        if let Some(adapter_id) = node.as_text() {
            return Some(usual(Some(adapter_id.to_owned()), node.span));
        }
        let mut inner = MappingReader::open(node, path, problems)?;
        let adapter_id = inner.text("adapter_id", problems);
        let span = inner.get("adapter_id").map_or(node.span, |node| node.span);
        let turns = inner.integer("max_turns", 1..=1_000, problems);
        let max_tokens = inner.integer("max_tokens", 1..=u64::MAX, problems);
        let max_time = inner.float("max_time", 0.0..=MAX_SECONDS, problems);
        if max_time == Some(0.0) {
            inner
                .error("max_time", "`max_time` must be above 0 seconds", problems)
                .help("leave it out for no time limit");
        }
        inner.finish(problems);
        let usual = usual(adapter_id, span);
        Some(ToolLoopSpec {
            max_turns: turns.and_then(|turns| u32::try_from(turns).ok()).unwrap_or(usual.max_turns),
            max_tokens,
            max_time: max_time.map(Duration::from_secs_f64),
            ..usual
        })
    }
}
