//! Tries the inputs of a target, on a thread with the stack of the program's own threads.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::thread::Builder;

/// Stack of a thread of the program, in bytes: the default of Rust and of its async runtime.
const STACK_BYTES: usize = 2 << 20;

/// Maximum number of attempts to reduce an input that fails.
const MAX_REDUCTIONS: u32 = 2_000;

/// Variable with the number of inputs for each target.
const CASES_VARIABLE: &str = "GAGE_FUZZ_CASES";

/// Numbers of inputs that were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputCounts {
    /// Number of all inputs.
    pub tried: u64,
    /// Number of inputs that the parser accepted.
    pub accepted: u64,
}

/// An input for which a property does not hold.
#[derive(Clone, Debug)]
pub struct FailingInput {
    /// Property that does not hold.
    pub reason: String,
    /// The reduced input.
    pub input: FuzzInput,
}

/// Choice of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputChoice {
    /// Each process tries the same inputs.
    Repeatable,
    /// Each process tries new inputs.
    New,
}

/// Checks a target in a test run: its valid inputs, those that once failed, and generated ones.
///
/// # Errors
/// If a property does not hold, or if the parser refuses a valid input or all generated ones. Then only its first check would
/// be tested.
pub fn check(target: &Target) -> Result<InputCounts, String> {
    on_thread(target, || check_here(target))?
}

fn check_here(target: &Target) -> Result<InputCounts, String> {
    let name = target.name;
    let seeds = (target.seeds)();
    if seeds.is_empty() {
        return Err(format!("{name}: there are no valid inputs"));
    }
    for seed in &seeds {
        let shown = || seed.escape_ascii();
        match (target.check)(seed) {
            Ok(Verdict::Accepted) => {}
            Ok(Verdict::Refused) => return Err(format!("{name}: a valid input is refused: {}", shown())),
            Err(wrong) => return Err(format!("{name}: {wrong}: {}", shown())),
        }
    }
    let failed = |error: std::io::Error| format!("{name}: {error}");
    for (path, input) in corpus(target).map_err(failed)? {
        (target.check)(&input).map_err(|wrong| format!("{}: {wrong}", path.display()))?;
    }
    let (cases, choice) = cases_of(target);
    match try_inputs(target, cases, choice, &|_| {}) {
        Ok(InputCounts { tried, accepted: 0 }) => Err(format!("{name}: all {tried} inputs are refused")),
        Ok(counts) => Ok(counts),
        Err(failing) => {
            let path = save(target, &failing).map_err(failed)?;
            let FailingInput { reason, input } = failing;
            Err(format!("{name}: {reason}\nthe input is in {}: {input:?}", path.display()))
        }
    }
}

/// Returns the number of inputs of a target in a test run, and how they are chosen.
fn cases_of(target: &Target) -> (u32, InputChoice) {
    match std::env::var(CASES_VARIABLE).ok().and_then(|cases| cases.parse().ok()) {
        Some(cases) => (cases, InputChoice::New),
        None => (target.cases, InputChoice::Repeatable),
    }
}

/// Does some work on a thread with the stack of the program's own threads. If it overflows, the message of the system names
/// the target.
///
/// # Errors
/// If there is no thread, or the work panics.
pub fn on_thread<T: Send>(target: &Target, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let builder = Builder::new().name(target.name.to_owned()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| error.to_string())?;
        thread.join().map_err(|_| format!("{}: the thread of the target panicked", target.name))
    })
}

/// Tries some inputs on this thread. `before` is called with each of them.
///
/// # Errors
/// Returns the reduced input if a property does not hold for one.
pub fn try_inputs(
    target: &Target,
    cases: u32,
    choice: InputChoice,
    before: &dyn Fn(&[u8]),
) -> Result<InputCounts, FailingInput> {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: MAX_REDUCTIONS, ..Config::default() };
    let mut runner = match choice {
        InputChoice::Repeatable => {
            let random = TestRng::deterministic_rng(config.rng_algorithm);
            TestRunner::new_with_rng(config, random)
        }
        InputChoice::New => TestRunner::new(config),
    };
    let counts = Cell::new(InputCounts::default());
    let result = runner.run(&(target.inputs)(), |input| {
        before(&input.0);
        let verdict = (target.check)(&input.0).map_err(TestCaseError::fail)?;
        let InputCounts { tried, accepted } = counts.get();
        counts.set(InputCounts {
            tried: tried + 1,
            accepted: accepted + u64::from(verdict == Verdict::Accepted),
        });
        Ok(())
    });
    match result {
        Ok(()) => Ok(counts.get()),
        Err(TestError::Fail(reason, input)) => Err(FailingInput { reason: reason.to_string(), input }),
        Err(TestError::Abort(reason)) => {
            Err(FailingInput { reason: reason.to_string(), input: FuzzInput(Vec::new()) })
        }
    }
}

/// Returns the committed inputs of a target that once failed, with their paths.
///
/// # Errors
/// If a file cannot be read.
fn corpus(target: &Target) -> std::io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(&path).map(|bytes| (path, bytes))).collect()
}

/// Returns the folder for results of targets, below the folder of build results.
pub fn results_folder() -> PathBuf {
    let results = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let results = results.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    results.join("fuzz")
}

/// Returns the folder for failing inputs of a target.
pub fn failures_folder(target: &Target) -> PathBuf {
    results_folder().join(target.name)
}

/// Writes a failing input, and returns its path.
///
/// # Errors
/// If the file system refuses.
pub fn save(target: &Target, failing: &FailingInput) -> std::io::Result<PathBuf> {
    let folder = failures_folder(target);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(gage_core::Digest::of_bytes(&failing.input.0).short());
    std::fs::write(&path, &failing.input.0)?;
    Ok(path)
}
