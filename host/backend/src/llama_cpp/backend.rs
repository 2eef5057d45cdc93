//! The llama.cpp backend as the rest of the program sees it.

use super::chat_renderer::ChatRenderer;
use super::details::details_of;
use super::deterministic_support::check_deterministic;
use super::hang_watchdog::WatchdogLimits;
use super::image_placement::{images_of, with_marked_images};
use super::json_schema_support::check_schema;
use super::model_client::internal;
use super::model_program::{FoundProgram, ModelProgram};
use super::open_options::LlamaCppOptions;
use super::process::not_started;
use super::replica_placement::ReplicaPlacement;
use super::replica_pool::ReplicaPool;
use super::special_token_escaping::{SpecialTokens, texts_of, unused_mark};
use super::warnings::warn_of_less;
use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, CHAT_TEMPLATE_FACT, Capabilities, Continuation,
    EmbedOutput, EmbedRequest, GenerateRequest, LoglikelihoodOutput, LoglikelihoodRequest, MediaSupport,
    Reply, RequestTiming, RollingOutput, RollingRequest,
};
use crate::trailing_space;
use async_trait::async_trait;
use gage_config::{ChatTemplate as ChatTemplateChoice, Kernels, OutputConstraint, Replicas, model_parts};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, Message, ModelOutput, Object, PinnedFile, SamplingParams, Usage};
use gage_model_protocol::gguf::{Gguf, GgufError, Purpose};
use gage_model_protocol::{
    Answer, Completion, Constraint, GenerateTask, GrammarSource, Job, JobResult, KernelVariant, LoadedModel,
    ModelFacts, ModelOptions, Prompt, ScoredText, Task,
};
use gage_plugin::Registry;
use gage_template::{ChatTemplate, ContentForm, TemplateSandbox, joined_texts};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::spawn_blocking;

/// Reason why no marker can be inserted into a text.
const NO_MARK: &str = "its text uses all noncharacters";

/// Backend for a model that llama.cpp runs.
struct LlamaCppBackend {
    info: BackendInfo,
    /// The chat template; `None` if messages are passed to the model unchanged.
    template: Option<ChatRenderer>,
    special_tokens: SpecialTokens,
    default_params: SamplingParams,
    constraint: Option<Constraint>,
    logprobs: Option<u32>,
    /// Purpose of the model file.
    purpose: Purpose,
    replicas: ReplicaPool,
}

