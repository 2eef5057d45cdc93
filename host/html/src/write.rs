//! Writes the page as a stream.

use super::assets::{PageFrame, PageServer};
use super::block;
use super::columns::Columns;
use super::error::HtmlError;
use super::excerpts::Excerpts;
use super::head::PageHead;
use super::text::{MediaEmbedder, TextLine};
use gage_compare::{Comparison, ContentBy};
use gage_core::Outcome;
use gage_figures::RecordedRun;
use gage_record::format::JOURNAL_FOLDER;
use gage_record::{RecordError, RecordView, SampleRecord, TemporaryFile};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Maximum number of samples in a text block, which is unpacked as a whole when one of them is opened.
const MAX_CHUNK_TEXTS: u32 = 256;
/// Maximum size of a text block in bytes before compression, unless a single sample is larger.
const MAX_CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of samples in a block of columns.
const MAX_CHUNK_ROWS: usize = 4_096;

/// Maximum number of samples of a run whose texts a file has. A page of more would hardly open.
pub const MAX_FILE_TEXTS: u64 = 20_000;

/// Maximum total size of the media of replies that a page embeds, in bytes.
const MAX_MEDIA_BYTES: usize = 32 << 20;

/// Returns the requests about a sample, as they were sent, for the run with this number. `None` if they are unknown.
/// Instead of requests, the list may have one object with `unrendered`: the reason why they are not shown.
pub type RequestsOf<'a> = dyn Fn(usize, &SampleRecord) -> Option<Value> + 'a;

/// Statistics of a written page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    /// Number of samples in all runs.
    pub samples: u64,
    /// Number of samples whose texts the page has.
    pub texts: u64,
    /// Size of the page in bytes.
    pub bytes: u64,
}

/// Writes the page of some runs to a file, which replaces the existing one once it is complete.
///
/// # Errors
/// Fails if a run cannot be read or the file cannot be written. An existing file then stays unchanged.
pub fn write_html_file(
    path: &Path,
    sources: &[RecordedRun],
    comparisons: &[Comparison],
    requests: &RequestsOf<'_>,
) -> Result<WrittenPage, HtmlError> {
    let failed = |source| HtmlError::Write { path: path.to_owned(), source };
    let write_to =
        |file: File| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            let written = write_html(&mut out, sources, comparisons, None, requests, MAX_FILE_TEXTS)
                .map_err(|error| match error {
                    HtmlError::Output(source) => failed(source),
                    other => other,
                })?;
            out.flush().map_err(failed)?;
            Ok(written)
        };
    // A device or a pipe is written to directly, not replaced.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return File::options().write(true).open(path).map_err(failed).and_then(write_to);
    }
    let (temporary, file) = TemporaryFile::create(path).map_err(failed)?;
    let written = write_to(file)?;
    temporary.put_in_place().map_err(failed)?;
    Ok(written)
}

/// Returns the Content-Security-Policy of any report of a server, which sends it as a header.
///
/// # Errors
/// Fails if the template cannot be rendered.
pub fn report_policy() -> Result<String, HtmlError> {
    Ok(PageFrame::new("", Some(&PageServer { links: &[], token: "" }))?.policy)
}

/// Writes the page of some runs. Each of `comparisons` compares the first run with a further one. If a run has more than
/// `max_texts` samples, the page has the texts of every second one, or of every third, and so on, and of up to `max_texts`
/// further ones that failed. Without a server and with [`MAX_FILE_TEXTS`], the output is that of [`write_html_file`].
///
/// # Errors
/// Fails if a run cannot be read, or the output cannot be written.
pub fn write_html<W: Write>(
    out: &mut W,
    sources: &[RecordedRun],
    comparisons: &[Comparison],
    server: Option<&PageServer<'_>>,
    requests: &RequestsOf<'_>,
    max_texts: u64,
) -> Result<WrittenPage, HtmlError> {
    let mut out = CountingWriter { out, bytes: 0 };
    let head_of_page = PageHead::new(sources, comparisons)?;
    let ids = head_of_page.names();
    let frame = PageFrame::new(&ids.join(" · "), server)?;
    out.write_all(frame.before_data.as_bytes())?;
    write_json(&mut out, "head", &head_of_page)?;
    if let Some(server) = server {
        write_json(&mut out, "server", server)?;
    }
    let content = (sources.len() > 1).then(|| ContentBy::of_runs(sources));
    let mut page = WrittenPage { samples: 0, texts: 0, bytes: 0 };
    for (number, source) in sources.iter().enumerate() {
        let every = source.recorded_samples().div_ceil(max_texts.max(1)).max(1);
        let run = RunContent { number, source, content, requests, every, max_failed: max_texts };
        run.write(&mut out, &mut page)?;
    }
    // Without it, the reader sees that the page is incomplete.
    write_json(&mut out, "end", &json!({"samples": page.samples}))?;
    out.write_all(frame.after_data.as_bytes())?;
    Ok(WrittenPage { bytes: out.bytes, ..page })
}

