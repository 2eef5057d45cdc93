//! Builds Rust plugins into WebAssembly components.
//!
//! Finds a compiler for `wasm32-unknown-unknown`, builds the core modules with cargo, and turns each into a
//! component. Used by the build scripts of crates that embed components, and for the projects of plugin
//! authors. Depends on nothing else in this workspace.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wit_component::ComponentEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

/// Path of the WebAssembly-capable compiler from Debian's packages `rustc-web` and `rust-web-src`.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
/// Enables WebAssembly SIMD, which every current engine supports; loops over bytes become several times
/// faster.
const VECTORS: &str = "target-feature=+simd128";
/// Inlines larger functions than by default (225), since a call costs more where fuel is counted. In the median, this
/// makes a metric 7 % faster; components are 11 % larger.
const INLINING: &str = "llvm-args=-inline-threshold=500";
/// Lets crates compile that can draw random numbers from the system, through the crate `getrandom`. A component has no
/// such source: drawing one is an error.
const NO_RANDOM_SOURCE: &str = r#"getrandom_backend="unsupported""#;

/// A compiler that can build for WebAssembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// The active toolchain has the target installed.
    Installed,
    /// Debian's compiler, with the standard library built from its sources.
    Debian,
}

impl Compiler {
    /// Finds a compiler: the active toolchain if it has the target, or else Debian's.
    ///
    /// # Errors
    /// Installation instructions if there is neither.
    pub fn find() -> Result<Compiler, String> {
        Compiler::find_in(Path::new("."))
    }

    /// Finds the compiler for a project, whose folder may select its own toolchain.
    ///
    /// # Errors
    /// Same as for [`Compiler::find`].
    pub fn find_in(folder: &Path) -> Result<Compiler, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        if sysroot_of(&rustc, folder).is_some_and(|root| root.join("lib/rustlib").join(TARGET).is_dir()) {
            return Ok(Compiler::Installed);
        }
        let sources = sysroot_of(OsStr::new(DEBIAN_RUSTC), folder)
            .map(|root| root.join("lib/rustlib/src/rust/library/std"));
        if sources.is_some_and(|sources| sources.is_dir()) {
            return Ok(Compiler::Debian);
        }
        Err(format!(
            "there is no compiler for {TARGET}. Install one of:\n  \
             rustup target add {TARGET}\n  \
             apt-get install rustc-web rust-web-src rust-web-llvm lld-22"
        ))
    }

    /// Like [`Compiler::find_in`], but if there is no compiler, adds the target with rustup. `say` is called
    /// before that.
    ///
    /// # Errors
    /// Same as for [`Compiler::find`], with rustup's output.
    pub fn find_or_install(folder: &Path, say: &dyn Fn(&str)) -> Result<Compiler, String> {
        let missing = match Compiler::find_in(folder) {
            Ok(compiler) => return Ok(compiler),
            Err(missing) => missing,
        };
        let mut rustup = Command::new("rustup");
        rustup.args(["target", "add", TARGET]).current_dir(folder);
        rustup.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Ok(running) = rustup.spawn() else { return Err(missing) };
        say(&format!("running rustup target add {TARGET}"));
        let output = running.wait_with_output().map_err(|error| format!("cannot run rustup: {error}"))?;
        if output.status.success() {
            return Compiler::find_in(folder);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{missing}\nrustup target add {TARGET} was tried, and failed:\n{}", said.trim_end()))
    }

    /// Returns the command that builds with this compiler in release mode, in the environment of this
    /// process. `target` is the folder of intermediate files.
    pub fn cargo_build(&self, manifest: &Path, target: &Path) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "--release", "--target", TARGET, "--manifest-path"]).arg(manifest);
        command.arg("--target-dir").arg(target);
        command.arg("--config").arg(flags(manifest));
        if *self == Compiler::Debian {
            command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
            command.arg("-Zbuild-std=std,panic_abort");
        }
        command
    }

    /// Returns the version of the compiler for a project, as the compiler prints it.
    ///
    /// # Errors
    /// If the compiler does not run.
    pub fn version(&self, folder: &Path) -> Result<String, String> {
        let rustc = self.rustc();
        let output = Command::new(&rustc).arg("--version").current_dir(folder).output();
        let output = output.map_err(|error| format!("cannot run '{}': {error}", rustc.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Returns the folders with the sources of the standard library, which a build from source reads.
    pub fn library_sources(&self, folder: &Path) -> Vec<PathBuf> {
        let sources = sysroot_of(&self.rustc(), folder).map(|root| root.join("lib/rustlib/src/rust"));
        // Debian's is a link.
        let target = sources.as_ref().and_then(|sources| sources.canonicalize().ok());
        sources.into_iter().chain(target).collect()
    }

    /// Returns the program.
    fn rustc(&self) -> OsString {
        match self {
            Compiler::Installed => std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()),
            Compiler::Debian => DEBIAN_RUSTC.into(),
        }
    }

    /// Returns a description for logs.
    pub fn describe(&self) -> &'static str {
        match self {
            Compiler::Installed => "the installed target wasm32-unknown-unknown",
            Compiler::Debian => "Debian's rustc with a standard library built from source",
        }
    }
}

