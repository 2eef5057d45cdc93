//! The backend as the rest of the program sees it.

use super::details::details_of;
use super::gguf::{Gguf, Purpose};
use super::image_placement::{images_of, rendered_with, with_marked_images};
use super::json_schema_support::check_schema;
use super::load_options::{ChatTemplateChoice, Isolation, LlamaCppOpenError, LlamaCppOptions};
use super::model::ModelFacts;
use super::model_client::ModelClient;
use super::process::{self, ModelProgram};
use super::protocol::{Answer, Completion, Constraint, GenerateTask, Job, JobResult, ScoredText, Task};
use super::runtime::internal;
use super::special_token_escaping::{SpecialTokens, texts_of, unused_mark};
use super::thread;
use super::tokenizer::Prompt;
use super::warnings::warn_of_less;
use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, Continuation, EmbedOutput,
    EmbedRequest, GenerateRequest, LoglikelihoodOutput, LoglikelihoodRequest, MediaSupport, Reply,
    RequestTiming, RollingOutput, RollingRequest,
};
use async_trait::async_trait;
use gage_config::OutputConstraint;
use gage_core::{Digest, Message, ModelOutput, Object, SamplingParams, Usage};
use gage_template::ChatTemplate;
use llama_cpp_2::json_schema_to_grammar;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Why no mark can be put into a text.
const NO_MARK: &str = "its text uses all noncharacters";

/// A model that llama.cpp runs.
struct LlamaCppBackend {
    info: BackendInfo,
    template: ChatTemplate,
    special_tokens: SpecialTokens,
    default_params: SamplingParams,
    constraint: Option<Constraint>,
    logprobs: Option<u32>,
    /// What the model is made for.
    purpose: Purpose,
    /// Whether a crash can be survived.
    is_apart: bool,
    link: Arc<ModelClient>,
}

/// Loads a model, in a process or on a thread of its own, and computes the digest of its file meanwhile. The
/// model is freed when the backend is dropped.
///
/// # Errors
/// When the file is not a model that llama.cpp can load, an option is out of bounds, or the chat
/// template cannot be compiled.
pub async fn open(
    options: LlamaCppOptions,
    program: Option<ModelProgram>,
) -> Result<Arc<dyn Backend>, LlamaCppOpenError> {
    let mut model = options.model.clone();
    let path = model.model_path.clone();
    let gguf = blocking(move || Ok(Gguf::read(&path)?)).await?;
    let constraint = options.constraint.clone().map(constraint_of).transpose()?;
    if let Some(Constraint::Grammar(text)) = &constraint {
        model.grammar = Some(text.clone());
    }

    let program = program.filter(|_| options.isolation == Isolation::Process);
    let is_apart = program.is_some();
    let (link, opened) = match program {
        Some(program) => process::start(model.clone(), program)?,
        None => thread::start(model.clone())?,
    };
    let (opened, digest) = tokio::join!(opened, pinned(&link, &model.model_path));
    let loaded = opened
        .map_err(|_| LlamaCppOpenError::Ended("it ended while it loaded the model".to_owned()))?
        .map_err(LlamaCppOpenError::Model)?;

    warn_of_less(&model, &loaded);
    let (template, template_source) = template_of(&options.chat_template, &loaded.facts)?;
    let mut details = details_of(&loaded, &model, is_apart);
    details.insert("file_bytes".to_owned(), gguf.file_bytes.into());
    details.insert("file_digest".to_owned(), digest?.to_string().into());
    if let Some((path, _)) = &model.lora {
        let digest = pinned(&link, path).await?;
        details.insert("lora_digest".to_owned(), digest.to_string().into());
    }
    details.insert("chat_template".to_owned(), template_source.into());
    if let Some(digest) = template.digest() {
        details.insert("chat_template_digest".to_owned(), digest.to_string().into());
    }
    if let Some(path) = &model.mmproj {
        let digest = pinned(&link, path).await?;
        details.insert("mmproj_digest".to_owned(), digest.to_string().into());
    }
    let (predicts, purpose) = (gguf.predicts(), gguf.purpose());
    let file_name = model.model_path.file_name().unwrap_or(model.model_path.as_os_str());
    Ok(Arc::new(LlamaCppBackend {
        info: BackendInfo {
            kind: "llama_cpp",
            model: file_name.to_string_lossy().into_owned(),
            capabilities: Capabilities {
                generate: predicts,
                loglikelihood: predicts,
                rolling_loglikelihood: predicts,
                embeddings: purpose.makes_vectors(),
                media: if loaded.projector.is_some() { MediaSupport::Images } else { MediaSupport::Nothing },
            },
            max_concurrency: loaded.settings.concurrency(),
            details,
        },
        template,
        special_tokens: SpecialTokens::new(loaded.facts.special_tokens),
        default_params: options.default_params,
        constraint,
        logprobs: options.logprobs,
        purpose,
        is_apart,
        link,
    }))
}

