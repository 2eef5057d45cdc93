//! Names and versions of the files in a run folder.
//!
//! A version grows only when an older reader would misunderstand the file; a new key that an
//! older reader may ignore does not change it.
//!
//! | format | version | change |
//! | --- | --- | --- |
//! | manifest | 1 | first |
//! | journal | 1 | first |
//! | journal | 2 | answers and their scores are lines of their own |
//! | journal | 3 | checksums of records begin with that of the run's id |

/// Version of `manifest.json`.
pub const MANIFEST_VERSION: u32 = 1;
/// Version of the files in `journal/`.
pub const JOURNAL_VERSION: u32 = 3;

/// What the run is, its state, and digests of the files that never vary.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The expanded configuration, secrets replaced by their names.
pub const CONFIG_FILE: &str = "config.yaml";
/// What the run was made from.
pub const LOCK_FILE: &str = "gage.lock";
/// The folder of checksummed records.
pub const JOURNAL_FOLDER: &str = "journal";
/// One line a sample, in dataset order.
pub const SAMPLES_FILE: &str = "samples.jsonl";
/// The figures.
pub const SUMMARY_FILE: &str = "summary.json";
/// Everything that varies from run to run.
pub const TIMINGS_FILE: &str = "timings.json";
/// What happened, in order of time.
pub const EVENTS_FILE: &str = "events.jsonl";
/// Events that a server was to get and did not.
pub const UNSENT_EVENTS_FILE: &str = "events-unsent.jsonl";

/// Held by the one process that writes; empty.
pub(crate) const WRITER_LOCK_FILE: &str = ".lock";
/// What the first line of a journal file calls itself.
pub(crate) const JOURNAL_FORMAT: &str = "gage-journal";
