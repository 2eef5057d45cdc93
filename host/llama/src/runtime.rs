//! Process-wide state: llama.cpp itself, its log, and the lock under which contexts are created.

use crate::captured_log::captured_at;
use crate::compute_capability::compute_capability_in;
use crate::kernel_modules::{LoadedKernels, load_kernel_modules};
use crate::load_error::LoadError;
use gage_model_protocol::{JobError, JobErrorKind};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::{LogOptions, list_llama_ggml_backend_devices, send_logs_to_tracing};
use parking_lot::Mutex;
use std::sync::OnceLock;
use tracing::Level;

/// llama.cpp, its kernels, and the compute capability of its GPUs.
struct Runtime {
    backend: LlamaBackend,
    kernels: LoadedKernels,
    compute_capability: Option<String>,
}

/// The runtime, or the reason why it does not start.
static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// Serializes the creation of contexts, which mutates the model through a shared reference.
static NEW_CONTEXT: Mutex<()> = Mutex::new(());

/// Starts llama.cpp on first use and forwards its log to `tracing`. It is never stopped.
///
/// # Errors
/// If it does not start.
pub fn runtime() -> Result<&'static LlamaBackend, LoadError> {
    started().map(|runtime| &runtime.backend)
}

/// Returns the kernels that llama.cpp computes with. Starts it on first use.
///
/// # Errors
/// If it does not start, for example because it has no kernels for the processor.
pub fn kernels_in_use() -> Result<&'static LoadedKernels, LoadError> {
    started().map(|runtime| &runtime.kernels)
}

/// Returns the compute capability of the GPUs that a build with `cuda` computes on.
pub fn compute_capability() -> Option<&'static str> {
    started().ok().and_then(|runtime| runtime.compute_capability.as_deref())
}

fn started() -> Result<&'static Runtime, LoadError> {
    RUNTIME.get_or_init(start).as_ref().map_err(|reason: &String| LoadError::Runtime(reason.clone()))
}

fn start() -> Result<Runtime, String> {
    send_logs_to_tracing(LogOptions::default());
    if std::env::var_os("OMP_WAIT_POLICY").is_none() {
        tracing::info!("OMP_WAIT_POLICY is not set; `passive` is faster if cores are busy");
    }
    // The CUDA backend logs its GPUs when it is loaded, or if it is compiled in, when devices are first listed.
    let (loaded, log) = captured_at(Level::INFO, || -> Result<(LlamaBackend, LoadedKernels), String> {
        // Without kernels, llama.cpp would search the working directory for some.
        let kernels = load_kernel_modules()?;
        let backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        drop(list_llama_ggml_backend_devices());
        Ok((backend, kernels))
    });
    let (backend, kernels) = loaded?;
    Ok(Runtime { backend, kernels, compute_capability: compute_capability_in(&log) })
}

/// Creates a context, one at a time in the whole process.
///
/// # Errors
/// Usually if memory does not suffice.
pub fn new_context(model: &LlamaModel, parameters: LlamaContextParams) -> Result<LlamaContext<'_>, JobError> {
    let runtime = runtime().map_err(|error| internal(error.to_string()))?;
    let cells = parameters.n_ctx().map_or(0, u32::from);
    let _only_one = NEW_CONTEXT.lock();
    model
        .new_context(runtime, parameters)
        .map_err(|error| internal(format!("llama.cpp cannot make a context of {cells} tokens: {error}")))
}

/// Creates an error that the request did not cause.
pub fn internal(message: impl Into<String>) -> JobError {
    JobError::new(JobErrorKind::Internal, message)
}
