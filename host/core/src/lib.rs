//! The basic types of an evaluation and their rules: the [`Sample`], outputs of models and scorers, and
//! possible outcomes.
//!
//! No I/O except for checks of the machine, of this installation and of pinned files, and the opening of [files that
//! others may have written](foreign_file). No async, and nothing about how a run is executed. Every other crate of the workspace may depend
//! on this one; it depends on none of them.

mod answer;
mod bounded_text;
mod content;
mod digest;
mod escape;
mod field_path;
mod field_value;
mod fields;
mod file_fingerprint;
pub mod foreign_file;
mod free_resources;
mod installation;
mod json_decode;
mod json_encode;
mod json_view;
mod label;
mod lazy_json;
mod lazy_object;
mod long_integers;
mod oci_reference;
mod ordered_workers;
mod outcome;
mod output;
mod pinned_files;
mod quiet_panic;
mod rendered;
mod resource_shortage;
mod sample;
mod sample_forms;
mod sampling;
mod schema;
mod score;
mod scoring_batch;
mod shard;
mod suggest;
mod suite_sections;
mod threads;
mod variables;

pub use answer::CanonicalAnswer;
pub use bounded_text::{MAX_SHOWN_NAME_CHARS, name_list, shortened, shown_name};
pub use content::{ContentPart, MediaKind, Message, Role, text_of};
pub use digest::{Digest, canonical_json, json_depth};
pub use escape::{printable, printable_html, printable_line, system_message};
pub use field_path::{EvalContext, FieldPath, Root};
pub use field_value::{FieldValue, TypedValue};
pub use fields::{FieldError, kind_of};
pub use file_fingerprint::FileFingerprint;
pub use free_resources::{ensure_file_descriptors, ensure_threads};
pub use installation::{installation_folders, installation_folders_of};
pub use json_decode::depth::is_nested_deeper;
pub use json_decode::last_member;
pub use json_decode::values::{
    DEFAULT_MAX_JSON_VALUES, count_json_values, has_more_values, max_json_values, parse_json,
};
pub use json_view::{JsonView, OutputView, SampleView};
pub use label::{NONE_LABEL, OTHER_LABEL, label, number_label};
pub use lazy_json::LazyJson;
pub use lazy_object::LazyObject;
pub use long_integers::quote_long_integers;
pub use oci_reference::{OciReference, OciReferenceError};
pub use ordered_workers::OrderedWorkers;
pub use outcome::{Outcome, OutcomeCounts};
pub use output::{
    ContinuationScore, FinishReason, JUDGE_CLOCK, ModelOutput, RollingScore, TIMING_KEYS, Usage,
    split_trailing_space, word_count,
};
pub use pinned_files::{ChangedFile, FileUse, PinnedFile, PinnedFiles, SeenFile};
pub use quiet_panic::{panic_is_caught, without_panic};
pub use resource_shortage::{MachineResource, ResourceShortage, ShortageWatch};
pub use sample::{
    AnswerProblem, ChoiceOption, Choices, FewShotExample, Messages, OptionDisplay, RecordedSample, Reference,
    Sample, SandboxSpec, TaskType, add_derived,
};
pub use sample_forms::{ListedCard, ListedForm, ListedOutput, RecordedForm, RepeatedTexts};
pub use sampling::SamplingParams;
pub use schema::{SCHEMA_VERSION, sample_schema};
pub use score::{MetricResult, RESULT_SCHEMA_VERSION, ScoreCard, prompt_version};
pub use scoring_batch::{ROWS_PER_BATCH, batch_of, rows_of_batch};
pub use shard::{InvalidShard, MAX_SHARDS, Shard};
pub use suggest::{check_name, distance, nearest};
pub use suite_sections::ENTRY_IDS;
pub use threads::{spawn_scoped, spawn_thread};
pub use variables::{set_file_variables, variable};

/// A JSON object, in its original order.
pub type Object = serde_json::Map<String, serde_json::Value>;
