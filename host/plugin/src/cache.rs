//! The cache of compiled components.
//!
//! One file per component and engine, `<component>-<engine>-<checksum>.cwasm`: the digest of the component, a
//! hash of all engine settings that affect code, and the BLAKE3 checksum of the file itself. Files are
//! renamed into place, so two processes may race. A file with a wrong checksum is deleted and compiled again.
//! No file is written again after that, so code that a run has mapped does not change under it. The folder may also
//! have the files of [`crate::function_cache`].
//!
//! Compiled code is executed as read. The folder and each file must therefore belong to this user, and no
//! other user may have write access.

use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler, compile};
use crate::host_options::HostOptions;
use crate::shortage::reported;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, ResourceShortage, ShortageWatch};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Loads components from a folder, and compiles those that are missing.
pub(crate) struct CompileCache {
    folder: Option<PathBuf>,
    engine: String,
    compiler: ComponentCompiler,
    limits: CompileLimits,
    reuses_functions: bool,
    on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}

impl CompileCache {
    /// Opens the folder, creating it if necessary.
    ///
    /// # Errors
    /// The problem with the folder.
    pub(crate) fn open(engine: &Engine, options: &HostOptions) -> Result<CompileCache, String> {
        let folder = options.cache_folder.as_deref().map(prepare).transpose()?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(CompileCache {
            folder,
            engine: format!("{:016x}", hasher.finish()),
            compiler: options.compiler.clone(),
            limits: options.compile_limits,
            reuses_functions: options.reuses_functions,
            on_compile: options.on_compile.clone(),
        })
    }

    /// Returns the component, from the folder or newly compiled.
    #[tracing::instrument(name = "compile_plugin", skip_all, fields(plugin = name))]
    pub(crate) fn component(
        &self,
        engine: &Engine,
        name: &str,
        bytes: &[u8],
        digest: Digest,
    ) -> Result<Component, String> {
        let prefix = self.prefix(digest);
        if let Some(folder) = &self.folder
            && let Some(component) = load_cached(engine, folder, &prefix)?
        {
            return Ok(component);
        }
        let functions = self.folder.as_deref().filter(|_| self.reuses_functions);
        let code = self.compile(engine, name, functions, bytes)?;
        if let Some(folder) = &self.folder {
            match store(folder, &prefix, &code) {
                Ok(path) => match load_file(engine, &path) {
                    Ok(component) => return Ok(component),
                    Err(error) => tracing::warn!("{}: {error}", path.display()),
                },
                // The component is still usable; the next process compiles it again.
                Err(error) => tracing::warn!("compile cache {}: {error}", folder.display()),
            }
        }
        load_bytes(engine, &code)
    }

    /// Returns the beginning of the name of a component's file.
    fn prefix(&self, digest: Digest) -> String {
        format!("{}-{}-", digest.hex(), self.engine)
    }

    /// Returns whether the folder has a file for a component.
    pub(crate) fn has(&self, digest: Digest) -> bool {
        let prefix = self.prefix(digest);
        let entries = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let is_code = |name: &str| name.starts_with(&prefix) && name.strip_suffix(".cwasm").is_some();
        entries.into_iter().flatten().flatten().any(|entry| entry.file_name().to_str().is_some_and(is_code))
    }

    /// Returns whether compiled components are cached.
    pub(crate) fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// Compiles a component. `functions` is the folder of the functions of earlier compilations, if they may be used.
    fn compile(
        &self,
        engine: &Engine,
        name: &str,
        functions: Option<&Path>,
        bytes: &[u8],
    ) -> Result<Vec<u8>, String> {
        let began = Instant::now();
        let tell = |elapsed: Duration, is_over: bool| {
            if let Some(told) = &self.on_compile {
                told(CompileProgress { name, bytes: bytes.len(), elapsed, is_over });
            }
        };
        tell(Duration::ZERO, false);
        let progress = |elapsed| tell(elapsed, false);
        let code = compile(engine, &self.compiler, self.limits, functions, bytes, progress);
        tell(began.elapsed(), true);
        code
    }
}

/// Creates the folder, and checks that only this user can write to it.
fn prepare(folder: &Path) -> Result<PathBuf, String> {
    let describe = |error: &dyn std::fmt::Display| format!("compile cache {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(|error| describe(&error))?;
    foreign_file::close_folder(folder).map_err(|error| describe(&error))?;
    folder.canonicalize().map_err(|error| describe(&error))
}

/// Loads a component if its file exists and is intact.
///
/// # Errors
/// A shortage of the machine, which says nothing about the file.
fn load_cached(engine: &Engine, folder: &Path, prefix: &str) -> Result<Option<Component>, String> {
    let shortages = ShortageWatch::start();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return ResourceShortage::report_in(&error).map_or(Ok(None), |one| Err(one.to_string()));
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(checksum) = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix))
            .and_then(|rest| rest.strip_suffix(".cwasm"))
        else {
            continue;
        };
        let path = entry.path();
        let loaded = check(&path, checksum).and_then(|()| load_file(engine, &path));
        match loaded {
            Ok(component) => return Ok(Some(component)),
            Err(_) if let Some(shortage) = shortages.shortage() => return Err(shortage.to_string()),
            Err(error) => {
                tracing::warn!("compile cache {}: {error}; it is created again", path.display());
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    Ok(None)
}

fn check(path: &Path, checksum: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut hasher = blake3::Hasher::new();
    foreign_file::open_below(folder, path.file_name().unwrap_or_default(), FileLimit::NONE)
        .and_then(|file| {
            foreign_file::check_private(&file.metadata()?)?;
            hasher.update_reader(file).map(drop)
        })
        .inspect_err(|error| drop(ResourceShortage::report_in(error)))
        .map_err(|error| error.to_string())?;
    match hasher.finalize().to_hex().as_str() == checksum {
        true => Ok(()),
        false => Err("the file is not what was written".to_owned()),
    }
}

/// Writes the code under a name derived from its content.
fn store(folder: &Path, prefix: &str, code: &[u8]) -> std::io::Result<PathBuf> {
    use std::io::Write as _;
    let path = folder.join(format!("{prefix}{}.cwasm", blake3::hash(code).to_hex()));
    // tempfile makes it readable and writable only by this user.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(code)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[expect(unsafe_code, reason = "the only two places where machine code is loaded")]
fn load_file(engine: &Engine, path: &Path) -> Result<Component, String> {
    // SAFETY: the file was written by this program's own compiler. Its folder and owner were checked, and its
    // checksum matches what was written.
    unsafe { Component::deserialize_file(engine, path) }.map_err(|error| reported(&error))
}

#[expect(unsafe_code, reason = "the only two places where machine code is loaded")]
fn load_bytes(engine: &Engine, code: &[u8]) -> Result<Component, String> {
    // SAFETY: the bytes come from this program's own compiler.
    unsafe { Component::deserialize(engine, code) }.map_err(|error| reported(&error))
}
