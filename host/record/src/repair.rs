//! Repairs a damaged journal, so that its run can be read and resumed again.
//!
//! Damaged lines are moved to `journal/damaged`, and the good ones stay in their order. Samples that have no record any
//! more are asked again when the run is resumed. So the manifest of a repaired run says that the run is in progress.
//!
//! # Order of the steps
//!
//! A process may be killed after any step. The journal is then refused as before, and the next repair continues, or it
//! is already whole.
//!
//! 1. The list of the damaged lines is written. The next repair needs it: lines that are already moved are no longer in
//!    their segments.
//! 2. The manifest is reopened, before the first segment differs from its digest. No figure of the earlier end counts
//!    from here on.
//! 3. The segments are rewritten, the last one first. Scores in a later segment may belong to an answer that was lost in
//!    an earlier one. Only the damage there shows that, so it stays until the later segments are done. Each segment is
//!    replaced by one rename, after its damaged bytes are durable elsewhere. Damaged sealed files are removed at the end,
//!    because readers prefer the file without compression.
//! 4. The durable count is written last. It is the only sign that lines are missing from the end. With the old count,
//!    which is larger, the journal is still refused.
//! 5. The list gets its final name.

mod report;

pub use report::RepairReport;

use crate::atomic_file::sync_folder;
use crate::format::{DAMAGED_FOLDER, JOURNAL_FOLDER, MANIFEST_FILE, MAX_JSON_VALUES};
use crate::journal::{
    DurableCount, JournalFacts, JournalInspection, SegmentRepair, durable_lines, inspect, segment_number,
};
use crate::lifecycle::pinned_segments;
use crate::{AtomicFile, JournalIndex, Manifest, RecordError, RunFolder, RunStatus};
use gage_core::foreign_file::{self, FileLimit};
use std::collections::VecDeque;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Name of the list of damaged lines until the repair has ended.
const UNFINISHED_LIST: &str = "unfinished.json";

/// Maximum size of that list.
const MAX_LIST_SIZE: FileLimit = FileLimit::new("a list of damaged lines", 256 << 20);

/// A repair of a run's journal. It holds the writer's lock of the run.
#[derive(Debug)]
pub struct JournalRepair {
    folder: RunFolder,
    manifest: Manifest,
    segments: Vec<SegmentRepair>,
    /// Sealed files that are removed after their segments are rewritten.
    superseded: Vec<PathBuf>,
    /// Number of lines of the repaired journal.
    lines: u64,
    report: RepairReport,
    /// Name of this repair in the folder of damaged lines.
    name: String,
    steps: VecDeque<RepairStep>,
}

/// A step after which the process may be killed. Segments are given by their places in the list.
#[derive(Clone, Copy, Debug)]
enum RepairStep {
    WriteList,
    ReopenManifest,
    SetAside(usize),
    Rewrite(usize),
    RemoveSuperseded,
    WriteCount,
    FinishList,
}

impl JournalRepair {
    /// Repairs the journal of the run in a folder. If nothing is damaged, nothing is changed.
    ///
    /// # Errors
    /// If it is not a run folder, or a process is writing to it. If the manifest is damaged, or the run only holds
    /// answers of another run. If the journal has a newer format, or the file system refuses.
    pub fn run(path: &Path) -> Result<RepairReport, RecordError> {
        let (folder, manifest) = RunFolder::open_for_repair(path)?;
        if let Some(lines) = lines_if_intact(&folder, &manifest)? {
            // The process of an earlier repair may have been killed before its last step.
            finish_list(&folder.damaged_folder())?;
            return Ok(RepairReport::of_intact(folder.run_id(), lines));
        }
        let mut repair = JournalRepair::plan(folder, manifest)?;
        while repair.take_step()? {}
        Ok(repair.report)
    }

    /// Inspects a damaged journal, and plans the steps. Nothing of the run is changed.
    fn plan(folder: RunFolder, manifest: Manifest) -> Result<JournalRepair, RecordError> {
        if let Some(parent) = &manifest.parent_run {
            let (how, option) =
                if manifest.is_rejudged { ("judged", " --judge all") } else { ("scored", "") };
            let reason = format!(
                "it holds answers of the run '{parent}', {how} again, and such a run is not repaired; delete {}, then run \
                 `gage-host score {parent}{option} --run-id {}`",
                folder.path().display(),
                folder.run_id()
            );
            return Err(RecordError::invalid(&folder.path_of(MANIFEST_FILE), reason));
        }
        folder.check_foreign_segments(&manifest)?;
        let recorded = match durable_lines(&folder) {
            Ok(lines) => Some(lines),
            Err(RecordError::Invalid { .. } | RecordError::ForeignJournal { .. }) => None,
            Err(error) => return Err(error),
        };
        let numbers = pinned_segments(&manifest).filter_map(|(name, _)| segment_number(Path::new(name)));
        let last_segment = numbers.max().unwrap_or(0);
        let damaged = folder.damaged_folder();
        let earlier = unfinished_report(&damaged)?;
        let missing_before = earlier.as_ref().map(|earlier| earlier.missing_from_ends);
        let inspection = inspect(&folder, JournalFacts { recorded, last_segment, missing_before })?;
        let report = RepairReport {
            run_id: folder.run_id().to_owned(),
            is_damaged: true,
            kept_lines: inspection.lines,
            damaged_lines: inspection
                .segments
                .iter()
                .flat_map(SegmentRepair::damaged_lines)
                .cloned()
                .collect(),
            missing_lines: inspection.missing_lines,
            missing_from_ends: inspection.missing_from_ends,
            changed_files: changed_files(&folder, &manifest, &inspection.segments)?,
            missing_segments: inspection.missing_segments.clone(),
            is_count_lost: recorded.is_none(),
        };
        let report = match earlier {
            Some(earlier) if earlier.is_continued_by(&report) => report.after(earlier),
            Some(_) => {
                // There is new damage. It gets files of its own.
                finish_list(&damaged)?;
                report
            }
            None => report,
        };
        let JournalInspection { segments, superseded, lines, .. } = inspection;
        let (steps, name) = (steps(segments.len()), next_name(&damaged));
        Ok(JournalRepair { folder, manifest, segments, superseded, lines, report, name, steps })
    }