/// Loads a model in one or several processes, and computes the digest of its file in the meantime.
///
/// The model is freed when the backend is dropped. `pinned` is the kernel variant that a lock pins, which takes
/// precedence over `kernels`. The registry has the component that renders the chat template.
///
/// # Errors
/// If the file is not a model that llama.cpp can load, an option is out of range, or the chat template cannot be
/// compiled.
pub async fn open(
    options: LlamaCppOptions,
    program: &ModelProgram,
    kernels: Kernels,
    pinned: Option<&KernelVariant>,
    registry: &Registry,
) -> Result<Arc<dyn Backend>, String> {
    let mut model = options.model.clone();
    let path = model.model_path.clone();
    let (gguf, file_bytes) = blocking(move || {
        let read = Gguf::read(&path).and_then(|gguf| Ok((gguf, size_of_parts(&path)?)));
        read.map_err(|error| error.to_string())
    })
    .await?;
    let choices = match options.constraint.clone().map(constraint_of).transpose()? {
        None => None,
        Some(ConstraintSource::Choices(texts)) => Some(texts),
        Some(ConstraintSource::Grammar(grammar)) => {
            model.grammar = Some(grammar);
            None
        }
    };

    let mut program = program.find(kernels, pinned)?;
    // Without layers on a GPU, it is no loss that none is used.
    if model.gpu_layers == Some(0) {
        program = program.without_gpu_warnings();
    }
    let limits = WatchdogLimits::new(options.hang_timeout, file_bytes);
    let (replicas, loaded, digests) = load(options.replicas, &model, program, limits).await?;
    warn_of_less(&model, &loaded);
    let (source, template_source) = template_of(&options.chat_template, &loaded.facts);
    let origin = origin_of(&options.chat_template, &model.model_path);
    let template =
        source.map(|text| compiled_template(registry, &origin, text, &loaded.facts)).transpose()?;
    let mut details = details_of(&loaded, &model);
    details.insert("file_bytes".to_owned(), file_bytes.into());
    details.insert("replicas".to_owned(), replicas.count().into());
    details.extend(digests);
    details.insert("chat_template".to_owned(), template_source.into());
    if let Some(template) = &template {
        details.insert("chat_template_digest".to_owned(), template.digest().to_string().into());
        details.insert("chat_template_renderer".to_owned(), template.renderer_digest().to_string().into());
        let (bos, eos) = (&loaded.facts.bos_token, &loaded.facts.eos_token);
        let fact = json!({"text": source, "bos_token": bos, "eos_token": eos});
        details.insert(CHAT_TEMPLATE_FACT.to_owned(), fact);
    }
    let grammar = loaded.grammar.clone().map(Constraint::Grammar);
    Ok(Arc::new(LlamaCppBackend {
        info: info_of(&model, &gguf, &loaded, replicas.count(), details),
        template: template.map(ChatRenderer::new),
        constraint: grammar.or_else(|| choices.map(Constraint::Choices)),
        special_tokens: SpecialTokens::new(loaded.facts.special_tokens),
        default_params: options.default_params,
        logprobs: options.logprobs,
        purpose: gguf.purpose(),
        replicas,
    }))
}

/// Loads a model in all replicas. Also returns the digests of its files, by the names of their details.
async fn load(
    replicas: Replicas,
    model: &ModelOptions,
    program: FoundProgram,
    limits: WatchdogLimits,
) -> Result<(ReplicaPool, LoadedModel, Object), String> {
    let placement = {
        let (model, program) = (model.clone(), program.clone());
        blocking(move || ReplicaPlacement::of(replicas, &model, &program)).await?
    };
    let opened = ReplicaPool::open(placement, program, limits);
    let ((replicas, loaded), file) = tokio::try_join!(opened, pinned_model_file(&model.model_path))?;
    check_deterministic(&loaded.settings, loaded.build.variant.build)?;
    let mut files = vec![("file_digest", file)];
    let adapter = model.lora.as_ref().map(|(path, _)| path);
    for (key, path) in [("lora_digest", adapter), ("mmproj_digest", model.mmproj.as_ref())] {
        if let Some(path) = path {
            files.push((key, pinned_model_file(path).await?));
        }
    }
    let mut digests = Object::new();
    for (key, file) in files {
        replicas.pin(&file.parts);
        digests.insert(key.to_owned(), file.digest.to_string().into());
    }
    Ok((replicas, loaded, digests))
}

fn info_of(
    model: &ModelOptions,
    gguf: &Gguf,
    loaded: &LoadedModel,
    replicas: usize,
    details: Object,
) -> BackendInfo {
    let predicts = gguf.predicts();
    let file_name = model.model_path.file_name().unwrap_or(model.model_path.as_os_str());
    BackendInfo {
        kind: "llama_cpp",
        model: file_name.to_string_lossy().into_owned(),
        capabilities: Capabilities {
            generate: predicts,
            loglikelihood: predicts,
            rolling_loglikelihood: predicts,
            embeddings: gguf.purpose().makes_vectors(),
            media: if loaded.projector.is_some() { MediaSupport::Images } else { MediaSupport::Nothing },
        },
        max_concurrency: loaded.settings.concurrency().saturating_mul(replicas),
        details,
    }
}

/// Runs blocking work off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    spawn_blocking(work).await.map_err(not_started)?
}

