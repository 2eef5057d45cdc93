//! `gage-host view`: shows a folder of runs in a browser.

use super::permissions::permissions;
use super::{sent_requests, setup, signals, view_address};
use crate::arguments::{DEFAULT_LOG, ViewArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::spawn_thread;
use gage_view::{RunsRoot, ViewError, Viewer, ViewerOptions};
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};

pub(crate) fn execute(arguments: &ViewArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let permissions = permissions(&arguments.permissions)?;
    let root = RunsRoot::open(&arguments.folder).map_err(|error| refuse(&error))?;
    let runtime = gage_runner::start_runtime(0)?;
    let options = ViewerOptions {
        address: SocketAddr::new(arguments.host, arguments.port),
        allowed_hosts: arguments.allowed_hosts.clone(),
        requests: sent_requests::of_runs,
        permissions,
    };
    let viewer = runtime.block_on(Viewer::bind(root, &options)).map_err(|error| refuse(&error))?;
    let address = address_to_open(viewer.address());
    let _kept = view_address::keep(&arguments.folder, &address);
    if !arguments.host.is_loopback() {
        terminal::eprint_line(format_args!(
            "warning: everyone who can reach {} can read every prompt and answer of {}; there is no password",
            viewer.address(),
            gage_config::shown_path(&arguments.folder)
        ));
    }
    if !arguments.quiet {
        terminal::print_line(format_args!("{address}"))?;
        terminal::eprint_line("showing runs until Ctrl-C");
    }
    if arguments.open && !open(&address) {
        terminal::eprint_line(format_args!("warning: no browser could be opened; go to {address}"));
    }
    let stop = {
        let _entered = runtime.enter();
        signals::signal()
    };
    let served = runtime.block_on(viewer.serve(stop));
    // An abandoned report may still be in progress.
    runtime.shutdown_background();
    match served {
        Ok(()) => Ok(ExitCode::Done),
        Err(error @ ViewError::History(_)) => Ok(refuse(&error)),
        Err(error) => Err(error.into()),
    }
}

fn refuse(error: &ViewError) -> ExitCode {
    let help = error.help();
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    // Skips a cause that the message already ends with.
    let message = causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    });
    terminal::usage_error(&message, help.as_deref())
}

/// Returns the server's address for a local browser. A server on all addresses is reachable at the loopback address.
fn address_to_open(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(host) if host.is_unspecified() => "127.0.0.1".to_owned(),
        IpAddr::V6(host) if host.is_unspecified() => "[::1]".to_owned(),
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    };
    format!("http://{host}:{}/", address.port())
}

/// Asks the desktop to open an address.
fn open(address: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Some of these programs run as long as the browser.
            let _ = spawn_thread("browser", move || child.wait());
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_be_opened() {
        let cases = [
            ("127.0.0.1:7878", "http://127.0.0.1:7878/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:80", "http://[::1]:80/"),
            ("[::1]:9", "http://[::1]:9/"),
        ];
        for (address, expected) in cases {
            assert_eq!(address_to_open(address.parse().unwrap()), expected);
        }
    }
}
