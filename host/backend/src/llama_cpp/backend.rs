//! The backend as the rest of the program sees it.

use super::generation::DEFAULT_MAX_NEW_TOKENS;
use super::model::{BINDINGS_VERSION, ModelFacts, SOURCES_VERSION, check_file};
use super::options::{ChatTemplateChoice, LlamaCppOpenError, LlamaCppOptions, Settings};
use super::runtime::internal;
use super::sampling::DEFAULT_SEED;
use super::special::{SpecialTokens, texts_of, unused_mark};
use super::tokenizer::Prompt;
use super::worker::{self, GenerateJob, Job, Loaded, ScoreJob, ScoredText};
use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, Continuation, GenerateRequest,
    LoglikelihoodOutput, LoglikelihoodRequest, Reply,
};
use async_trait::async_trait;
use gage_core::{Digest, Message, ModelOutput, Object, SamplingParams};
use gage_template::ChatTemplate;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Requests in flight for each slot, so that a slot which falls free never waits for the next.
const REQUESTS_PER_SLOT: usize = 4;

/// A model that runs in this process.
struct LlamaCppBackend {
    info: BackendInfo,
    template: ChatTemplate,
    special_tokens: SpecialTokens,
    default_params: SamplingParams,
    jobs: Sender<Job>,
}

/// Loads a model, on a thread of its own, and computes the digest of its file meanwhile. The
/// thread ends when the backend is dropped.
///
/// # Errors
/// When the file is not a model that llama.cpp can load, an option is out of bounds, or the chat
/// template cannot be compiled.
pub async fn open(options: LlamaCppOptions) -> Result<Arc<dyn Backend>, LlamaCppOpenError> {
    let path = options.model_path.clone();
    let size = blocking(move || check_file(&path)).await?;
    let path = options.model_path.clone();
    let digest = blocking(move || file_digest(&path));

    let (jobs, receiver) = channel();
    let (ready, loaded) = oneshot::channel();
    let thread_options = options.clone();
    std::thread::Builder::new()
        .name("llama.cpp".to_owned())
        .spawn(move || worker::run(&thread_options, ready, &receiver))
        .map_err(|error| LlamaCppOpenError::Thread(error.to_string()))?;
    let (loaded, digest) = tokio::join!(loaded, digest);
    let Loaded { facts, settings } = loaded
        .map_err(|_| LlamaCppOpenError::Thread("it panicked while it loaded the model".to_owned()))??;

    let (template, template_source) = template_of(&options.chat_template, &facts)?;
    let mut details = details_of(&facts, &settings, &options);
    details.insert("file_bytes".to_owned(), size.into());
    details.insert("file_digest".to_owned(), digest?.to_string().into());
    details.insert("chat_template".to_owned(), template_source.into());
    if let Some(digest) = template.digest() {
        details.insert("chat_template_digest".to_owned(), digest.to_string().into());
    }
    let file_name = options.model_path.file_name().unwrap_or(options.model_path.as_os_str());
    Ok(Arc::new(LlamaCppBackend {
        info: BackendInfo {
            kind: "llama_cpp",
            model: file_name.to_string_lossy().into_owned(),
            capabilities: Capabilities { generate: true, loglikelihood: true, media: false },
            max_concurrency: settings.slots * REQUESTS_PER_SLOT,
            details,
        },
        template,
        special_tokens: SpecialTokens::new(facts.special_tokens),
        default_params: options.default_params,
        jobs,
    }))
}

/// Runs what blocks away from the threads that drive tasks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LlamaCppOpenError> + Send + 'static,
) -> Result<T, LlamaCppOpenError> {
    spawn_blocking(work).await.map_err(|error| LlamaCppOpenError::Thread(error.to_string()))?
}

fn file_digest(path: &Path) -> Result<Digest, LlamaCppOpenError> {
    let digest = File::open(path).and_then(Digest::of_reader);
    digest.map_err(|reason| LlamaCppOpenError::File { path: path.to_owned(), reason })
}

/// The template, and where it is from.
fn template_of(
    choice: &ChatTemplateChoice,
    facts: &ModelFacts,
) -> Result<(ChatTemplate, &'static str), LlamaCppOpenError> {
    let (text, origin) = match (choice, &facts.chat_template) {
        (ChatTemplateChoice::None, _) => return Ok((ChatTemplate::none(), "none")),
        (ChatTemplateChoice::Model, None) => {
            tracing::warn!(
                "the model file carries no chat template; messages are given to the model as they are"
            );
            return Ok((ChatTemplate::none(), "none: the model file carries no template"));
        }
        (ChatTemplateChoice::Model, Some(text)) => (text, "the model file"),
        (ChatTemplateChoice::Text(text), _) => (text, "the configuration"),
    };
    match ChatTemplate::compile(text, &facts.bos_token, &facts.eos_token) {
        Ok(template) => Ok((template, origin)),
        Err(reason) => Err(LlamaCppOpenError::ChatTemplate { origin, reason }),
    }
}