/// Returns the size of all files of a model, in bytes.
///
/// # Errors
/// If a file is missing, or is not a regular file.
fn size_of_parts(path: &Path) -> Result<u64, GgufError> {
    let size = |part: PathBuf| {
        let opened = foreign_file::open_named(&part, FileLimit::NONE);
        let size = opened.and_then(|file| file.metadata()).map(|metadata| metadata.len());
        size.map_err(|reason| GgufError::Read { path: part, reason })
    };
    model_parts(path).into_iter().map(size).sum()
}

/// A file that a model is loaded from.
struct PinnedModelFile {
    /// Digest of the file. For a file in several parts, that of the JSON list of their digests.
    digest: Digest,
    parts: Vec<Arc<PinnedFile>>,
}

/// Computes the digest of a file that the model is loaded from. The work ends soon after the future is dropped.
async fn pinned_model_file(path: &Path) -> Result<PinnedModelFile, String> {
    let mut parts = Vec::new();
    for part in model_parts(path) {
        let stop = StopOnDrop::default();
        let is_stopped = Arc::clone(&stop.0);
        let file = blocking(move || {
            let read = PinnedFile::read_unless(&part, &is_stopped);
            read.map_err(|reason| GgufError::Read { path: part, reason }.to_string())
        })
        .await?;
        parts.push(Arc::new(file));
    }
    let digests: Vec<Digest> = parts.iter().map(|part| part.digest()).collect();
    let digest = match digests.as_slice() {
        [digest] => *digest,
        digests => Digest::of_json(&json!(digests)),
    };
    Ok(PinnedModelFile { digest, parts })
}

/// Flag that is set when the work that needs a result is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A configured constraint: choices as they are, or the source of a grammar that is created when the model is loaded.
enum ConstraintSource {
    Grammar(GrammarSource),
    Choices(Vec<String>),
}

fn constraint_of(constraint: OutputConstraint) -> Result<ConstraintSource, String> {
    Ok(match constraint {
        OutputConstraint::Grammar(text) => ConstraintSource::Grammar(GrammarSource::Gbnf(text)),
        OutputConstraint::Choices(texts) => ConstraintSource::Choices(texts),
        OutputConstraint::JsonSchema(schema) => {
            check_schema(&schema).map_err(|why| format!("`json_schema`: {why}"))?;
            ConstraintSource::Grammar(GrammarSource::JsonSchema(schema.to_string()))
        }
    })
}

/// Returns the text of the chat template, and where it is from.
fn template_of<'t>(choice: &'t ChatTemplateChoice, facts: &'t ModelFacts) -> (Option<&'t str>, &'static str) {
    match (choice, &facts.chat_template) {
        (ChatTemplateChoice::None, _) => (None, "none"),
        (ChatTemplateChoice::Model, None) => {
            tracing::warn!(
                "the model file has no chat template, so messages are passed to the model unchanged; \
                 `chat_template: none` does the same without this warning"
            );
            (None, "none: the model file has no template")
        }
        (ChatTemplateChoice::Model, Some(text)) => (Some(text.as_str()), "the model file"),
        (ChatTemplateChoice::Text(text), _) => (Some(text.as_str()), "the configuration"),
    }
}

/// Returns the origin of a chat template as errors name it.
fn origin_of(choice: &ChatTemplateChoice, model: &Path) -> String {
    let model = model.file_name().unwrap_or(model.as_os_str()).to_string_lossy();
    match choice {
        ChatTemplateChoice::Text(_) => format!("the suite for {model}"),
        ChatTemplateChoice::Model | ChatTemplateChoice::None => model.into_owned(),
    }
}

fn compiled_template(
    registry: &Registry,
    origin: &str,
    text: &str,
    facts: &ModelFacts,
) -> Result<ChatTemplate, String> {
    let sandbox = TemplateSandbox::load(registry).map_err(|error| error.to_string())?;
    ChatTemplate::compile(&sandbox, origin, text, &facts.bos_token, &facts.eos_token)
        .map_err(|error| format!("{error}; set another one as `chat_template`, or `none`"))
}

