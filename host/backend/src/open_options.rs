//! Open options: what the backends of a process share.

use crate::cache::AnswerCache;
use crate::http::{HttpHosts, HttpRecording};
use crate::llama_cpp::ModelProgram;
use gage_model_protocol::KernelVariant;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What the backends of a process share.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// The hosts that they ask, so that those which ask the same one keep to one limit.
    pub hosts: HttpHosts,
    /// Where their HTTP exchanges are recorded, or played back from.
    pub recording: Option<Arc<HttpRecording>>,
    /// Where their answers are kept.
    pub answers: Option<Arc<AnswerCache>>,
    /// Where the model files lie that were fetched from a hub, by how the suite names them.
    pub model_files: BTreeMap<PathBuf, PathBuf>,
    /// The program that runs models.
    pub model_program: ModelProgram,
    /// The kernel variants that a lock pins, by the id of the backend.
    pub kernel_variants: BTreeMap<String, KernelVariant>,
}
