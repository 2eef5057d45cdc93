//! Compilation of a component to machine code, with limits on time and memory.
//!
//! The compiler has no limits of its own, and a component of a few kilobytes can keep it busy for hours. The
//! program therefore compiles in a child process. The child is the program itself with the arguments of
//! [`ComponentCompiler::Child`]; in it, [`compile_from_stdin`] reads the component and writes the code.

use crate::engine::compiling_engine;
use crate::function_cache::{self, FunctionCache};
use crate::shortage::reported;
use gage_core::{MachineResource, ResourceShortage, ensure_threads, spawn_scoped};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use wasmtime::Engine;

/// Interval at which the child process is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum size of the machine code returned by a child, in bytes.
const MAX_CODE_BYTES: u64 = 2 << 30;

/// Process that compiles components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ComponentCompiler {
    /// This process, without limits; only for trusted components, such as those of tests.
    #[default]
    InProcess,
    /// A child process, which must call [`compile_from_stdin`].
    Child {
        /// The program.
        program: PathBuf,
        /// The arguments.
        arguments: Vec<String>,
    },
}

/// Maximum resources of a compilation. Small components get less, in proportion to their size. Not enforced
/// for [`ComponentCompiler::InProcess`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// CPU time of all cores; default 10 minutes. A Python component of 18 MB takes about one minute. The
    /// wall time limit is ten times as long, so that a busy machine does not cause failures.
    pub time: Duration,
    /// Address space of the child process; default 8 GiB.
    pub memory_bytes: u64,
}

/// Minimum time and memory of a compilation. Both limits grow with the size of the component.
pub(crate) const MIN_TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const SECONDS_PER_MEBIBYTE: u32 = 20;
pub(crate) const MIN_MEMORY_BYTES: u64 = 1 << 30;
pub(crate) const MEMORY_BYTES_PER_CODE_BYTE: u64 = 384;

/// Maximum number of threads of a child. Each one reserves address space, which the memory limit counts: with more
/// threads, a small component would not compile.
const MAX_THREADS: usize = 8;

/// Wall time limit of a compilation, as a multiple of its CPU time limit.
const WALL_TIME_FACTOR: u32 = 10;

impl CompileLimits {
    /// Returns the limits for a component of this size.
    fn for_size(self, bytes: usize) -> CompileLimits {
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let more = Duration::from_secs(u64::from(mebibytes.saturating_mul(SECONDS_PER_MEBIBYTE)));
        let memory =
            MIN_MEMORY_BYTES.saturating_add((bytes as u64).saturating_mul(MEMORY_BYTES_PER_CODE_BYTE));
        CompileLimits { time: self.time.min(MIN_TIMEOUT + more), memory_bytes: self.memory_bytes.min(memory) }
    }

    /// Returns the CPU time in seconds, the unit of the system's limit.
    fn seconds(self) -> u64 {
        self.time.as_secs().max(1)
    }

    /// Returns the maximum wall time.
    fn wall_time(self) -> Duration {
        self.time * WALL_TIME_FACTOR
    }

    /// Returns the message for a compilation that exceeded its time.
    fn too_slow(self) -> String {
        format!("it did not compile within {} s", self.time.as_secs_f64())
    }
}

impl Default for CompileLimits {
    fn default() -> CompileLimits {
        CompileLimits { time: Duration::from_secs(600), memory_bytes: 8 << 30 }
    }
}

/// Progress of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct CompileProgress<'a> {
    /// The component, as the suite names it.
    pub name: &'a str,
    /// Size of the component, in bytes.
    pub bytes: usize,
    /// Time since the start.
    pub elapsed: Duration,
    /// True if it has ended, successfully or not.
    pub is_over: bool,
}

/// Compiles with the given compiler. `functions` is the folder of the functions of earlier compilations, if they may be
/// used.
pub(crate) fn compile(
    engine: &Engine,
    compiler: &ComponentCompiler,
    limits: CompileLimits,
    functions: Option<&Path>,
    bytes: &[u8],
    mut progress: impl FnMut(Duration),
) -> Result<Vec<u8>, String> {
    match compiler {
        ComponentCompiler::InProcess => in_this_process(engine, bytes),
        ComponentCompiler::Child { program, arguments } => {
            let limits = limits.for_size(bytes.len());
            let mut command = Command::new(program);
            command.args(arguments).arg(limits.memory_bytes.to_string()).arg(limits.seconds().to_string());
            command.args(functions);
            in_child(command, limits, bytes, &mut progress)
        }
    }
}

