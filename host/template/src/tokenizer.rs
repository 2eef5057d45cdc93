//! The chat template of a tokenizer, in Hugging Face's layout: `tokenizer_config.json`, and optionally
//! `chat_template.jinja` next to it.

use crate::chat::{ChatTemplate, ChatTemplateError, ContentForm, Conversation};
use crate::sandbox::TemplateSandbox;
use gage_config::{Permissions, Refusal};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{
    ChangedFile, Digest, FileUse, Message, PinnedFile, PinnedFiles, SeenFile, max_json_values, parse_json,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a tokenizer's configuration file, and of the template next to it.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
const MAX_CONFIG_SIZE: FileLimit = FileLimit::new("the configuration of a tokenizer", MAX_CONFIG_BYTES);
/// Maximum number of JSON values in it.
const MAX_CONFIG_VALUES: usize = max_json_values(MAX_CONFIG_BYTES as usize);

/// Error when a tokenizer's configuration is read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The suite may not read the file.
    #[error("{0}")]
    Refused(Refusal),
    /// The file is not a tokenizer's configuration.
    #[error("{} {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error message.
        message: String,
    },
}

/// The text of a tokenizer's chat template, and its file.
pub struct TokenizerConfig {
    template: String,
    /// The text of a separate template for conversations with tools, if any.
    with_tools: Option<String>,
    bos_token: String,
    eos_token: String,
    /// Path of the configuration file.
    pub path: PathBuf,
    /// The digest of the template and both tokens: of everything that determines a prompt except the messages.
    pub digest: Digest,
    /// The files that were read.
    files: PinnedFiles,
}

/// A tokenizer's chat template, and its file.
pub struct TokenizerTemplate {
    /// The template, with the tokens that begin and end a sequence.
    template: ChatTemplate,
    /// A separate template for conversations with tools, if any.
    with_tools: Option<ChatTemplate>,
    /// Path of the configuration file.
    pub path: PathBuf,
    /// As in [`TokenizerConfig::digest`].
    pub digest: Digest,
    /// The files that were read.
    files: PinnedFiles,
}

impl TokenizerConfig {
    /// Reads `tokenizer_config.json`, given its path or its folder.
    ///
    /// # Errors
    /// Fails if it cannot or may not be read, is not a tokenizer configuration, or has no chat template.
    pub fn read(path: &Path, permissions: &Permissions) -> Result<TokenizerConfig, TokenizerError> {
        let path = if path.is_dir() { path.join("tokenizer_config.json") } else { path.to_owned() };
        let invalid = |message: String| TokenizerError::Invalid { path: path.clone(), message };
        let files = PinnedFiles::default();
        // In the folder, either file may be a link.
        let read = |path: &Path| {
            permissions.check_file(path).map_err(TokenizerError::Refused)?;
            read(path, &files)
        };
        let config: Map<String, Value> = parse_json(read(&path)?.as_bytes(), MAX_CONFIG_VALUES)
            .map_err(|error| invalid(format!("is not a tokenizer's configuration: {error}")))?;
        let beside = path.with_file_name("chat_template.jinja");
        // As in transformers, the file takes precedence over the key.
        let text = match chat_template(&config, "default") {
            _ if beside.is_file() => read(&beside)?,
            Some(text) => text,
            None => {
                return Err(invalid(
                    "has no `chat_template`, and there is no chat_template.jinja beside it".to_owned(),
                ));
            }
        };
        let (bos_token, eos_token) = (token(&config, "bos_token"), token(&config, "eos_token"));
        let with_tools = if beside.is_file() { None } else { chat_template(&config, "tool_use") };
        let mut identity = json!({"template": text, "bos_token": bos_token, "eos_token": eos_token});
        if let Some(text) = &with_tools {
            identity["tool_use"] = text.as_str().into();
        }
        let digest = Digest::of_json(&identity);
        let (bos_token, eos_token) = (bos_token.to_owned(), eos_token.to_owned());
        Ok(TokenizerConfig { template: text, with_tools, bos_token, eos_token, path, digest, files })
    }

    /// Compiles the template.
    ///
    /// # Errors
    /// Fails if it is invalid.
    pub fn compile(self, sandbox: &TemplateSandbox) -> Result<TokenizerTemplate, ChatTemplateError> {
        let TokenizerConfig { template, with_tools, bos_token, eos_token, path, digest, files } = self;
        let origin = path.display().to_string();
        let compile = |text: &str| ChatTemplate::compile(sandbox, &origin, text, &bos_token, &eos_token);
        let template = compile(&template)?;
        let with_tools = with_tools.as_deref().map(compile).transpose()?;
        Ok(TokenizerTemplate { template, with_tools, path, digest, files })
    }
}

impl TokenizerTemplate {
    /// Checks that the files still hold this template, which itself is in memory. Deleted and replaced files pass.
    ///
    /// # Errors
    /// If they hold another template.
    pub fn check_files(&self) -> Result<(), ChangedFile> {
        let checked = self.files.check_after_use(FileUse::Open);
        // The files have other keys, too. They could be read before.
        let now = || TokenizerConfig::read(&self.path, &Permissions::default());
        let is_same = || now().is_ok_and(|now| now.digest == self.digest);
        if checked.is_err() && is_same() { Ok(()) } else { checked }
    }

