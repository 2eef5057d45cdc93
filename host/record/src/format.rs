//! Names and versions of the files in a run folder.
//!
//! A version grows only when an older reader would misunderstand the file; a new key that an
//! older reader may ignore does not change it.
//!
//! | format | version | change |
//! | --- | --- | --- |
//! | manifest | 1 | first |
//! | manifest | 2 | ends with the digest of all else in it, always |
//! | journal | 1 | first |
//! | journal | 2 | answers and their scores are lines of their own |
//! | journal | 3 | checksums of records begin with that of the run's id |
//! | journal | 4 | an answer may await its judges |
//! | journal | 5 | each line says its number in its file; `recorded` says how many lines there are at least |

/// Version of `manifest.json`.
pub const MANIFEST_VERSION: u32 = 2;
/// Version of the files in `journal/`.
pub const JOURNAL_VERSION: u32 = 5;

/// What the run is, its state, and digests of the other files.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The expanded configuration, secrets replaced by their names.
pub const CONFIG_FILE: &str = "config.yaml";
/// What the run was made from.
pub const LOCK_FILE: &str = "gage.lock";
/// The folder of checksummed records.
pub const JOURNAL_FOLDER: &str = "journal";
/// Within it: how many lines its files have at least.
pub const RECORDED_FILE: &str = "recorded";
/// Within it, how the names of files begin that hold what stood behind the end of a journal and is none of its lines.
pub const SET_ASIDE_BEGIN: &str = "set-aside-";
/// The first version of the journal that has such a file, and whose lines say their number.
pub(crate) const FIRST_WITH_RECORDED: u32 = 5;
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
/// A report, which is made of a run that has ended.
pub const REPORT_FILE: &str = "report.html";
/// The folder of what is exported from a run that has ended.
pub const EXPORTS_FOLDER: &str = "exports";

/// Held by the one process that writes; empty.
pub const WRITER_LOCK_FILE: &str = ".lock";
/// What the first line of a journal file calls itself.
pub(crate) const JOURNAL_FORMAT: &str = "gage-journal";
