//! `gage-host plugin export` and `gage-host plugin import`: packages as one file, for a machine without a network.

use super::inspect::size;
use super::package::{fetch, refuse_missing, refuse_store, store};
use crate::arguments::{PluginExportArguments, PluginImportArguments, default_suite};
use crate::commands::permissions::permissions;
use crate::commands::{next_command, setup};
use crate::exit_code::ExitCode;
use crate::terminal::{self, shell_word};
use gage_config::{Permissions, PipelineConfig, PluginSource, PluginSpec, Purpose};
use gage_core::{Digest, printable_line};
use gage_packages::{NewPackage, PackageStore, PackageSummary, StoreError, StoredPackage};
use gage_plugin::RegistryError;
use gage_record::RecordedPlugin;
use gage_runner::{Context, default_lock_path, pin_packages};
use gage_suite::{LoadedSuite, Lock};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) fn export(arguments: &PluginExportArguments) -> anyhow::Result<ExitCode> {
    let Some(path) = arguments.config.as_deref().or_else(|| default_suite()) else {
        let help = "name it with --config, or go to the folder of suite.yaml";
        return Ok(terminal::usage_error("there is no suite to export", Some(help)));
    };
    let permissions = permissions(&arguments.permissions)?;
    let mut config = load(arguments, path, &permissions)?;
    let manifests = pin_packages(&mut config, &locked_packages(path, &permissions)?);
    let store = store()?;
    let mut packages = Vec::new();
    for (spec, manifest) in config.plugins.iter().zip(manifests) {
        if let PluginSource::Registry(reference) = &spec.source {
            let found = store.find(reference, spec.sha256).map_err(|error| refuse_store(&error))?;
            packages.push(match found {
                Some(found) => found,
                None if arguments.offline => return Ok(refuse_missing(reference)),
                None => {
                    // The tag of a locked package may have moved.
                    let exact = manifest.map(|manifest| reference.with_digest(manifest));
                    let exact = exact.as_ref().unwrap_or(reference);
                    let fetched = fetch(exact, permissions.clone(), arguments.print.quiet)?;
                    save(&store, &NewPackage { reference: reference.clone(), ..fetched }, spec)?
                }
            });
        }
    }
    if packages.is_empty() {
        let message = format!("no plugin of {} comes from a registry", path.display());
        return Ok(terminal::usage_error(
            &message,
            Some("nothing is exported: copy the folder of the suite"),
        ));
    }
    let output = &arguments.output;
    check_output(output)?;
    store.export(&packages, output).map_err(|error| {
        refuse_archive(&error, output, "name a file in a folder that exists and can be written to")
    })?;
    let packages: Vec<PackageSummary> = packages.iter().map(PackageSummary::from).collect();
    for file in files_of(&config) {
        terminal::eprint_line(format_args!(
            "note: {} is a file of the suite, and is not in the archive: copy it with the suite",
            printable_line(&file.display().to_string())
        ));
    }
    let output = arguments.output.display().to_string();
    let bytes = std::fs::metadata(&arguments.output).map_or(0, |found| found.len());
    if arguments.print.json {
        let answer = json!({"file": output, "bytes": bytes, "packages": to_json(&packages)});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        // Archives stay far below the memory.
        let bytes = size(usize::try_from(bytes).unwrap_or(usize::MAX));
        terminal::print_line(format_args!("wrote {} ({bytes})", printable_line(&output)))?;
        terminal::print_line(listed(&packages))?;
    }
    if !arguments.print.quiet {
        next_command::print(&format!("gage-host plugin import {}", shell_word(&output)));
    }
    Ok(ExitCode::Done)
}

/// Checks that an archive may be written to a path: it does not exist, or is an archive.
fn check_output(path: &Path) -> Result<(), ExitCode> {
    match PackageStore::is_archive(path) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) | Err(_) => {
            let message = format!("{} exists, and is not an archive of packages", path.display());
            Err(terminal::usage_error(&message, Some("delete it, or name another file with --output")))
        }
    }
}

/// Reads the suite.
fn load(
    arguments: &PluginExportArguments,
    path: &Path,
    permissions: &Permissions,
) -> Result<PipelineConfig, ExitCode> {
    let permissions = if arguments.offline { permissions.offline() } else { permissions.clone() };
    let LoadedSuite { config, problems, .. } = setup::loaded(path, &[], &permissions, Purpose::Plugins);
    match config {
        Some(config) if !problems.resources.is_refused() => Ok(config),
        _ => {
            terminal::show_problems(&problems);
            Err(ExitCode::Configuration)
        }
    }
}