    /// Renders conversations, each with its tools, with one result for each, in order. As in transformers, a template
    /// named `tool_use` applies if there are tools. Blocks.
    pub fn render_batch(
        &self,
        conversations: &[(Vec<Message>, &[Value])],
    ) -> Vec<Result<String, ChatTemplateError>> {
        let uses_tools = |place: &usize| self.with_tools.is_some() && !conversations[*place].1.is_empty();
        let (with_tools, others): (Vec<usize>, Vec<usize>) = (0..conversations.len()).partition(uses_tools);
        let mut results: Vec<Option<Result<String, ChatTemplateError>>> = vec![None; conversations.len()];
        for (template, places) in [(self.with_tools.as_ref(), with_tools), (Some(&self.template), others)] {
            let Some(template) = template else { continue };
            let converted = |place: &usize| {
                let (messages, tools) = &conversations[*place];
                Conversation::new(messages, tools, ContentForm::Text)
            };
            let of_template: Vec<Conversation> = places.iter().map(converted).collect();
            for (place, result) in places.into_iter().zip(template.render_batch(&of_template)) {
                results[place] = Some(result);
            }
        }
        results.into_iter().flatten().collect()
    }
}

/// Reads a file, and pins it.
fn read(path: &Path, files: &PinnedFiles) -> Result<String, TokenizerError> {
    let unreadable = |source| TokenizerError::Unreadable { path: path.to_owned(), source };
    let before = std::fs::metadata(path).map(|metadata| SeenFile::of(&metadata)).map_err(unreadable)?;
    let text = foreign_file::read_named_text(path, MAX_CONFIG_SIZE).map_err(unreadable)?;
    files.add(&Arc::new(PinnedFile::new(path, before, Digest::of_bytes(text.as_bytes()))));
    Ok(text)
}

/// Returns the template of a name: a string is named `default`, and a list contains named templates.
fn chat_template(config: &Map<String, Value>, name: &str) -> Option<String> {
    match config.get("chat_template")? {
        Value::String(text) => (name == "default").then(|| text.clone()),
        Value::Array(named) => {
            let found = named.iter().find(|one| one["name"] == name)?;
            found["template"].as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// Returns the text of a token, which is a string or an object with `content`.
fn token<'config>(config: &'config Map<String, Value>, key: &str) -> &'config str {
    match config.get(key) {
        Some(Value::String(text)) => text,
        Some(Value::Object(token)) => token.get("content").and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_sandbox::sandbox;
    use gage_core::Role;

    fn rendered(config: &Value, beside: Option<&str>) -> Result<String, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        std::fs::write(folder.path().join("tokenizer_config.json"), config.to_string())
            .map_err(|error| error.to_string())?;
        if let Some(text) = beside {
            std::fs::write(folder.path().join("chat_template.jinja"), text)
                .map_err(|error| error.to_string())?;
        }
        let config = TokenizerConfig::read(folder.path(), &Permissions::default());
        let template = config.map_err(|error| error.to_string())?;
        let template = template.compile(sandbox()).map_err(|error| error.to_string())?;
        let no_tools: &[Value] = &[];
        let conversations = [(vec![Message::text(Role::User, "hi")], no_tools)];
        template.render_batch(&conversations).remove(0).map_err(|error| error.to_string())
    }

    #[test]
    fn tools_may_have_a_template_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let named = json!({"chat_template": [
            {"name": "tool_use", "template": "{{ tools | length }} tools"},
            {"name": "default", "template": "no tools: {{ messages[0].content }}"},
        ]});
        std::fs::write(folder.path().join("tokenizer_config.json"), named.to_string()).expect("written");
        let config = TokenizerConfig::read(folder.path(), &Permissions::default()).expect("a template");
        let template = config.compile(sandbox()).expect("a template");
        let tools = [json!({"type": "function", "function": {"name": "f"}})];
        let turn = |text: &str| vec![Message::text(Role::User, text)];
        let conversations = [(turn("a"), &tools[..0]), (turn("b"), &tools[..]), (turn("c"), &tools[..0])];
        let rendered: Vec<String> = template.render_batch(&conversations).into_iter().flatten().collect();
        assert_eq!(rendered, ["no tools: a", "1 tools", "no tools: c"]);
    }

    #[test]
    fn templates_stand_in_several_places() {
        let named = json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
        for (config, beside, expected) in [
            (
                json!({"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}),
                None,
                "<s>hi",
            ),
            (json!({"chat_template": "{{ eos_token }}", "eos_token": {"content": "</s>"}}), None, "</s>"),
            (
                json!({"chat_template": "{{ eos_token }}", "eos_token": {"content": "</s>"}}),
                Some("x{{ eos_token }}"),
                "x</s>",
            ),
            (json!({"chat_template": named}), None, "d"),
            (json!({}), Some("beside"), "beside"),
        ] {
            assert_eq!(rendered(&config, beside).as_deref(), Ok(expected), "{config}");
        }
    }

    #[test]
    fn changed_template_is_named_and_other_keys_do_not_matter() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tokenizer_config.json");
        let write = |config: Value| std::fs::write(&file, config.to_string()).expect("written");
        write(json!({"chat_template": "one"}));
        let config = TokenizerConfig::read(folder.path(), &Permissions::default()).expect("a template");
        let read = config.compile(sandbox()).expect("a template");
        write(json!({"chat_template": "one", "model_max_length": 4096}));
        assert_eq!(read.check_files(), Ok(()));
        write(json!({"chat_template": "another"}));
        assert_eq!(read.check_files().map_err(|changed| changed.path), Err(file.clone()));
    }

    #[test]
    fn unusable_tokenizers_say_why() {
        for (config, expected) in [
            (json!({}), "has no `chat_template`"),
            (json!([]), "is not a tokenizer's configuration"),
            (json!({"chat_template": "{% if %}"}), "cannot be compiled"),
        ] {
            let error = rendered(&config, None).err().unwrap_or_default();
            assert!(error.contains(expected), "{error}");
        }
        let nowhere = Path::new("nowhere/tokenizer_config.json");
        assert!(TokenizerConfig::read(nowhere, &Permissions::default()).is_err());
    }
}
