//! What there is once in a process: llama.cpp itself, its log, and the lock under which
//! contexts are made.

use super::load_options::LlamaCppOpenError;
use crate::api::{BackendError, BackendErrorKind};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::{LogOptions, list_llama_ggml_backend_devices, send_logs_to_tracing};
use std::sync::{Mutex, OnceLock, PoisonError};

static RUNTIME: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();

/// Making a context changes the model behind a shared reference, so that no two are made at
/// once.
static NEW_CONTEXT: Mutex<()> = Mutex::new(());

/// Starts llama.cpp when it is first asked for, and sends its log to `tracing`. It is never
/// stopped.
///
/// # Errors
/// When it does not start.
pub fn runtime() -> Result<&'static LlamaBackend, LlamaCppOpenError> {
    let start = || {
        send_logs_to_tracing(LogOptions::default());
        if std::env::var_os("OMP_WAIT_POLICY").is_none() {
            tracing::info!("OMP_WAIT_POLICY is not set; `passive` is faster where cores are busy");
        }
        LlamaBackend::init().map_err(|error| error.to_string())
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|reason| LlamaCppOpenError::Runtime(reason.clone()))
}

/// Makes a context, one at a time in the whole process.
///
/// # Errors
/// Mostly for want of memory.
pub fn new_context(
    model: &LlamaModel,
    parameters: LlamaContextParams,
) -> Result<LlamaContext<'_>, BackendError> {
    let runtime = runtime().map_err(|error| internal(error.to_string()))?;
    let cells = parameters.n_ctx().map_or(0, u32::from);
    let _only_one = NEW_CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    model
        .new_context(runtime, parameters)
        .map_err(|error| internal(format!("llama.cpp cannot make a context of {cells} tokens: {error}")))
}

/// The devices that llama.cpp computes on, with the extensions of the processor that this machine has and
/// llama.cpp is built to use.
pub fn kernels() -> String {
    let devices = list_llama_ggml_backend_devices();
    let names: Vec<String> =
        devices.iter().map(|device| format!("{} ({})", device.name, device.description.trim())).collect();
    format!(
        "{}; built for {}, llamafile {}, repacking {}",
        names.join(", "),
        built_for(),
        flag("GGML_LLAMAFILE", true),
        flag("GGML_CPU_REPACK", true)
    )
}

/// How a switch of the build stands: llama.cpp's build reads the same variables.
fn flag(name: &str, default: bool) -> &'static str {
    let set = match name {
        "GGML_LLAMAFILE" => option_env!("GGML_LLAMAFILE"),
        "GGML_CPU_REPACK" => option_env!("GGML_CPU_REPACK"),
        "GGML_AVX512" => option_env!("GGML_AVX512"),
        _ => option_env!("GGML_AVX512_VNNI"),
    };
    let is_on = set.map_or(default, |set| matches!(set, "ON" | "on" | "1" | "TRUE" | "YES"));
    if is_on { "on" } else { "off" }
}

fn built_for() -> String {
    if !cfg!(target_arch = "x86_64") {
        return std::env::consts::ARCH.to_owned();
    }
    let mut extensions = "AVX2, FMA, F16C, BMI2".to_owned();
    for (name, shown) in [("GGML_AVX512", ", AVX-512"), ("GGML_AVX512_VNNI", ", AVX-512 VNNI")] {
        if flag(name, false) == "on" {
            extensions.push_str(shown);
        }
    }
    extensions
}

/// An error that is not the request's fault.
pub fn internal(message: impl Into<String>) -> BackendError {
    BackendError::new(BackendErrorKind::Internal, message)
}