/// Returns the page of one run without its samples. Its script asks the server for the blocks of the run's page folder.
///
/// # Errors
/// If the page cannot be rendered.
pub fn paged_html(source: &RecordedRun, server: &PageServer<'_>) -> Result<Vec<u8>, HtmlError> {
    let head_of_page = PageHead::new(std::slice::from_ref(source), &[])?;
    let frame = PageFrame::new(&head_of_page.names().join(" · "), Some(server))?;
    let mut out = frame.before_data.into_bytes();
    // The script knows it as soon as it has the head.
    write_json(&mut out, "paged", &true)?;
    write_json(&mut out, "head", &head_of_page)?;
    write_json(&mut out, "server", server)?;
    write_json(&mut out, "end", &json!({"samples": 0}))?;
    out.extend_from_slice(frame.after_data.as_bytes());
    Ok(out)
}

/// The samples of a run.
struct RunContent<'r> {
    /// Index of the run in the page.
    number: usize,
    source: &'r RecordedRun,
    content: Option<ContentBy>,
    requests: &'r RequestsOf<'r>,
    /// Of every so many samples, the first has its texts in the page.
    every: u64,
    /// Maximum number of failed samples whose texts are in the page as well.
    max_failed: u64,
}

impl RunContent<'_> {
    /// Writes the samples, alternating texts and columns, and counts them.
    fn write<W: Write>(
        &self,
        out: &mut CountingWriter<'_, W>,
        page: &mut WrittenPage,
    ) -> Result<(), HtmlError> {
        let RunContent { number, source, content, requests, every, max_failed } = *self;
        let mut failed = 0;
        let mut records = source.records_so_far()?.zip(0_u64..).peekable();
        let (mut columns, mut excerpts) = (Columns::new(number, every), Excerpts::default());
        let mut media = MediaEmbedder::new(source.folder(), MAX_MEDIA_BYTES);
        let mut line = Vec::new();
        while records.peek().is_some() {
            let mut texts = block::begin(out, "texts")?;
            let (mut count, mut bytes) = (0, 0);
            while count < MAX_CHUNK_TEXTS && bytes < MAX_CHUNK_BYTES && columns.len() < MAX_CHUNK_ROWS {
                let Some((read, place)) = records.next() else { break };
                let (record, stage) = read?;
                let is_chosen = place.is_multiple_of(every);
                let is_failed = !is_chosen && failed < max_failed && record.outcome != Outcome::Scored;
                if is_failed {
                    failed += 1;
                    columns.expect_texts();
                }
                if is_chosen || is_failed {
                    line.clear();
                    let text = TextLine::new(&record, requests(number, &record), media.media_of(&record));
                    serde_json::to_writer(&mut line, &text).map_err(|error| {
                        let journal = Path::new(source.folder()).join(JOURNAL_FOLDER);
                        RecordError::damaged_sample(&journal, &record.task_id, &record.sample_id, &error)
                    })?;
                    line.push(b'\n');
                    texts.write_all(&line)?;
                    count += 1;
                    bytes += line.len();
                }
                let view = RecordView::from(&record);
                columns.add(&view, stage, content.map(|by| by.of(&record)));
                excerpts.add(&view);
                page.samples += 1;
            }
            block::end(texts)?;
            columns.end_texts(count);
            page.texts += u64::from(count);
            if columns.len() >= MAX_CHUNK_ROWS {
                write_rows(out, &columns, &excerpts)?;
                (columns, excerpts) = (Columns::new(number, every), Excerpts::default());
            }
        }
        if columns.len() > 0 {
            write_rows(out, &columns, &excerpts)?;
        }
        Ok(())
    }
}

/// Writes the columns of some samples, and the excerpts of the same samples.
fn write_rows<W: Write>(out: &mut W, columns: &Columns, excerpts: &Excerpts) -> Result<(), HtmlError> {
    write_json(out, "columns", columns)?;
    write_json(out, "excerpts", excerpts)
}

/// Writes a block that holds one JSON value.
fn write_json<W: Write>(out: &mut W, kind: &str, value: &impl Serialize) -> Result<(), HtmlError> {
    let mut writer = block::begin(out, kind)?;
    serde_json::to_writer(&mut writer, value).map_err(of_json)?;
    Ok(block::end(writer)?)
}

/// Returns everything that a page shows of a sample, as JSON: a line of a text block.
///
/// # Errors
/// Fails if the record cannot be written as JSON.
pub fn sample_json(
    run: &RecordedRun,
    record: &SampleRecord,
    requests: Option<Value>,
) -> Result<String, HtmlError> {
    let media = MediaEmbedder::new(run.folder(), MAX_MEDIA_BYTES).media_of(record);
    Ok(serde_json::to_string(&TextLine::new(record, requests, media))?)
}

/// Separates output errors from JSON errors.
fn of_json(error: serde_json::Error) -> HtmlError {
    if error.is_io() { HtmlError::Output(error.into()) } else { HtmlError::Json(error) }
}

struct CountingWriter<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.out.write(bytes)?;
        self.bytes += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
