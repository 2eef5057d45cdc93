//! Names of the files in a run folder, and the limits of their JSON.

/// Description of the run, its state, and digests of the other files.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The expanded configuration, with secrets replaced by their names.
pub const CONFIG_FILE: &str = "config.yaml";
/// Versions and digests of everything that the run was made from.
pub const LOCK_FILE: &str = "gage.lock";
/// The folder of checksummed records.
pub const JOURNAL_FOLDER: &str = "journal";
/// In the journal folder: a lower bound of the number of lines in its files.
pub const RECORDED_FILE: &str = "recorded";
/// That file, as its path in the run folder.
pub const RECORDED_PATH: &str = "journal/recorded";
/// In the journal folder: prefix of the names of files that hold bytes found after a journal's last line.
pub const SET_ASIDE_BEGIN: &str = "set-aside-";
/// In the journal folder: folder of the damaged lines that repairs have set aside.
pub const DAMAGED_FOLDER: &str = "damaged";
/// One line per sample, in dataset order.
pub const SAMPLES_FILE: &str = "samples.jsonl";
/// The figures.
pub const SUMMARY_FILE: &str = "summary.json";
/// Bootstrap replicates of figures that components compute, if there are any.
pub const RESAMPLES_FILE: &str = "resamples.json";
/// Everything that varies from run to run.
pub const TIMINGS_FILE: &str = "timings.json";
/// Events in chronological order.
pub const EVENTS_FILE: &str = "events.jsonl";
/// Events that could not be delivered to a server.
pub const UNSENT_EVENTS_FILE: &str = "events-unsent.jsonl";
/// Report on a finished run.
pub const REPORT_FILE: &str = "report.html";
/// Notes and labels that people give to the samples of a run, in `gage-host view`.
pub const NOTES_FILE: &str = "notes.jsonl";
/// Folder with the blocks of a page of many samples, which can be made again at any time.
pub const PAGE_FOLDER: &str = "page";
/// Folder for media of replies, each named after the digest of its content.
pub const MEDIA_FOLDER: &str = "media";
/// Folder of the shards of a run, each of which is a run folder. The run itself appears when they are merged.
pub const SHARDS_FOLDER: &str = "shards";
/// Folder for exports of a finished run.
pub const EXPORTS_FOLDER: &str = "exports";

/// Maximum number of values in a JSON file of a run folder, in a line of its journal, and in a line of its samples. Their
/// tree takes at most 640 MB.
pub const MAX_JSON_VALUES: usize = 1 << 21;

/// Format name in the first line of a journal file.
pub(crate) const JOURNAL_FORMAT: &str = "gage-journal";