fn scored_text(continuation: &Continuation, text: String) -> ScoredText {
    let byte_count = u32::try_from(continuation.text.len()).unwrap_or(u32::MAX);
    ScoredText { id: continuation.id.clone(), text, byte_count }
}

/// Converts the result of a request to a reply. `output` extracts the output from an answer of the right kind.
fn reply<T>(done: JobResult, output: impl FnOnce(Answer) -> Option<T>) -> Result<Reply<T>, BackendError> {
    let timing = RequestTiming { latency: done.latency, attempts: 1, first_token: done.first_token };
    match output(done.answer) {
        Some(output) => Ok(Reply { output, timing }),
        None => Err(internal("the reply belongs to another request")),
    }
}

/// Converts an answer, including all additional details.
fn output_of(generated: Completion) -> ModelOutput {
    let mut output = ModelOutput::generated(generated.text, generated.reason, Some(generated.usage));
    if generated.left_out > 0 {
        output.extra.insert("prompt_tokens_left_out".to_owned(), generated.left_out.into());
    }
    if let Some(logprobs) = generated.logprobs {
        output.extra.insert("logprobs".to_owned(), json!(logprobs));
    }
    output
}

impl LlamaCppBackend {
    /// Renders the conversation, and the texts that may follow it, as the model reads them.
    async fn prompt(
        &self,
        id: &str,
        messages: &[Message],
        rendered: Option<String>,
        tools: &[Value],
        continuations: &[Continuation],
    ) -> Result<(Prompt, Vec<ScoredText>), BackendError> {
        if let Some(text) = rendered {
            // Special tokens spelled in the text are assumed to be intended.
            let prompt = Prompt { text, has_special_tokens: true, ..Prompt::default() };
            let texts = continuations.iter().map(|one| scored_text(one, one.text.clone()));
            return Ok(trailing_space::moved(prompt, texts.collect()));
        }
        self.check_media(id, messages)?;
        let rejected = |reason: String| {
            BackendError::new(BackendErrorKind::Rejected, format!("request '{id}': {reason}"))
        };
        let images = images_of(id, messages)?;
        let mut image_mark = None;
        let shown = if images.is_empty() {
            Cow::Borrowed(messages)
        } else {
            let texts = texts_of(messages).chain(continuations.iter().map(|one| one.text.as_str()));
            let unused = unused_mark(texts).ok_or_else(|| rejected(NO_MARK.to_owned()))?;
            image_mark = Some(unused);
            Cow::Owned(with_marked_images(messages, unused))
        };
        let messages = shown.as_ref();
        let mark = self.special_token_mark(id, messages, continuations).map_err(rejected)?;
        let marked = match mark {
            None => Cow::Borrowed(messages),
            Some(mark) => Cow::Owned(self.special_tokens.marked_messages(messages, mark)),
        };
        let text = match (&self.template, image_mark) {
            (None, _) => Ok(joined_texts(&marked)),
            (Some(template), None) => template.render(&marked, tools, ContentForm::Text).await,
            (Some(template), Some(mark)) => {
                template.render_with_images(&marked, tools, mark, images.len()).await
            }
        };
        let text = text.map_err(rejected)?;
        let continuations = continuations.iter().map(|continuation| {
            let text = match mark {
                None => continuation.text.clone(),
                Some(mark) => self.special_tokens.marked(&continuation.text, mark),
            };
            scored_text(continuation, text)
        });
        let has_special_tokens = self.template.is_some();
        let prompt = Prompt { text, has_special_tokens, mark, image_mark, images };
        let texts: Vec<ScoredText> = continuations.collect();
        // White space at the end of a chat template is not part of the suite's prompt.
        Ok(if has_special_tokens { (prompt, texts) } else { trailing_space::moved(prompt, texts) })
    }

    fn check_media(&self, id: &str, messages: &[Message]) -> Result<(), BackendError> {
        let takes = self.info.capabilities.media;
        match takes.refuses(messages) {
            None => Ok(()),
            Some(kind) => {
                let message = format!(
                    "request '{id}': the model accepts {}, but a message contains media ({})",
                    takes.described(),
                    kind.type_name()
                );
                Err(BackendError::new(BackendErrorKind::Unsupported, message))
            }
        }
    }

