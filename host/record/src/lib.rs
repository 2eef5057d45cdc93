//! The run folder: the only interface between the code that runs an evaluation and the code that reports on
//! it. This crate does not depend on how a run is executed.
//!
//! - **The journal is the truth.** A sample counts as done when its record is in the
//!   [journal](JournalWriter), with a checksum, and on disk. Everything else is derived from it.
//! - **`samples.jsonl` and `summary.json` are reproducible.** Everything that varies from run to run is in
//!   `timings.json`, `events.jsonl`, the journal and the manifest.
//! - **One writer.** A [`RunFolder`] that was created or resumed holds a lock for its lifetime.
//! - **A file is whole or absent.** Files other than the journal and the events are written under a temporary
//!   name and renamed.

mod atomic_file;
mod clock;
mod differences;
mod error;
mod folder;
mod folder_guard;
pub mod format;
mod format_version;
mod identity;
mod journal;
mod journal_id;
mod lifecycle;
mod manifest;
mod media_folder;
mod missing_manifest;
mod reader;
mod record_view;
mod recorded_plugin;
mod repair;
mod run_files;
mod run_status;
mod sample_record;
mod sample_search;
mod samples;
mod shard_of_run;
mod sharded_run;
mod shards;
mod shards_folder;
mod temporary_file;
mod writer_lock;

pub use atomic_file::{AtomicFile, FileDigest};
pub use clock::{rfc3339, unix_milliseconds, unix_seconds};
pub use differences::{Difference, compare, differences, join_place};
pub use error::{FolderChange, RecordError};
pub use folder::RunFolder;
pub use format_version::{JournalVersion, ManifestVersion};
pub use identity::{
    BackendIdentity, ComponentIdentity, DatasetFile, DatasetIdentity, HostIdentity, IDENTITY_PARTS,
    PromptIdentity, RunIdentity, align_plugin_names, is_redacted, without_limits,
};
pub use journal::{
    AnswerEntry, AnswerReader, DamageKind, DamagedLine, DamagedSample, EndedSample, IndexedSample,
    JournalEntry, JournalIndex, JournalTail, JournalWriter, OpenedJournal, PartialRecords, QuarantinedTail,
    ReadJournal, SampleStage, Scores, ScoresEntry, Storage, TailEntry, TailRead, journal_digests,
};
pub use journal_id::JournalId;
pub use manifest::{GrantedPermissions, Manifest, ManifestIntegrity, TokenPrice};
pub use media_folder::MediaFolder;
pub use missing_manifest::MissingManifest;
pub use reader::{RunReader, SampleLines, TamperedPart};
pub use record_view::RecordView;
pub use recorded_plugin::{PluginSigner, RecordedPlugin};
pub use repair::{JournalRepair, RepairReport};
pub use run_files::{open_run_file, read_run_file};
pub use run_status::RunStatus;
pub use sample_record::{ErrorNote, SampleRecord, SampleTiming, Stage, StageTimes};
pub use samples::{SampleLine, SamplesWriter};
pub use shard_of_run::{MergedShard, ShardOfRun, ShardedTask};
pub use sharded_run::{
    MergeState, ShardRow, ShardState, ShardStatus, ShardTotals, ShardedRun, ShardedRunFollower,
};
pub use shards::{ShardFolder, claim_division, shard_folders, unmerged_runs};
pub use shards_folder::{has_shards, shards_folder};
pub use temporary_file::TemporaryFile;