/// Runs what blocks away from the threads that drive tasks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LlamaCppOpenError> + Send + 'static,
) -> Result<T, LlamaCppOpenError> {
    spawn_blocking(work).await.map_err(|error| LlamaCppOpenError::Ended(error.to_string()))?
}

/// The digest of a file that the model is loaded from, to which the file is pinned.
async fn pinned(link: &Arc<ModelClient>, path: &Path) -> Result<Digest, LlamaCppOpenError> {
    let (link, path) = (Arc::clone(link), path.to_owned());
    blocking(move || {
        link.files.pin(&path).map_err(|reason| super::gguf::GgufError::Read { path, reason }.into())
    })
    .await
}

fn constraint_of(constraint: OutputConstraint) -> Result<Constraint, LlamaCppOpenError> {
    Ok(match constraint {
        OutputConstraint::Grammar(text) => Constraint::Grammar(text),
        OutputConstraint::Choices(texts) => Constraint::Choices(texts),
        OutputConstraint::JsonSchema(schema) => {
            check_schema(&schema)
                .map_err(|why| LlamaCppOpenError::Setting(format!("`json_schema`: {why}")))?;
            let grammar = json_schema_to_grammar(&schema.to_string()).map_err(|error| {
                LlamaCppOpenError::Setting(format!(
                    "`json_schema` cannot be turned into a grammar: {error}; llama.cpp knows types, properties, enum, \
                     const, items, anyOf, oneOf, allOf, pattern and $ref within the schema"
                ))
            })?;
            Constraint::Grammar(grammar)
        }
    })
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
                "the model file carries no chat template; messages are given to the model as they are, which \
                 `chat_template: none` asks for without this warning"
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

fn scored_text(continuation: &Continuation, text: String) -> ScoredText {
    let byte_count = u32::try_from(continuation.text.len()).unwrap_or(u32::MAX);
    ScoredText { id: continuation.id.clone(), text, byte_count }
}

fn mismatch() -> BackendError {
    internal("the model answered another question than it was asked")
}

fn timing_of(done: &JobResult) -> RequestTiming {
    RequestTiming { latency: done.latency, attempts: 1, first_token: done.first_token }
}

/// An answer, with what else is known of it.
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
            let prompt = Prompt { text, has_special_tokens: true, ..Prompt::default() };
            return Ok((
                prompt,
                continuations.iter().map(|one| scored_text(one, one.text.clone())).collect(),
            ));
        }
        let takes = self.info.capabilities.media;
        if let Some(kind) = takes.refuses(messages) {
            let message = format!(
                "request '{id}': the model takes {}, and a message holds media ({})",
                takes.described(),
                kind.type_name()
            );
            return Err(BackendError::new(BackendErrorKind::Unsupported, message));
        }
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
        let texts =
            texts_of(messages).chain(continuations.iter().map(|continuation| continuation.text.as_str()));
        let is_templated = !self.template.is_none();
        let mut mark = None;
        if is_templated && texts.clone().any(|text| self.special_tokens.occur_in(text)) {
            tracing::warn!(
                request = id,
                "a message spells a special token of the model; it is read as plain text"
            );
            let unused = unused_mark(texts).ok_or_else(|| rejected(NO_MARK.to_owned()))?;
            mark = Some(unused);
        }
        let marked = match mark {
            None => Cow::Borrowed(messages),
            Some(mark) => Cow::Owned(self.special_tokens.marked_messages(messages, mark)),
        };
        let rendered = rendered_with(&self.template, &marked, tools, image_mark, images.len());
        let text = rendered.map_err(rejected)?;
        let continuations = continuations.iter().map(|continuation| {
            let text = match mark {
                None => continuation.text.clone(),
                Some(mark) => self.special_tokens.marked(&continuation.text, mark),
            };
            scored_text(continuation, text)
        });
        let prompt = Prompt { text, has_special_tokens: is_templated, mark, image_mark, images };
        Ok((prompt, continuations.collect()))
    }

    /// Hands a request to the model and waits for the answer. Whoever asks, llama.cpp would give numbers for what the model
    /// is not made for, so that this is refused here.
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
        self.link.ask(Job { name, task }, self.is_apart).await
    }
}