    /// Returns the marker that keeps texts from being read as special tokens; `None` if no text spells one.
    fn special_token_mark(
        &self,
        id: &str,
        messages: &[Message],
        continuations: &[Continuation],
    ) -> Result<Option<char>, String> {
        let texts =
            texts_of(messages).chain(continuations.iter().map(|continuation| continuation.text.as_str()));
        if self.template.is_none() || !texts.clone().any(|text| self.special_tokens.occur_in(text)) {
            return Ok(None);
        }
        tracing::warn!(
            request = id,
            "a message spells a special token of the model; it is read as plain text"
        );
        unused_mark(texts).map(Some).ok_or_else(|| NO_MARK.to_owned())
    }

    /// Sends a request to the model and waits for the answer.
    ///
    /// For a request that the model is not made for, llama.cpp would still return numbers, so it is refused here.
    async fn ask(&self, name: String, task: Task) -> Result<JobResult, BackendError> {
        let can = &self.info.capabilities;
        let (can, asked) = match task {
            Task::Generate(_) => (can.generate, "generate"),
            Task::Score { .. } => (can.loglikelihood, "loglikelihood"),
            Task::Roll(_) => (can.rolling_loglikelihood, "rolling_loglikelihood"),
            Task::Embed(_) => (can.embeddings, "embed"),
        };
        if !can {
            let limits = self.purpose.limits().unwrap_or("is not made for that");
            let message =
                format!("request '{name}': `{asked}` cannot be asked of {}: it {limits}", self.info.model);
            return Err(BackendError::new(BackendErrorKind::Unsupported, message));
        }
        self.replicas.ask(Job { name, task }).await
    }
}

#[async_trait]
impl Backend for LlamaCppBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let GenerateRequest { id, messages, prompt, params, tools, tool_choice: _, draw: _, place: _ } =
            *request;
        let (prompt, _) = self.prompt(&id, &messages, prompt, &tools, &[]).await?;
        let task = GenerateTask {
            prompt,
            params: params.over(&self.default_params),
            constraint: self.constraint.clone(),
            logprobs: self.logprobs,
        };
        let done = self.ask(id, Task::Generate(task)).await?;
        reply(done, |answer| match answer {
            Answer::Generated(generated) => Some(output_of(generated)),
            _ => None,
        })
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let LoglikelihoodRequest { id, messages, prompt, continuations } = request;
        let (prompt, continuations) = self.prompt(&id, &messages, prompt, &[], &continuations).await?;
        let done = self.ask(id, Task::Score { prompt, continuations }).await?;
        reply(done, |answer| match answer {
            Answer::Scored { scores, usage } => Some(LoglikelihoodOutput { scores, usage: Some(usage) }),
            _ => None,
        })
    }

    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        let byte_count = u64::try_from(request.text.len()).unwrap_or(u64::MAX);
        let RollingRequest { id, text, has_special_tokens } = request;
        let prompt = Prompt { text, has_special_tokens, ..Prompt::default() };
        let done = self.ask(id, Task::Roll(prompt)).await?;
        reply(done, |answer| match answer {
            Answer::Rolled { logprob, token_count } => {
                Some(RollingOutput { logprob, token_count, byte_count })
            }
            _ => None,
        })
    }

    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        let done = self.ask(request.id, Task::Embed(request.texts)).await?;
        reply(done, |answer| match answer {
            Answer::Embedded { vectors, tokens } => {
                let usage = Some(Usage { prompt_tokens: tokens, completion_tokens: 0 });
                Some(EmbedOutput { vectors, usage })
            }
            _ => None,
        })
    }

    fn check_files(&self) -> Result<(), String> {
        self.replicas.check_files_after_use()
    }

    fn statistics(&self) -> Object {
        self.replicas.statistics()
    }
}
