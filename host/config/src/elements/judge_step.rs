//! The step `judge`: other models score an answer.
//!
//! ```yaml
//! - step: judge
//!   adapter_id: judge        # a role of the type judge_model
//!   judge: verdict           # what renders the prompt and reads the reply
//! - step: judge
//!   judges:                  # several
//!     - {judge_id: first, adapter_id: a, judge: verdict}
//!     - {judge_id: second, adapter_id: b, judge: {rubric: {points: […]}}}
//!   combine: vote
//! ```

use crate::elements::check_unique;
use crate::elements::plugin_call::PluginCall;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use strum::{IntoStaticStr, VariantArray};

/// Method that combines the scores of several judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ScoreCombination {
    /// The mean of the scores; the default.
    Mean,
    /// The majority side: a score of 0.5 or more is for the answer; a tie is 0.5.
    Vote,
}

/// The step `judge`.
#[derive(Clone, Debug)]
pub struct JudgeStep {
    /// The judges. Each one scores every answer.
    pub judges: Vec<JudgeSpec>,
    /// Method that combines their scores.
    pub combine: ScoreCombination,
    /// Maximum number of attempts to get a readable reply from a judge; default 3.
    pub attempts: u32,
    /// True if judges see the images, sounds and other media of the Sample; default true.
    pub sends_media: bool,
    /// Span of the step.
    pub span: Span,
}

/// A judge.
#[derive(Clone, Debug)]
pub struct JudgeSpec {
    /// The name in results; default: that of its role.
    pub judge_id: Option<String>,
    /// The role; default the only one of the type `judge_model`.
    pub adapter_id: Option<String>,
    /// The plugin that reads the reply, and renders the prompt if the role has none; default `verdict`.
    pub judge: PluginCall,
    /// Span of the entry.
    pub span: Span,
}

/// The default plugin that reads replies.
const DEFAULT_JUDGE: &str = "verdict";
const DEFAULT_ATTEMPTS: u32 = 3;
impl JudgeStep {
    /// Reads the keys next to `step`.
    pub(crate) fn read(table: &mut MappingReader<'_>, node: &Node, problems: &mut Problems) -> JudgeStep {
        let several = table.list("judges", problems);
        if table.get("judges").is_some() && several.is_empty() {
            table.error("judges", "the list of judges is empty", problems);
        }
        let judges: Vec<JudgeSpec> = match several.is_empty() {
            true => vec![JudgeSpec::read_keys(table, node, problems)],
            false => several
                .into_iter()
                .filter_map(|(node, path)| {
                    let mut table = MappingReader::open(node, path, problems)?;
                    let judge = JudgeSpec::read_keys(&mut table, node, problems);
                    table.finish(problems);
                    Some(judge)
                })
                .collect(),
        };
        let named = judges.iter().filter_map(|judge| {
            Some((judge.judge_id.as_deref().or(judge.adapter_id.as_deref())?, judge.span))
        });
        check_unique("judge_id", named, problems);
        let attempts = table.number("attempts", 1..=10, problems);
        JudgeStep {
            judges,
            combine: table.variant("combine", problems).unwrap_or(ScoreCombination::Mean),
            attempts: attempts.unwrap_or(DEFAULT_ATTEMPTS),
            sends_media: table.boolean("media", problems).unwrap_or(true),
            span: node.span,
        }
    }
}

impl JudgeSpec {
    fn read_keys(table: &mut MappingReader<'_>, node: &Node, problems: &mut Problems) -> JudgeSpec {
        let judge_id = table.text("judge_id", problems);
        if let Some(Err(message)) = judge_id.as_deref().map(gage_core::check_name) {
            table.error("judge_id", message, problems);
        }
        let adapter_id = table.text("adapter_id", problems);
        let path = table.path_of("judge");
        let judge = table.get("judge").and_then(|node| PluginCall::read(node, &path, "judge", problems));
        JudgeSpec {
            judge_id,
            adapter_id,
            judge: judge.unwrap_or_else(|| PluginCall::plain(DEFAULT_JUDGE, node.span)),
            span: node.span,
        }
    }
}
