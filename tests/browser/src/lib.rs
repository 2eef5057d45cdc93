//! A headless Chromium for tests and measurements: it opens pages, presses keys, runs scripts, and takes screenshots. The DevTools
//! protocol goes through pipes, so no port is opened. The browser has its own folder, and ends with the [`Browser`].
//!
//! If no Chromium is installed, tests print a warning and are skipped: see [`Browser::start_or_skip`].

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

/// The longest wait for a reply or an event of the browser.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Names of Chromium programs; the first one found is used. `CHROMIUM` names another.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];

/// Connects the pipes to the file descriptors of the DevTools protocol, and executes the browser.
const EXEC_SCRIPT: &str = "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

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

/// A failed request to a browser.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// The browser could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The reason.
        source: std::io::Error,
    },

    /// There was no reply or event within [`TIMEOUT`], or the browser has ended.
    #[error("the browser does not answer to {0}")]
    Timeout(String),

    /// The browser refused a request.
    #[error("the browser refuses {method}: {message}")]
    Refused {
        /// The method.
        method: String,
        /// The reason.
        message: String,
    },

    /// A script on the page failed.
    #[error("a script failed: {0}")]
    Script(String),

    /// A screenshot could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

/// A running browser, which ends when it is dropped.
pub struct Browser {
    process: Child,
    connection: Arc<Connection>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Returns the path of the Chromium of this machine.
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

    /// Starts the Chromium of this machine. If there is none, prints a warning and returns `None`, so that a test can be skipped.
    ///
    /// # Errors
    /// When the browser does not start.
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
    /// When the browser does not start.
    pub fn start(program: &Path) -> Result<Browser, BrowserError> {
        let failed = |source| BrowserError::Start { program: program.to_owned(), source };
        let folder = tempfile::tempdir().map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", EXEC_SCRIPT, "sh"]).arg(program).args(FLAGS);
        command.arg(format!("--user-data-dir={}", folder.path().display()));
        // There is no sandbox in containers and for root; the pages are those of the tests.
        command.arg("--no-sandbox").env("HOME", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(failed)?;
        let (Some(requests), Some(replies)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        let connection = Arc::new(Connection::new(requests, replies));
        let browser = Browser { process, connection, _folder: folder };
        browser.connection.call("Browser.getVersion", json!({}), None)?;
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
        // The children of the browser end with it. It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
