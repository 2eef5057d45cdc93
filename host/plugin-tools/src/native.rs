//! Runs the source of a project in the local interpreter, without a sandbox, so that its author need not build it.

mod process;

use crate::build::BuildOptions;
use crate::build::python_packages::{self, Packages};
use crate::case_lines::CaseLines;
use crate::{Language, Project, ToolError};
use gage_core::{Outcome, name_list};
use gage_plugin::{ItemError, NativeMetrics, World};
use process::{CallFailure, NativeProcess};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Default time limit of a case.
const DEFAULT_CASE_TIME: Duration = Duration::from_secs(10);

/// Time limit for loading a plugin. It may import large packages.
const MAX_LOAD_TIME: Duration = Duration::from_secs(60);

/// Maximum number of packages that a message lists.
const MAX_LISTED_PACKAGES: usize = 20;

/// Options of a native test.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// Time limit of a case.
    pub case_time: Duration,
    /// Ends the test when it is set.
    pub stop: Arc<AtomicBool>,
}

impl Default for NativeOptions {
    fn default() -> NativeOptions {
        NativeOptions { case_time: DEFAULT_CASE_TIME, stop: Arc::default() }
    }
}

/// Returns the name of the interpreter that runs projects in a language, if one does.
pub fn interpreter(language: Language) -> Option<&'static str> {
    match language {
        Language::Python => Some(if cfg!(windows) { "python" } else { "python3" }),
        Language::JavaScript => Some("node"),
        Language::Rust => None,
    }
}

/// A project in a running interpreter. After a crash or a timeout, the next call starts it again.
pub(crate) struct NativeSession {
    project: Project,
    interpreter: &'static str,
    packages: Option<Packages>,
    process: Option<NativeProcess>,
    lines: CaseLines,
    options: NativeOptions,
}

/// The declarations of a loaded project.
pub(crate) struct NativeDescription {
    pub(crate) metrics: Arc<NativeMetrics>,
    /// Remarks about packages that a component will not have.
    pub(crate) notes: Vec<String>,
}

impl NativeSession {
    /// Loads a project.
    ///
    /// # Errors
    /// If it is no metric in Python or JavaScript, there is no interpreter, or its code cannot be loaded.
    pub(crate) fn start(
        project: &Project,
        lines: &CaseLines,
        build: &BuildOptions<'_>,
        options: &NativeOptions,
    ) -> Result<(NativeSession, NativeDescription), ToolError> {
        let interpreter = interpreter(project.language).ok_or_else(|| refusal("a plugin in Rust"))?;
        if project.world != World::Metric {
            return Err(refusal(&format!("a plugin of the kind {}", project.world)));
        }
        let mut project = project.clone();
        project.folder =
            project.folder.canonicalize().map_err(|error| ToolError::io("read", &project.folder, &error))?;
        project.require_folders(&[sdk_folder(project.language)])?;
        let packages = match project.language {
            Language::Python => python_packages::install(&project, build)?,
            _ => None,
        };
        let (lines, options) = (lines.clone(), options.clone());
        let mut session = NativeSession { project, interpreter, packages, process: None, lines, options };
        let description = session
            .restart()
            .map_err(|failure| session.load_error(failure))
            .and_then(|reply| describe(&reply))?;
        Ok((session, description))
    }

    /// Calls a function of the plugin about a number of items, and returns its reply.
    pub(crate) fn call(&mut self, request: &Value, items: usize) -> Result<Value, ItemError> {
        let result = self.try_call(request, items);
        if result.is_err() {
            self.process = None;
        }
        result.map_err(|failure| self.item_error(failure))
    }

    fn try_call(&mut self, request: &Value, items: usize) -> Result<Value, CallFailure> {
        let time = self.options.case_time.saturating_mul(u32::try_from(items.max(1)).unwrap_or(u32::MAX));
        if self.process.is_none() {
            self.restart()?;
        }
        self.exchange(request, time)
    }

    /// Starts the interpreter, and returns what the project declares.
    fn restart(&mut self) -> Result<Value, CallFailure> {
        let mut command = self.command().map_err(CallFailure::NotStarted)?;
        self.process = Some(NativeProcess::start(&mut command).map_err(CallFailure::NotStarted)?);
        self.exchange(&json!({"call": "describe"}), MAX_LOAD_TIME)
    }

    fn exchange(&mut self, request: &Value, time: Duration) -> Result<Value, CallFailure> {
        let Some(process) = &mut self.process else {
            return Err(CallFailure::NotStarted("the interpreter does not run".to_owned()));
        };
        let (lines, stop) = (&self.lines, &self.options.stop);
        process.call(request, time, &|| stop.load(Ordering::Relaxed), &|line| lines.add(line))
    }

    fn command(&self) -> Result<Command, String> {
        let folder = &self.project.folder;
        let mut command = Command::new(self.interpreter);
        command.current_dir(folder);
        match self.project.language {
            Language::Python => {
                // Like a component: without files of compiled code, and with the same order of sets each time.
                command.args(["-B", "-u", "-X", "utf8", "-m", "gage_sdk.native"]).env("PYTHONHASHSEED", "0");
                command.env("PYTHONPATH", self.python_path()?).env_remove("PYTHONSAFEPATH");
            }
            _ => {
                command.arg(folder.join(sdk_folder(Language::JavaScript)).join("native.mjs"));
                command.arg(std::process::id().to_string());
            }
        }
        Ok(command)
    }

