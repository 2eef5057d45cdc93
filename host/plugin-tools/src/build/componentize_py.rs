//! Finds componentize-py, or installs it in the cache folder.

use super::lock::Lock;
use super::{BuildOptions, tool};
use crate::ToolError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version that the SDK supports.
pub(super) const VERSION: &str = "0.25.1";

/// Version of the Python inside its components.
pub(super) const GUEST_PYTHON: &str = "3.14";

/// Oldest Python version that can install it.
const MIN_PYTHON_VERSION: (u32, u32) = (3, 10);

/// Advice if there is no Python.
pub(super) const INSTALL: &str = "a plugin in Python is built with Python 3.10 or newer and its module venv: https://python.org, or \
                       apt-get install python3 python3-venv";

/// Returns the componentize-py program: the one on the path if it has the right version, or else one
/// installed in the cache folder.
pub(super) fn find_or_install(options: &BuildOptions<'_>) -> Result<PathBuf, ToolError> {
    let usual = PathBuf::from("componentize-py");
    if has_version(&usual) {
        return Ok(usual);
    }
    let by_hand =
        format!("install it so that it is found on the path: pip install componentize-py=={VERSION}");
    let Some(cache) = &options.cache_folder else {
        return Err(ToolError::with_help(
            format!(
                "componentize-py {VERSION} is not installed, and there is no cache folder to install it in"
            ),
            by_hand,
        ));
    };
    let venv = venv_in(cache);
    let program = venv.join("bin/componentize-py");
    if has_version(&program) {
        return Ok(program);
    }
    // Scripts in a venv contain its path, so it is created in place, and concurrent builds wait.
    let _lock = Lock::take(&venv, options.say)?;
    if has_version(&program) {
        return Ok(program);
    }
    (options.say)(&format!("installing componentize-py {VERSION}, once for all projects"));
    let python = find_python()?;
    let mut make = Command::new(python);
    make.args(["-m", "venv", "--clear"]).arg(&venv);
    tool::succeed(&mut make, "python3 -m venv", INSTALL).map_err(|error| with_help(error, INSTALL))?;
    let mut install = Command::new(venv.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    install.arg(format!("componentize-py=={VERSION}"));
    tool::succeed(&mut install, "pip install", INSTALL).map_err(|error| with_help(error, &by_hand))?;
    if has_version(&program) {
        return Ok(program);
    }
    Err(ToolError::with_help(
        format!("{} was installed and does not run", program.display()),
        format!("{by_hand}; then remove {}", venv.display()),
    ))
}

/// Returns the folder of the installed componentize-py.
fn venv_in(cache: &Path) -> PathBuf {
    cache.join("tools").join(format!("componentize-py-{VERSION}"))
}

/// Returns a Python that has pip: that of the cache folder, or else the system's.
pub(super) fn find_pip(options: &BuildOptions<'_>) -> Result<PathBuf, ToolError> {
    let has_pip = |python: &Path| {
        let output = tool::run(Command::new(python).args(["-m", "pip", "--version"]), INSTALL);
        output.is_ok_and(|output| output.status.success())
    };
    let installed = options.cache_folder.as_deref().map(|cache| venv_in(cache).join("bin/python"));
    if let Some(python) = installed.filter(|python| has_pip(python)) {
        return Ok(python);
    }
    let python = PathBuf::from(find_python()?);
    match has_pip(&python) {
        true => Ok(python),
        false => Err(ToolError::with_help(
            format!("'{}' has no pip, which installs packages", python.display()),
            "install it: python3 -m ensurepip, or apt-get install python3-pip",
        )),
    }
}

fn with_help(error: ToolError, help: &str) -> ToolError {
    ToolError::with_help(error.message, error.help.unwrap_or_else(|| help.to_owned()))
}

/// Returns whether a program is componentize-py in the right version.
fn has_version(program: &Path) -> bool {
    let mut command = Command::new(program);
    let output = tool::run(command.arg("--version"), INSTALL);
    output.is_ok_and(|output| {
        output.status.success()
            && String::from_utf8_lossy(&output.stdout).trim() == format!("componentize-py {VERSION}")
    })
}

/// Finds a Python that is new enough.
pub(super) fn find_python() -> Result<&'static str, ToolError> {
    let mut found = None;
    for name in ["python3", "python"] {
        let mut command = Command::new(name);
        command.args(["-c", "import sys; print(*sys.version_info[:2])"]);
        let Ok(output) = tool::succeed(&mut command, name, INSTALL) else { continue };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut numbers = text.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) {
            if (major, minor) >= MIN_PYTHON_VERSION {
                return Ok(name);
            }
            found = Some(format!("Python {major}.{minor} is too old to install componentize-py {VERSION}"));
        }
    }
    let message = found.unwrap_or_else(|| "there is no program 'python3' that runs".to_owned());
    Err(ToolError::with_help(message, INSTALL))
}
