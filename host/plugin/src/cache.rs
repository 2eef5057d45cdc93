//! The cache of compiled components.
//!
//! One file for each component and engine, `<component>-<engine>-<checksum>.cwasm`: the digest of the
//! component, a hash of everything in the engine that code depends on, and the BLAKE3 checksum of the
//! file itself. Files appear by renaming, so that two processes may race; one whose checksum is
//! another is removed and made anew.
//!
//! Compiled code is run as it is read. So the folder must belong to this user and nobody else may
//! write to it, and so must each file.

use crate::compile::{CompileLimits, CompileProgress, ComponentCompiler, compile};
use crate::host_options::HostOptions;
use gage_core::Digest;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Takes components from a folder, and compiles those that are not there.
pub(crate) struct CompileCache {
    folder: Option<PathBuf>,
    engine: String,
    compiler: ComponentCompiler,
    limits: CompileLimits,
    on_compile: Option<Arc<dyn Fn(CompileProgress<'_>) + Send + Sync>>,
}

impl CompileCache {
    /// Opens the folder; it is made if it does not exist.
    ///
    /// # Errors
    /// What is wrong with the folder.
    pub(crate) fn open(engine: &Engine, options: &HostOptions) -> Result<CompileCache, String> {
        let folder = options.cache_folder.as_deref().map(prepare).transpose()?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(CompileCache {
            folder,
            engine: format!("{:016x}", hasher.finish()),
            compiler: options.compiler.clone(),
            limits: options.compile_limits,
            on_compile: options.on_compile.clone(),
        })
    }

    /// The component, from the folder or compiled.
    #[tracing::instrument(name = "compile_plugin", skip_all, fields(plugin = name))]
    pub(crate) fn component(
        &self,
        engine: &Engine,
        name: &str,
        bytes: &[u8],
        digest: Digest,
    ) -> Result<Component, String> {
        let prefix = format!("{}-{}-", digest.hex(), self.engine);
        if let Some(component) =
            self.folder.as_deref().and_then(|folder| load_cached(engine, folder, &prefix))
        {
            return Ok(component);
        }
        let code = self.compile(engine, name, bytes)?;
        if let Some(folder) = &self.folder {
            match store(folder, &prefix, &code) {
                Ok(path) => match load_file(engine, &path) {
                    Ok(component) => return Ok(component),
                    Err(error) => tracing::warn!("{}: {error}", path.display()),
                },
                // The component is there all the same; the next process compiles again.
                Err(error) => tracing::warn!("compile cache {}: {error}", folder.display()),
            }
        }
        load_bytes(engine, &code)
    }

    /// Returns whether compiled components are kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    pub(crate) fn compile(&self, engine: &Engine, name: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let began = Instant::now();
        let tell = |elapsed: Duration, is_over: bool| {
            if let Some(told) = &self.on_compile {
                told(CompileProgress { name, bytes: bytes.len(), elapsed, is_over });
            }
        };
        tell(Duration::ZERO, false);
        let code = compile(engine, &self.compiler, self.limits, bytes, |elapsed| tell(elapsed, false));
        tell(began.elapsed(), true);
        code
    }
}

/// Makes the folder, and makes sure that it is this user's alone.
fn prepare(folder: &Path) -> Result<PathBuf, String> {
    let describe = |error: &dyn std::fmt::Display| format!("compile cache {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(|error| describe(&error))?;
    restrict(folder).map_err(|error| describe(&error))?;
    folder.canonicalize().map_err(|error| describe(&error))
}

/// A component whose file is there and sound.
fn load_cached(engine: &Engine, folder: &Path, prefix: &str) -> Option<Component> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
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
            Ok(component) => return Some(component),
            Err(error) => {
                tracing::warn!("compile cache {}: {error}; it is created again", path.display());
                let _ = std::fs::remove_file(&path);
            }
        }
    }
    None
}

fn check(path: &Path, checksum: &str) -> Result<(), String> {
    check_owner(path)?;
    let mut hasher = blake3::Hasher::new();
    std::fs::File::open(path)
        .and_then(|file| hasher.update_reader(file).map(drop))
        .map_err(|error| error.to_string())?;
    match hasher.finalize().to_hex().as_str() == checksum {
        true => Ok(()),
        false => Err("the file is not what was written".to_owned()),
    }
}

/// Writes the code under a name that says what it is.
fn store(folder: &Path, prefix: &str, code: &[u8]) -> std::io::Result<PathBuf> {
    use std::io::Write as _;
    let path = folder.join(format!("{prefix}{}.cwasm", blake3::hash(code).to_hex()));
    // Readable and writable by this user alone, which is what it makes.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(code)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[expect(unsafe_code, reason = "the only two places where machine code is loaded")]
fn load_file(engine: &Engine, path: &Path) -> Result<Component, String> {
    // SAFETY: the file was made by this program's own compiler, from a folder and with an owner that
    // were checked, and its checksum is that of what was written.
    unsafe { Component::deserialize_file(engine, path) }.map_err(|error| format!("{error:#}"))
}

#[expect(unsafe_code, reason = "the only two places where machine code is loaded")]
fn load_bytes(engine: &Engine, code: &[u8]) -> Result<Component, String> {
    // SAFETY: the bytes come from this program's own compiler.
    unsafe { Component::deserialize(engine, code) }.map_err(|error| format!("{error:#}"))
}

#[cfg(unix)]
fn restrict(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(folder).map_err(|error| error.to_string())?;
    check_user(&metadata)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(unix)]
fn check_owner(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    check_user(&metadata)?;
    match metadata.is_file() && metadata.permissions().mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err("it is not a regular file, or other users can write to it".to_owned()),
    }
}

#[cfg(unix)]
fn check_user(metadata: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    match metadata.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err("it belongs to another user, who could put code into it".to_owned()),
    }
}

#[cfg(not(unix))]
fn restrict(_folder: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_path: &Path) -> Result<(), String> {
    Ok(())
}