    /// Returns the folders of modules besides the project's own, in the order of a component.
    fn python_path(&self) -> Result<OsString, String> {
        let packages = self.packages.as_ref().map(|packages| packages.folder.clone());
        let folders = [self.project.folder.join(sdk_folder(Language::Python))].into_iter().chain(packages);
        std::env::join_paths(folders).map_err(|error| format!("the folder of the project: {error}"))
    }

    fn item_error(&self, failure: CallFailure) -> ItemError {
        let (outcome, kind, message) = match failure {
            CallFailure::TimedOut(time) => {
                let message = format!("did not end within {} s", time.as_secs_f64());
                (Outcome::PluginTimeout, "budget", message)
            }
            CallFailure::Stopped => (Outcome::PluginError, "trap", "the test was stopped".to_owned()),
            CallFailure::Ended(message) => {
                (Outcome::PluginError, "trap", format!("{} ended ({message})", self.interpreter))
            }
            CallFailure::NotStarted(message) | CallFailure::Unreadable(message) => {
                (Outcome::PluginError, "trap", message)
            }
            CallFailure::NotLoaded { text, .. } => (Outcome::PluginError, "trap", text),
        };
        ItemError { outcome, kind, message, pointer: None }
    }

    fn load_error(&self, failure: CallFailure) -> ToolError {
        let interpreter = self.interpreter;
        match failure {
            CallFailure::NotLoaded { text, missing } => {
                let message = format!("the plugin cannot be loaded:\n{text}");
                let help = missing.map(|name| self.project.language.package_advice(&name));
                ToolError { message, help }
            }
            CallFailure::TimedOut(time) => {
                let seconds = time.as_secs();
                ToolError::new(format!("the plugin was not loaded within {seconds} s by {interpreter}"))
            }
            CallFailure::NotStarted(message) => {
                let help =
                    format!("`--native` needs {interpreter} on the path, as `gage-host plugin build` does");
                ToolError::with_help(format!("cannot run {interpreter}: {message}"), help)
            }
            other => ToolError::new(self.item_error(other).message),
        }
    }
}

fn refusal(what: &str) -> ToolError {
    ToolError::with_help(
        format!("`--native` runs metrics in Python and JavaScript; this is {what}"),
        "build it and leave --native out: gage-host plugin build, gage-host plugin test",
    )
}

fn sdk_folder(language: Language) -> &'static str {
    match language {
        Language::Python => "gage/sdk/python/src",
        Language::JavaScript => "gage/sdk/js",
        Language::Rust => "gage/sdk/rust",
    }
}

fn names_in<'r>(reply: &'r Value, key: &str) -> Vec<&'r str> {
    reply[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn describe(reply: &Value) -> Result<NativeDescription, ToolError> {
    let refuse = |message: String| ToolError::new(format!("the plugin cannot be used: {message}"));
    let metrics = NativeMetrics::read(reply["metrics"].clone()).map_err(refuse)?;
    let (native, outside) = (names_in(reply, "native_packages"), names_in(reply, "outside_packages"));
    let list = |names: &[&str]| name_list(names, MAX_LISTED_PACKAGES, ", ");
    let mut notes = Vec::new();
    if !native.is_empty() {
        let names = list(&native);
        notes.push(format!("these packages have native code, which a component cannot run: {names}"));
    }
    if !outside.is_empty() {
        let names = list(&outside);
        notes.push(format!(
            "these packages are not in the project, and the component will lack them: {names}; \
             name them in requirements.in, and run `gage-host plugin lock`"
        ));
    }
    Ok(NativeDescription { metrics: Arc::new(metrics), notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn notes_name_packages_that_components_lack() {
        let reply = |native: &[&str], outside: &[&str]| {
            let metric = json!({
                "name": "m", "description": "d", "version": "1", "inputs": [], "default_aggregation": "mean",
                "values": [{"name": "score", "higher_is_better": true}], "params_schema": "{}",
            });
            json!({"metrics": [metric], "native_packages": native, "outside_packages": outside})
        };
        let notes = |native: &[&str], outside: &[&str]| describe(&reply(native, outside)).unwrap().notes;
        assert_eq!(notes(&[], &[]), [""; 0]);
        let found = notes(&["numpy"], &["requests", "idna"]);
        assert!(found[0].ends_with("cannot run: numpy"), "{found:?}");
        assert!(found[1].contains("lack them: requests, idna; name them"), "{found:?}");
        assert!(describe(&json!({})).err().unwrap().message.starts_with("the plugin cannot be used: "));
    }

    #[test]
    fn only_metrics_of_interpreters_run_natively() {
        for (language, world) in [(Language::Rust, World::Metric), (Language::Python, World::Judge)] {
            let project = Project {
                folder: Path::new(".").to_owned(),
                name: "a".to_owned(),
                world,
                language,
                imports: Vec::new(),
                files: Vec::new(),
                package: crate::PackageInfo::default(),
            };
            let build = BuildOptions { cache_folder: None, say: &|_| {} };
            let lines = CaseLines::default();
            let error = NativeSession::start(&project, &lines, &build, &NativeOptions::default()).err();
            assert!(error.unwrap().message.starts_with("`--native` runs metrics in Python and JavaScript"));
        }
    }
}
