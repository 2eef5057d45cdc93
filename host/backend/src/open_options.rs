//! Resources shared by the backends of a process.

use crate::cache::AnswerCache;
use crate::http::{HttpBatch, HttpHosts, HttpRecording};
use crate::llama_cpp::ModelProgram;
use gage_model_protocol::KernelVariant;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Resources shared by the backends of a process.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Hosts that they send requests to. Backends with the same host share one limit.
    pub hosts: HttpHosts,
    /// Requests in flight that the run wants. More than the default of `max_concurrency` raise that default.
    pub concurrency: usize,
    /// Recording to which their HTTP exchanges are written, or from which they are replayed.
    pub recording: Option<Arc<HttpRecording>>,
    /// Requests to the model under test that are answered in bulk.
    pub batch: Option<Arc<HttpBatch>>,
    /// Cache of their answers.
    pub answers: Option<Arc<AnswerCache>>,
    /// Local paths of model files fetched from a hub, by their names in the suite.
    pub model_files: BTreeMap<PathBuf, PathBuf>,
    /// Program that runs models.
    pub model_program: ModelProgram,
    /// Kernel variants that a lock pins, by backend id.
    pub kernel_variants: BTreeMap<String, KernelVariant>,
    /// Numbers of layers on GPUs with which a resumed run began, by backend id. They hold for models without `gpu_layers`.
    pub gpu_layers: BTreeMap<String, u32>,
}