/// Returns the compiler flags: SIMD support, inlining, no source of random numbers, and path remapping, so that the same
/// sources give the same bytes in any folder. Project paths become `/plugin`, and those of other packages
/// `/registry`.
fn flags(manifest: &Path) -> String {
    let mut flags = ["-C", VECTORS, "-C", INLINING, "--cfg", NO_RANDOM_SOURCE].map(str::to_owned).to_vec();
    let mut leave_out = |folder: PathBuf, name: &str| {
        if let Some(folder) = folder.to_str() {
            flags.push(format!("--remap-path-prefix={folder}={name}"));
        }
    };
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    if let Some(home) = home {
        let sources = std::fs::read_dir(home.join("registry/src")).into_iter().flatten();
        // The last match wins.
        leave_out(home, "/cargo");
        sources.flatten().for_each(|entry| leave_out(entry.path(), "/registry"));
    }
    if let Some(folder) = manifest.parent().and_then(|folder| std::fs::canonicalize(folder).ok()) {
        leave_out(folder, "/plugin");
    }
    // Single-quoted TOML strings have no escapes.
    let quoted: Vec<String> =
        flags.iter().filter(|flag| !flag.contains('\'')).map(|flag| format!("'{flag}'")).collect();
    format!("target.{TARGET}.rustflags=[{}]", quoted.join(","))
}

fn sysroot_of(rustc: &OsStr, folder: &Path) -> Option<PathBuf> {
    let output = Command::new(rustc).args(["--print", "sysroot"]).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

/// Returns the path at which [`Compiler::cargo_build`] leaves the core module of a library, below the folder
/// of intermediate files.
pub fn module_of(target: &Path, library: &str) -> PathBuf {
    target.join(TARGET).join("release").join(format!("{}.wasm", library.replace('-', "_")))
}

/// Builds packages of a workspace of plugins and returns a component for each, in order.
///
/// `target` is the folder of intermediate files; share one folder, so that the standard library is built only
/// once.
///
/// # Errors
/// If there is no compiler, cargo fails, or a module does not make a component.
pub fn build(manifest: &Path, target: &Path, packages: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    let compiler = Compiler::find()?;
    let mut command = compiler.cargo_build(manifest, target);
    if manifest.with_file_name("Cargo.lock").exists() {
        command.arg("--locked");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    // A build script's inherited settings are meant for the host's compiler, not for this one.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_for_host = name.starts_with("CARGO_") && name != "CARGO_HOME";
        if is_for_host
            || ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC"].contains(&name.as_str())
            || (name == "RUSTC" && compiler == Compiler::Installed)
        {
            command.env_remove(name);
        }
    }
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("building plugins with {} failed:\n{said}", compiler.describe()));
    }
    packages
        .iter()
        .map(|package| {
            let module = module_of(target, package);
            let bytes = std::fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
            componentize(&bytes).map_err(|error| format!("{package}: {error}"))
        })
        .collect()
}

/// Turns a core module that was built with bindings into a component.
///
/// # Errors
/// If the module does not fit the world that its bindings name.
pub fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| format!("does not make a component: {error:#}"))
}

/// Builds packages in a build script, and writes a component for each, named after it, to `OUT_DIR`. Prints
/// cargo's rebuild conditions.
///
/// # Errors
/// Same as for [`build`].
pub fn build_for_script(manifest: &Path, sources: &[&Path], packages: &[&str]) -> Result<(), String> {
    for source in sources {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    println!("cargo::rerun-if-changed={}", manifest.display());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    // OUT_DIR is target/<profile>/build/<package>/out; all profiles share one folder.
    let target = out.ancestors().nth(4).ok_or("OUT_DIR has an unexpected shape")?.join("plugins");
    let components = build(manifest, &target, packages)?;
    for (package, bytes) in packages.iter().zip(components) {
        let file = out.join(format!("{package}.wasm"));
        std::fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
