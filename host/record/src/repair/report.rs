//! The result of a repair, which is also the list of what it has set aside.

use crate::DamagedLine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Result of repairing a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairReport {
    /// The run's id.
    pub run_id: String,
    /// False if nothing was damaged, and so nothing was changed.
    pub is_damaged: bool,
    /// Number of lines that the journal has now, with the headers of its files.
    pub kept_lines: u64,
    /// Parts of the journal that were set aside.
    pub damaged_lines: Vec<DamagedLine>,
    /// Minimum number of lines that are in no file.
    pub missing_lines: u64,
    /// Number of these that followed the last good line of a file, or were in a file that is gone.
    pub missing_from_ends: u64,
    /// Names of the journal files that are gone.
    pub missing_segments: Vec<String>,
    /// Names of the journal files that differ from what the run wrote before it ended, but have no damaged line.
    pub changed_files: Vec<String>,
    /// True if the durable count could not be read, so that lines may be missing from the end.
    pub is_count_lost: bool,
}

impl RepairReport {
    pub(super) fn of_intact(run_id: &str, lines: u64) -> RepairReport {
        RepairReport { run_id: run_id.to_owned(), kept_lines: lines, ..RepairReport::default() }
    }

    /// Returns whether another repair continues this one, which was interrupted: it finds nothing new.
    pub(super) fn is_continued_by(&self, next: &RepairReport) -> bool {
        let left: BTreeSet<&str> = next.damaged_lines.iter().map(segment_stem).collect();
        let known = self.damaged_lines.iter().filter(|line| left.contains(segment_stem(line)));
        known.eq(&next.damaged_lines)
    }

    /// Adds what an earlier repair has found that was interrupted. Its segments that are already rewritten have no
    /// damage any more, and lack the lines that were moved.
    pub(super) fn after(self, earlier: RepairReport) -> RepairReport {
        let again: BTreeSet<&str> = self.damaged_lines.iter().map(segment_stem).collect();
        let before = earlier.damaged_lines.iter().filter(|line| !again.contains(segment_stem(line)));
        let mut damaged_lines: Vec<DamagedLine> = before.chain(&self.damaged_lines).cloned().collect();
        damaged_lines
            .sort_by(|one, other| segment_stem(one).cmp(segment_stem(other)).then(one.line.cmp(&other.line)));
        RepairReport { kept_lines: self.kept_lines, damaged_lines, ..earlier }
    }
}

/// The name of a journal file up to its first dot, which does not depend on whether it is sealed.
fn segment_stem(line: &DamagedLine) -> &str {
    line.segment.split('.').next().unwrap_or_default()
}
