//! Damage to a journal: the lines that it has hit, and the segments without them.

mod content;
mod inspection;
mod segment_repair;
mod segment_scan;

pub(crate) use inspection::{JournalFacts, JournalInspection, inspect};
pub(crate) use segment_repair::SegmentRepair;

use serde::{Deserialize, Serialize};

/// A part of a journal file that a repair sets aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedLine {
    /// Name of the journal file.
    pub segment: String,
    /// Number of the line in that file, counted from 1. For bytes that hold no lines, it is the number of the next line.
    pub line: u64,
    /// Offset of its first byte in that file. For a line of a sealed file, it is the offset in the lines of its intact
    /// frames.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Offset of its first byte in the file to which it is moved.
    pub position: u64,
    /// The problem.
    pub kind: DamageKind,
    /// The sample that the line names, if that can still be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<DamagedSample>,
}

/// A sample, as a damaged line names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DamagedSample {
    /// Task id.
    pub task_id: String,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: String,
}

/// Kind of damage to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// The checksum does not match: the line was changed, or belongs to another journal.
    Checksum,
    /// Zeros are in place of some bytes: they never reached the disk.
    Zeros,
    /// The end of the line is missing.
    Unterminated,
    /// The line is whole and is not a record.
    NotARecord,
    /// The line is a header, of another journal or in the wrong place.
    Header,
    /// Another line of the file has the same number.
    Duplicate,
    /// Bytes of a sealed file are not an intact frame.
    Frame,
    /// The table at the end of a sealed file is damaged. No line is lost.
    FrameTable,
    /// The line is whole and holds scores, but their answer is lost, or may be lost.
    OrphanedScores,
}

impl DamageKind {
    /// Returns the problem as text.
    pub fn text(self) -> &'static str {
        match self {
            DamageKind::Checksum => "the checksum does not match",
            DamageKind::Zeros => "zeros are in place of bytes",
            DamageKind::Unterminated => "the end is missing",
            DamageKind::NotARecord => "not a record",
            DamageKind::Header => "not the header of this journal",
            DamageKind::Duplicate => "the number occurs twice",
            DamageKind::Frame => "the compressed bytes are damaged",
            DamageKind::FrameTable => "the table of compressed frames is damaged, and no line is lost",
            DamageKind::OrphanedScores => {
                "scores whose answer is lost or may be lost; they are computed again"
            }
        }
    }
}