#[async_trait]
impl Backend for LlamaCppBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let GenerateRequest { id, messages, prompt, params, tools, tool_choice: _, draw: _ } = *request;
        let (prompt, _) = self.prompt(&id, &messages, prompt, &tools, &[])?;
        let task = GenerateTask {
            prompt,
            params: params.over(&self.default_params),
            constraint: self.constraint.clone(),
            logprobs: self.logprobs,
        };
        let done = self.ask(id, Task::Generate(task)).await?;
        let timing = timing_of(&done);
        match done.answer {
            Answer::Generated(generated) => Ok(Reply { output: output_of(generated), timing }),
            _ => Err(mismatch()),
        }
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let LoglikelihoodRequest { id, messages, prompt, continuations } = request;
        let (prompt, continuations) = self.prompt(&id, &messages, prompt, &[], &continuations)?;
        let done = self.ask(id, Task::Score { prompt, continuations }).await?;
        let timing = timing_of(&done);
        match done.answer {
            Answer::Scored { scores, usage } => {
                Ok(Reply { output: LoglikelihoodOutput { scores, usage: Some(usage) }, timing })
            }
            _ => Err(mismatch()),
        }
    }

    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        let byte_count = u64::try_from(request.text.len()).unwrap_or(u64::MAX);
        let RollingRequest { id, text, has_special_tokens } = request;
        let prompt = Prompt { text, has_special_tokens, ..Prompt::default() };
        let done = self.ask(id, Task::Roll(prompt)).await?;
        let timing = timing_of(&done);
        match done.answer {
            Answer::Rolled { logprob, token_count } => {
                Ok(Reply { output: RollingOutput { logprob, token_count, byte_count }, timing })
            }
            _ => Err(mismatch()),
        }
    }

    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        let done = self.ask(request.id, Task::Embed(request.texts)).await?;
        let timing = timing_of(&done);
        match done.answer {
            Answer::Embedded { vectors, tokens } => {
                let usage = Some(Usage { prompt_tokens: tokens, completion_tokens: 0 });
                Ok(Reply { output: EmbedOutput { vectors, usage }, timing })
            }
            _ => Err(mismatch()),
        }
    }

    fn check_files(&self) -> Result<(), String> {
        self.link.check_files()
    }

    fn statistics(&self) -> Object {
        let state = self.link.state();
        let mut statistics = match json!(state.counts) {
            Value::Object(counts) => counts,
            _ => Object::new(),
        };
        if self.is_apart {
            statistics.insert("crashes".to_owned(), state.crashes.into());
            statistics.insert("process_id".to_owned(), state.process_id.into());
        }
        statistics
    }
}
