//! A run as one HTML file that needs nothing else: figures, plots, samples, and what changed from run to
//! run.
//!
//! - **Nothing is fetched**: styles and scripts are in the page, and its Content-Security-Policy names them
//!   by their digests and forbids everything else.
//! - **No text of others is markup**: all data is compressed and in base64, and the script of the page only
//!   ever sets text.
//! - **The page is a stream.** Texts come in blocks of some hundred samples that a reader unpacks when one
//!   of them is opened; what lists and plots need comes in columns between them. So the
//!   memory of the writer does not grow with the number of samples.
//! - **The same run makes the same bytes.**
//!
//! The parts of the page lie in `src/assets`; the format of its blocks is in `docs/contributing/report-page.md`.

mod assets;
mod block;
mod columns;
mod error;
mod head;
mod page;
mod template;
mod text;
mod write;

pub use assets::Link;
pub use error::HtmlError;
pub use page::{FORBIDDEN_IN_SCRIPTS, PageParts, RenderedPage, render};
pub use template::render_template;
pub use write::{WrittenPage, report_policy, write_html, write_html_file};

#[cfg(test)]
mod tests;