fn in_this_process(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, String> {
    // The compiler would otherwise accept text too.
    if !bytes.starts_with(b"\0asm") {
        return Err("it is not a WebAssembly component".to_owned());
    }
    engine.precompile_component(bytes).map_err(|error| format!("it does not compile: {}", reported(&error)))
}

fn in_child(
    mut command: Command,
    limits: CompileLimits,
    bytes: &[u8],
    progress: &mut impl FnMut(Duration),
) -> Result<Vec<u8>, String> {
    let began = Instant::now();
    let mut child = command
        .env_clear()
        // Size of the allocator's initial reservation, in KiB. The memory limit applies to address space.
        .env("MIMALLOC_ARENA_RESERVE", "65536")
        .env(THREADS_VARIABLE, compiling_threads().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let message = format!("cannot start the process that compiles it: {error}");
            match ResourceShortage::of_process(&error) {
                Some(shortage) => shortage.while_doing(message).report().to_string(),
                None => message,
            }
        })?;
    let ended = std::thread::scope(|scope| {
        let (code, said) = match pass_bytes(scope, &mut child, bytes) {
            Ok(reading) => reading,
            Err(shortage) => {
                // The threads that were started end with the child.
                let _ = child.kill();
                let _ = child.wait();
                return Err(shortage.report().to_string());
            }
        };
        let status = wait_for(&mut child, limits, began, progress);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let said = said.join().ok().and_then(Result::ok).map(text).unwrap_or_default();
        let code = code.join().map_err(|_| "cannot read the compiled code".to_owned())?;
        status.map(|status| (status, code, said))
    });
    match ended? {
        (status, Ok(code), _) if status.success() && !code.is_empty() => Ok(code),
        (_, Ok(_), said) if said.starts_with("it ") && ResourceShortage::of_output(&said).is_none() => {
            Err(said)
        }
        // The memory of the child has a limit of its own, below.
        (_, _, said)
            if let Some(shortage) = ResourceShortage::of_output(&said)
                && shortage.resource() != MachineResource::Memory =>
        {
            Err(shortage.while_doing("the process that compiles it").report().to_string())
        }
        (status, ..) if was_too_slow(status) => Err(limits.too_slow()),
        (_, Err(error), _) => Err(format!("the process that compiles it: {error}")),
        (status, _, said) => {
            let most = limits.memory_bytes >> 20;
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            Err(format!("it does not compile within {most} MiB of memory ({status}{said})"))
        }
    }
}

/// Thread that reads a stream of the child.
type StreamReader<'scope> = ScopedJoinHandle<'scope, std::io::Result<Vec<u8>>>;

/// Starts threads that pass the component to the child, and read its code and its messages.
fn pass_bytes<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    child: &mut Child,
    bytes: &'env [u8],
) -> Result<(StreamReader<'scope>, StreamReader<'scope>), ResourceShortage> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // A child that ends early closes the pipe; its exit status reports why.
    spawn_scoped(scope, "compile-in", move || stdin.map(|mut pipe| pipe.write_all(bytes)))?;
    let code = spawn_scoped(scope, "compile-out", move || {
        let mut code = Vec::new();
        stdout.map(|pipe| pipe.take(MAX_CODE_BYTES).read_to_end(&mut code)).transpose().map(|_| code)
    })?;
    let said = spawn_scoped(scope, "compile-err", move || {
        let mut said = Vec::new();
        stderr.map(|pipe| pipe.take(8 << 10).read_to_end(&mut said)).transpose().map(|_| said)
    })?;
    Ok((code, said))
}

/// Waits for the end of the child, and ends it when its time is over.
fn wait_for(
    child: &mut Child,
    limits: CompileLimits,
    began: Instant,
    progress: &mut impl FnMut(Duration),
) -> Result<ExitStatus, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if began.elapsed() < limits.wall_time() => {
                progress(began.elapsed());
                std::thread::sleep(POLL_INTERVAL);
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(limits.too_slow());
            }
            Err(error) => return Err(format!("the process that compiles it: {error}")),
        }
    }
}

/// Variable with the number of threads of a child.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";

fn compiling_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Entry point of the child: limits its own memory and CPU time, reads a component from standard input, and
/// writes its code to standard output. `functions` is the folder of the functions of earlier compilations, if they may be
/// used.
///
/// # Errors
/// The reason why it does not compile. The caller prints it to standard error and exits with a nonzero code.
pub fn compile_from_stdin(memory_bytes: u64, seconds: u64, functions: Option<&Path>) -> Result<(), String> {
    bound(memory_bytes, seconds)?;
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    // The library that compiles in parallel panics without its threads.
    let is_parallel = ensure_threads(compiling_threads()).is_ok();
    let engine = compiling_engine(is_parallel, None)?;
    let code = match functions.and_then(|folder| FunctionCache::open(folder, &engine, &bytes)) {
        Some(cache) => {
            function_cache::compile(&cache, |store| compiling_engine(is_parallel, Some(store)), &bytes)?
        }
        None => in_this_process(&engine, &bytes)?,
    };
    let mut output = std::io::stdout().lock();
    output.write_all(&code).and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// Returns whether a child was killed for exceeding its CPU time.
#[cfg(unix)]
fn was_too_slow(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(unix)]
fn bound(memory_bytes: u64, seconds: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let exactly = |most| Rlimit { current: Some(most), maximum: Some(most) };
    // The soft limit's signal is distinguishable from an ordinary kill.
    let time = Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(5)) };
    // Prevents a core file of several gigabytes when a limit is hit.
    setrlimit(Resource::Core, exactly(0))
        .and_then(|()| setrlimit(Resource::As, exactly(memory_bytes)))
        .and_then(|()| setrlimit(Resource::Cpu, time))
        .map_err(|error| format!("cannot bound its own memory and time: {error}"))
}

#[cfg(not(unix))]
fn was_too_slow(_status: ExitStatus) -> bool {
    false
}

#[cfg(not(unix))]
fn bound(_memory_bytes: u64, _seconds: u64) -> Result<(), String> {
    Ok(())
}
