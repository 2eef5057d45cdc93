//! Names of the files in a run folder.

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
/// Within it, how the names of files begin that hold bytes found after the last line of a journal.
pub const SET_ASIDE_BEGIN: &str = "set-aside-";
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