    /// Takes the next step. Returns false if there is none.
    fn take_step(&mut self) -> Result<bool, RecordError> {
        let Some(step) = self.steps.pop_front() else { return Ok(false) };
        let damaged = self.folder.damaged_folder();
        match step {
            RepairStep::WriteList => self.write_list(&damaged)?,
            RepairStep::ReopenManifest if self.manifest.status == RunStatus::Running => {}
            RepairStep::ReopenManifest => {
                self.manifest.reopen();
                self.manifest.write(&self.folder)?;
            }
            RepairStep::SetAside(place) => self.segments[place].set_aside(&damaged, &self.name)?,
            RepairStep::Rewrite(place) => self.segments[place].rewrite(&self.folder)?,
            RepairStep::RemoveSuperseded => self.remove_superseded()?,
            RepairStep::WriteCount => {
                DurableCount::begin(self.folder.path(), self.folder.journal_id(), self.lines)?;
            }
            RepairStep::FinishList => finish_list(&damaged)?,
        }
        Ok(true)
    }

    /// Removes sealed files that no longer count. Readers ignore them since the files without compression are in place.
    fn remove_superseded(&self) -> Result<(), RecordError> {
        for sealed in &self.superseded {
            match fs::remove_file(sealed) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(RecordError::io("delete", sealed, error));
                }
                _ => {}
            }
        }
        sync_folder(&self.folder.path_of(JOURNAL_FOLDER))
    }

    /// Writes the list of the damaged lines.
    fn write_list(&self, damaged: &Path) -> Result<(), RecordError> {
        fs::create_dir_all(damaged).map_err(|source| RecordError::io("create", damaged, source))?;
        sync_folder(&self.folder.path_of(JOURNAL_FOLDER))?;
        let mut file = AtomicFile::create(damaged, UNFINISHED_LIST)?;
        let mut text = serde_json::to_vec_pretty(&self.report)
            .map_err(|error| RecordError::invalid(file.path(), error.to_string()))?;
        text.push(b'\n');
        file.write_all(&text).map_err(|source| RecordError::io("write", file.path(), source))?;
        file.commit().map(|_| ())
    }
}

impl RunFolder {
    fn damaged_folder(&self) -> PathBuf {
        self.path_of(JOURNAL_FOLDER).join(DAMAGED_FOLDER)
    }
}

/// Returns the steps of a repair that rewrites this number of segments.
fn steps(segments: usize) -> VecDeque<RepairStep> {
    let mut steps = VecDeque::from([RepairStep::WriteList, RepairStep::ReopenManifest]);
    for place in (0..segments).rev() {
        steps.extend([RepairStep::SetAside(place), RepairStep::Rewrite(place)]);
    }
    steps.extend([RepairStep::RemoveSuperseded, RepairStep::WriteCount, RepairStep::FinishList]);
    steps
}

/// Returns the number of lines of a journal that can be read and resumed, or `None` if it is damaged.
fn lines_if_intact(folder: &RunFolder, manifest: &Manifest) -> Result<Option<u64>, RecordError> {
    match folder.check_journal(manifest).and_then(|()| JournalIndex::read(folder)) {
        Ok(_) => JournalIndex::read_lines(folder).map(|(_, lines)| Some(lines)),
        Err(
            RecordError::Invalid { .. }
            | RecordError::DamagedJournal { .. }
            | RecordError::ForeignJournal { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the journal files that differ from what the ended run wrote, although none of their lines is damaged.
fn changed_files(
    folder: &RunFolder,
    manifest: &Manifest,
    repaired: &[SegmentRepair],
) -> Result<Vec<String>, RecordError> {
    let mut changed = Vec::new();
    for (name, written) in pinned_segments(manifest) {
        let is_repaired = repaired.iter().any(|segment| segment.is_of(name));
        if !is_repaired && folder.size_of(name)?.is_some() && !folder.has_digest(name, written)? {
            changed.push(name.clone());
        }
    }
    Ok(changed)
}

/// Returns the report of a repair that was interrupted. A damaged report is no obstacle: only what it lists is not
/// reported again.
fn unfinished_report(damaged: &Path) -> Result<Option<RepairReport>, RecordError> {
    let path = damaged.join(UNFINISHED_LIST);
    match foreign_file::read_below(damaged, UNFINISHED_LIST, MAX_LIST_SIZE) {
        Ok(text) => Ok(gage_core::parse_json(&text, MAX_JSON_VALUES).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::io("read", &path, error)),
    }
}

/// Returns the name of the next repair: `repair-1`.
fn next_name(damaged: &Path) -> String {
    let mut number = 1_u64;
    while damaged.join(format!("repair-{number}.json")).exists() {
        number += 1;
    }
    format!("repair-{number}")
}

/// Gives the list of damaged lines its final name, if there is one that is unfinished.
fn finish_list(damaged: &Path) -> Result<(), RecordError> {
    let list = damaged.join(UNFINISHED_LIST);
    let target = damaged.join(format!("{}.json", next_name(damaged)));
    match fs::rename(&list, &target) {
        Ok(()) => sync_folder(damaged),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(RecordError::io("put in place", &target, error)),
    }
}

#[cfg(test)]
mod tests;
