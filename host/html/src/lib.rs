//! Writes runs as one self-contained HTML file: figures, plots, samples, and changes between runs.
//!
//! - **A file fetches nothing.** Styles and scripts are in the page. Its Content-Security-Policy allows them by digest,
//!   and forbids everything else. The page of a server may ask that server for notes.
//! - **Untrusted text is never markup.** All data is compressed and in Base64, and the page's script only sets text.
//! - **The page is a stream.** Texts are in blocks of some hundred samples, which are unpacked when one of them is
//!   opened, and so are excerpts when their rows are seen. Columns for lists and plots are interleaved with them. The writer's memory therefore does not grow with
//!   the number of samples.
//! - **The output is deterministic**: the same run produces the same bytes.
//! - **A page of a server need not have the samples.** It asks for blocks of the run's [page folder](PageFolder) instead.
//!
//! The parts of the page are in `src/assets`; the format of its blocks is in `docs/contributing/report-page.md`.

mod assets;
mod block;
mod columns;
mod error;
mod excerpts;
mod head;
mod metadata;
mod packed;
mod page;
mod page_folder;
mod template;
mod text;
mod write;

pub use assets::{Link, PageServer};
pub use error::HtmlError;
pub use page::{FORBIDDEN_IN_SCRIPTS, PageParts, RenderedPage, render};
pub use page_folder::{MIN_PAGED_SAMPLES, PageBlock, PageFolder, PageFolderWriter};
pub use template::render_template;
pub use write::{
    MAX_FILE_TEXTS, RequestsOf, WrittenPage, paged_html, report_policy, sample_json, write_html,
    write_html_file,
};

#[cfg(test)]
mod tests;