fn details_of(facts: &ModelFacts, settings: &Settings, options: &LlamaCppOptions) -> Object {
    let details = json!({
        "architecture": facts.architecture,
        "name": facts.name,
        "parameters": facts.parameters,
        "quantization": facts.quantization,
        "tensor_bytes": facts.tensor_bytes,
        "vocabulary_size": facts.vocabulary_size,
        "training_context_length": facts.training_context,
        "context_length": settings.context_length,
        "slots": settings.slots,
        "threads": settings.threads,
        "batch_size": settings.batch_size,
        "prefix_chunk": settings.chunk,
        "gpu_layers": options.gpu_layers,
        "default_seed": DEFAULT_SEED,
        "default_max_new_tokens": DEFAULT_MAX_NEW_TOKENS,
        "llama_cpp_2": BINDINGS_VERSION,
        "llama_cpp_sys_2": SOURCES_VERSION,
    });
    match details {
        Value::Object(mut details) => {
            details.retain(|_, value| !value.is_null());
            details
        }
        _ => Object::new(),
    }
}

fn scored_text(continuation: &Continuation, text: String) -> ScoredText {
    let byte_count = u32::try_from(continuation.text.len()).unwrap_or(u32::MAX);
    ScoredText { id: continuation.id.clone(), text, byte_count }
}

impl LlamaCppBackend {
    /// The conversation, and the texts that may follow it, as the model reads them.
    fn prompt(
        &self,
        id: &str,
        messages: &[Message],
        rendered: Option<String>,
        tools: &[Value],
        continuations: &[Continuation],
    ) -> Result<(Prompt, Vec<ScoredText>), BackendError> {
        if let Some(text) = rendered {
            // Whatever special tokens it spells are meant, as far as anybody can tell.
            let prompt = Prompt { text, has_special_tokens: true, mark: None };
            return Ok((
                prompt,
                continuations.iter().map(|one| scored_text(one, one.text.clone())).collect(),
            ));
        }
        if messages.iter().any(Message::has_media) {
            let message = format!("request '{id}': llama_cpp takes text only, and a message holds media");
            return Err(BackendError::new(BackendErrorKind::Unsupported, message));
        }
        let rejected = |reason: String| {
            BackendError::new(BackendErrorKind::Rejected, format!("request '{id}': {reason}"))
        };
        let texts =
            texts_of(messages).chain(continuations.iter().map(|continuation| continuation.text.as_str()));
        let is_templated = !self.template.is_none();
        let mut mark = None;
        if is_templated && texts.clone().any(|text| self.special_tokens.occur_in(text)) {
            tracing::warn!(
                request = id,
                "a message spells a special token of the model; it is read as plain text"
            );
            let unused =
                unused_mark(texts).ok_or_else(|| rejected("its text uses all noncharacters".to_owned()))?;
            mark = Some(unused);
        }
        let rendered = match mark {
            None => self.template.render(messages, tools),
            Some(mark) => self.template.render(&self.special_tokens.marked_messages(messages, mark), tools),
        };
        let text = rendered.map_err(|error| rejected(error.to_string()))?;
        let continuations = continuations.iter().map(|continuation| {
            let text = match mark {
                None => continuation.text.clone(),
                Some(mark) => self.special_tokens.marked(&continuation.text, mark),
            };
            scored_text(continuation, text)
        });
        Ok((Prompt { text, has_special_tokens: is_templated, mark }, continuations.collect()))
    }

    /// Hands a request to the thread of the model and waits for the answer.
    async fn ask<T>(
        &self,
        job: Job,
        answer: oneshot::Receiver<Result<Reply<T>, BackendError>>,
    ) -> Result<Reply<T>, BackendError> {
        let ended = || internal("the thread of the model has ended; its panic is in the log");
        self.jobs.send(job).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

#[async_trait]
impl Backend for LlamaCppBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: GenerateRequest) -> Result<Reply<ModelOutput>, BackendError> {
        let GenerateRequest { id, messages, prompt, params, tools, tool_choice: _, draw: _ } = request;
        let (prompt, _) = self.prompt(&id, &messages, prompt, &tools, &[])?;
        let params = params.over(&self.default_params);
        let (reply, answer) = oneshot::channel();
        self.ask(Job::Generate(GenerateJob { id, prompt, params, reply }), answer).await
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let LoglikelihoodRequest { id, messages, prompt, continuations } = request;
        let (prompt, continuations) = self.prompt(&id, &messages, prompt, &[], &continuations)?;
        let (reply, answer) = oneshot::channel();
        self.ask(Job::Score(ScoreJob { id, prompt, continuations, reply }), answer).await
    }
}
