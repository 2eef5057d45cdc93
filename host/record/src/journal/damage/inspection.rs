//! Inspects a damaged journal: which lines stay, which are set aside, and how many are missing.

use super::super::index::AnswerTracker;
use super::super::line;
use super::super::segment_names::{is_sealed, sealed_path, segment_name, segment_number};
use super::super::segments::segment_paths;
use super::DamageKind;
use super::content::SegmentContent;
use super::segment_repair::SegmentRepair;
use super::segment_scan::SegmentScan;
use crate::JournalId;
use crate::{RecordError, RunFolder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of segments whose files are gone. More of them mean that a file of another journal is in the folder.
const MAX_MISSING_SEGMENTS: u64 = 1_000;

/// Result of inspecting a damaged journal.
#[derive(Debug, Default)]
pub(crate) struct JournalInspection {
    /// The segments to be rewritten, in order.
    pub(crate) segments: Vec<SegmentRepair>,
    /// Sealed files that no longer count when the segments are rewritten: they are damaged, or there is a whole file
    /// without compression.
    pub(crate) superseded: Vec<PathBuf>,
    /// Number of lines that the journal has afterwards, headers included.
    pub(crate) lines: u64,
    /// Number of lines that no file holds, headers included. The second number counts those of them that are missing from
    /// the ends of files.
    pub(crate) missing_lines: u64,
    pub(crate) missing_from_ends: u64,
    /// Names of the segments whose files are gone.
    pub(crate) missing_segments: Vec<String>,
}

/// Facts about a journal that its segments do not tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalFacts {
    /// The durable count, if it can be read.
    pub(crate) recorded: Option<u64>,
    /// Number of the last segment that the run is known to have had; 0 if that is unknown.
    pub(crate) last_segment: u64,
    /// Number of lines that an interrupted repair found missing from the ends of files. The lines that it moved are not
    /// among them, but the durable count still includes these.
    pub(crate) missing_before: Option<u64>,
}

/// Inspects the journal of a run.
///
/// # Errors
/// If a file belongs to no segment or has a newer format, or the file system refuses.
pub(crate) fn inspect(folder: &RunFolder, facts: JournalFacts) -> Result<JournalInspection, RecordError> {
    let JournalFacts { recorded, last_segment, missing_before } = facts;
    let sources = segment_sources(folder.path(), last_segment)?;
    let (mut written, mut missing) = (0, 0);
    for path in sources.iter().flatten() {
        let scan = SegmentScan::of(path, &SegmentContent::read(path)?, folder.journal_id())?;
        written += scan.written_lines();
        missing += scan.missing_lines();
    }
    let missing_from_ends = missing_before.unwrap_or(recorded.unwrap_or(0).saturating_sub(written));
    let missing_lines = missing + missing_from_ends;
    let mut inspector = Inspector {
        journal_id: folder.journal_id(),
        tracker: AnswerTracker::default(),
        // An interrupted repair has taken this into account, and segments that it wrote are not sealed.
        may_lack_ends: missing_before.is_none() && missing_from_ends > 0,
        inspection: JournalInspection { missing_lines, missing_from_ends, ..JournalInspection::default() },
    };
    for (source, number) in sources.into_iter().zip(1..) {
        match source {
            Some(path) => inspector.add(path, number)?,
            None => inspector.add_missing(number),
        }
    }
    Ok(inspector.inspection)
}

/// Returns the file of each segment, `None` if it is gone.
fn segment_sources(folder: &Path, last_segment: u64) -> Result<Vec<Option<PathBuf>>, RecordError> {
    let refuse = |path: &Path| RecordError::invalid(path, "it is not a part of this journal; move it away");
    let mut paths = BTreeMap::new();
    for path in segment_paths(folder)? {
        let number = segment_number(&path).ok_or_else(|| refuse(&path))?;
        paths.insert(number, path);
    }
    let last = paths.last_key_value().map_or(0, |(number, _)| *number).max(last_segment);
    if let Some((_, path)) = paths.last_key_value()
        && last - paths.len() as u64 > MAX_MISSING_SEGMENTS
    {
        return Err(refuse(path));
    }
    Ok((1..=last).map(|number| paths.remove(&number)).collect())
}

/// Inspects one segment after another.
struct Inspector {
    journal_id: JournalId,
    tracker: AnswerTracker,
    /// True if lines may be missing from the end of any segment that is not sealed.
    may_lack_ends: bool,
    inspection: JournalInspection,
}

impl Inspector {
    fn add_missing(&mut self, number: u64) {
        self.tracker.note_loss();
        self.inspection.missing_segments.push(segment_name(number));
        self.inspection.lines += 1;
        self.inspection.segments.push(SegmentRepair::of_missing(number));
    }

    fn add(&mut self, path: PathBuf, number: u64) -> Result<(), RecordError> {
        let content = SegmentContent::read(&path)?;
        let mut scan = SegmentScan::of(&path, &content, self.journal_id)?;
        let is_clean = scan.is_clean();
        let records = std::mem::take(&mut scan.records);
        let mut kept = Vec::with_capacity(records.len());
        let mut next = 2;
        for record in records {
            if record.number > next {
                self.tracker.note_loss();
            }
            next = record.number + 1;
            let bytes = content.bytes.get(record.range.clone()).unwrap_or_default();
            if self.tracker.add(line::unchecked_json(bytes)).unwrap_or(false) {
                kept.push(record.range);
            } else {
                scan.set_aside(record.line, record.range, DamageKind::OrphanedScores, &content.bytes);
            }
        }
        // A sealed segment without damage has its end.
        let lacks_end = scan.ends_damaged || (self.may_lack_ends && !is_sealed(&path));
        if lacks_end {
            self.tracker.note_loss();
        }
        let sealed = if is_sealed(&path) { path.clone() } else { sealed_path(&path) };
        if is_clean && scan.damaged.is_empty() {
            self.inspection.lines += scan.lines;
            // Sealing was interrupted, or a repair was.
            self.inspection.superseded.extend((sealed != path && sealed.exists()).then_some(sealed));
        } else {
            self.inspection.superseded.extend((sealed == path).then_some(sealed));
            self.inspection.lines += kept.len() as u64 + 1;
            self.inspection.segments.push(SegmentRepair::new(number, path, kept, scan.damaged));
        }
        Ok(())
    }
}