/// Returns the packages of the lock beside a suite; none without a lock.
fn locked_packages(suite: &Path, permissions: &Permissions) -> Result<Vec<RecordedPlugin>, ExitCode> {
    let lock = default_lock_path(suite);
    if !lock.exists() {
        return Ok(Vec::new());
    }
    let context = Context { permissions: permissions.clone(), ..setup::plain_context(true) };
    let lock = Lock::read(&lock, &context.permissions_of(suite)).map_err(setup::refuse_suite)?;
    Ok(lock.packages())
}

/// Adds a fetched package to the cache, if it has the digest of the suite's entry.
fn save(store: &PackageStore, fetched: &NewPackage, spec: &PluginSpec) -> Result<StoredPackage, ExitCode> {
    let found = Digest::of_bytes(&fetched.component);
    if let Some(wanted) = spec.sha256.filter(|wanted| *wanted != found) {
        let path = PathBuf::from(fetched.reference.to_string());
        setup::refuse_plugin(&RegistryError::Digest { path, wanted, found });
        return Err(ExitCode::LockMismatch);
    }
    store.save(fetched).map_err(|error| refuse_store(&error))
}

/// Returns the plugins of a suite that are files.
fn files_of(config: &PipelineConfig) -> Vec<&Path> {
    let sources = config.plugins.iter().map(|spec| &spec.source);
    let files = sources.filter_map(|source| match source {
        PluginSource::File(path) => Some(path.as_path()),
        PluginSource::Bundled(_) | PluginSource::Registry(_) => None,
    });
    files.collect()
}

pub(super) fn import(arguments: &PluginImportArguments) -> anyhow::Result<ExitCode> {
    let file = &arguments.file;
    let packages = store()?.import(file).map_err(|error| {
        refuse_archive(&error, file, "name the file that `gage-host plugin export` wrote")
    })?;
    if arguments.print.json {
        let answer = json!({"packages": to_json(&packages)});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        terminal::print_line(format_args!("added {}", terminal::count(packages.len(), "package")))?;
        terminal::print_line(listed(&packages))?;
    }
    if !arguments.print.quiet {
        next_command::print("gage-host run SUITE --offline");
    }
    Ok(ExitCode::Done)
}

/// Prints the error of an archive or of the cache. `help` is for an archive that cannot be read or written.
fn refuse_archive(error: &StoreError, archive: &Path, help: &str) -> ExitCode {
    match error {
        StoreError::File { path, .. } if path == archive => {
            terminal::usage_error(&error.to_string(), Some(help))
        }
        other => refuse_store(other),
    }
}

/// Lists packages, one in a line.
fn listed(packages: &[PackageSummary]) -> String {
    let line = |package: &PackageSummary| {
        let signatures = match package.signatures {
            0 => "not signed".to_owned(),
            count => terminal::count(count, "signature"),
        };
        format!("  {}  {}  {signatures}", package.reference, package.component)
    };
    packages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn to_json(packages: &[PackageSummary]) -> Vec<Value> {
    let one = |package: &PackageSummary| {
        json!({
            "reference": package.reference.to_string(),
            "manifest": package.manifest,
            "component": package.component,
            "signatures": package.signatures,
        })
    };
    packages.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_listed_with_their_signatures() {
        let package = |tag: &str, signatures: usize| PackageSummary {
            reference: format!("oci://registry.example/metrics/recall:{tag}").parse().expect("a reference"),
            component: Digest::of_bytes(b""),
            manifest: Digest::of_bytes(b""),
            signatures,
        };
        let packages = [package("1", 0), package("2", 1), package("3", 2)];
        let digest = Digest::of_bytes(b"");
        let text = listed(&packages).replace(&digest.to_string(), "DIGEST");
        let expected = "  oci://registry.example/metrics/recall:1  DIGEST  not signed\n\
            \u{20} oci://registry.example/metrics/recall:2  DIGEST  1 signature\n\
            \u{20} oci://registry.example/metrics/recall:3  DIGEST  2 signatures";
        assert_eq!(text, expected);
        assert_eq!(to_json(&packages)[1]["signatures"], 1);
    }
}
