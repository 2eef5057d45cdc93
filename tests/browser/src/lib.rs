//! A headless Chromium that tests and measurements drive: opens pages, presses keys, asks scripts, takes
//! pictures. It speaks the browser's DevTools protocol through pipes, so no port is opened; the browser has a
//! folder of its own, and ends with the [`Browser`].
//!
//! Where no Chromium is installed there is no browser, and tests say so loudly and are skipped: see
//! [`Browser::start_or_skip`].

#![cfg(unix)]

mod connection;
mod page;

pub use page::{Page, Screen};

use connection::Connection;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// How long anything that a browser is asked may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Programs that are a Chromium, the first that is there counts; `CHROMIUM` names another.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];

/// Passes the pipes on as the two files that the browser speaks through, and becomes the browser.
const BECOME: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

const FLAGS: [&str; 13] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
];

/// Why a browser did not do what it was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// It could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },

    /// What was waited for did not come within [`PATIENCE`], or the browser is gone.
    #[error("the browser does not answer to {0}")]
    Silent(String),

    /// It refused.
    #[error("the browser refuses {method}: {message}")]
    Refused {
        /// What it was asked.
        method: String,
        /// Why.
        message: String,
    },

    /// A script on the page failed.
    #[error("a script failed: {0}")]
    Script(String),

    /// A picture could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A browser that runs. Dropping it ends it.
pub struct Browser {
    process: Child,
    connection: Arc<Connection>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// The Chromium of this machine.
    pub fn installed() -> Option<PathBuf> {
        let named = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty());
        let names = named.into_iter().chain(PROGRAMS.map(OsString::from));
        let folders: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
        let found = |name: OsString| {
            let path = Path::new(&name);
            let given = path.is_absolute().then(|| path.to_owned());
            given
                .into_iter()
                .chain(folders.iter().map(|folder| folder.join(path)))
                .find(|path| path.is_file())
        };
        names.into_iter().find_map(found)
    }

    /// Starts the Chromium of this machine; where there is none, says so loudly and gives nothing, for tests to
    /// be skipped.
    ///
    /// # Errors
    /// When there is one and it does not start.
    pub fn start_or_skip(what: &str) -> Result<Option<Browser>, BrowserError> {
        let Some(program) = Browser::installed() else {
            eprintln!(
                "\n*** SKIPPED: {what}: there is no Chromium here; install Debian's package chromium ***\n"
            );
            return Ok(None);
        };
        Browser::start(&program).map(Some)
    }

    /// Starts a Chromium.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path) -> Result<Browser, BrowserError> {
        let failed = |source| BrowserError::Start { program: program.to_owned(), source };
        let folder = tempfile::tempdir().map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", BECOME, "sh"]).arg(program).args(FLAGS);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        // Within containers and as root there is no sandbox to be had; the pages are those of the tests.
        command.arg("--no-sandbox").env("HOME", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(failed)?;
        let (Some(asks), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let connection = Arc::new(Connection::new(asks, answers));
        let browser = Browser { process, connection, _folder: folder };
        browser.connection.ask("Browser.getVersion", json!({}), None)?;
        Ok(browser)
    }

    /// Opens an empty page.
    ///
    /// # Errors
    /// When the browser does not answer.
    pub fn page(&self, screen: &Screen) -> Result<Page, BrowserError> {
        Page::open(Arc::clone(&self.connection), screen)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own children end with it. It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
