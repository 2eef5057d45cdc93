//! The step `support`, and the `tools` of the step `inference`: what role adapters give a model to work with.
//!
//! ```yaml
//! - {step: support, adapter_id: retriever}      # a role of the type context_provider
//! - step: inference
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

/// One step `support`: a role finds something for the model to read. A task may have several.
#[derive(Clone, Debug)]
pub struct SupportStep {
    /// The role that is asked; where it is missing the only one of the type `context_provider`.
    pub adapter_id: Option<String>,
    /// Where the step, or its adapter, is written.
    pub span: Span,
}

/// Who answers the calls of tools that the model makes, and how long that may go on.
#[derive(Clone, Debug)]
pub struct ToolLoopSpec {
    /// The role that answers; where it is missing the only one of the type `tool_provider`.
    pub adapter_id: Option<String>,
    /// Most requests of the model for one sample; default 10.
    pub max_turns: u32,
    /// No further request once the model took so many tokens, of prompts and completions together.
    pub max_tokens: Option<u64>,
    /// Longest time for the requests and the tools of one sample together, without waits for a free slot.
    pub max_time: Option<Duration>,
    /// Where it is written.
    pub span: Span,
}

/// Requests of the model for one sample, where the suite does not say how many.
const DEFAULT_TURNS: u32 = 10;
/// Most seconds of `max_time`: a day.
const MAX_SECONDS: f64 = 86_400.0;

impl SupportStep {
    /// Reads the keys of the step behind `step`.
    pub(crate) fn read(table: &mut MappingReader<'_>, node: &Node, problems: &mut Problems) -> SupportStep {
        let adapter_id = table.text("adapter_id", problems);
        SupportStep { adapter_id, span: table.get("adapter_id").map_or(node.span, |node| node.span) }
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
                .help("leave it out for no bound of time");
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
