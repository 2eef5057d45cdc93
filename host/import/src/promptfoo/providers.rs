//! Providers of a configuration, which become models.

use crate::note::Notes;
use crate::tree::{Mapping, Tree};

/// The model of a suite that names none.
const MODEL: &str = "openai:my-model@http://localhost:8000/v1";

/// Beginnings of providers with an API of OpenAI's, with their address and the variable of their key.
const OPENAI_APIS: &[(&str, &str, Option<&str>)] = &[
    ("ollama:chat:", "http://localhost:11434/v1", None),
    ("ollama:completion:", "http://localhost:11434/v1", None),
    ("ollama:", "http://localhost:11434/v1", None),
    ("openrouter:", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY")),
    ("groq:", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY")),
    ("mistral:", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY")),
    ("deepseek:", "https://api.deepseek.com/v1", Some("DEEPSEEK_API_KEY")),
    ("togetherai:", "https://api.together.xyz/v1", Some("TOGETHER_API_KEY")),
    ("localai:chat:", "http://localhost:8080/v1", None),
    ("vllm:", "http://localhost:8000/v1", None),
];

/// Beginnings of providers that are types of backends here.
const SERVICES: &[(&str, &str)] = &[
    ("openai:chat:", "openai"),
    ("openai:responses:", "openai"),
    ("openai:", "openai"),
    ("anthropic:messages:", "anthropic"),
    ("anthropic:", "anthropic"),
    ("google:", "gemini"),
];

/// Settings of a provider with the same meaning here.
const SETTINGS: &[(&str, &str)] = &[
    ("temperature", "temperature"),
    ("max_tokens", "max_new_tokens"),
    ("max_completion_tokens", "max_new_tokens"),
    ("maxOutputTokens", "max_new_tokens"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("apiBaseUrl", "base_url"),
    ("apiKeyEnvar", "api_key_env"),
    ("response_format", "response_format"),
];

/// Returns the models of a configuration, at least one.
pub(super) fn convert(config: &Mapping, notes: &mut Notes) -> Vec<Tree> {
    let key = if config.has("providers") { "providers" } else { "targets" };
    let items = match config.get(key) {
        Some(Tree::List(items)) => items.clone(),
        Some(other) => vec![other.clone()],
        None => Vec::new(),
    };
    let mut models = Vec::new();
    for (place, item) in items.iter().enumerate() {
        models.extend(model(item, &format!("{key}[{place}]"), notes));
    }
    if models.is_empty() {
        models.push(Tree::text(MODEL));
    }
    models
}

/// Returns the model of a provider: a text, or a mapping with its settings.
fn model(item: &Tree, key: &str, notes: &mut Notes) -> Option<Tree> {
    let empty = Mapping::default();
    let (id, provider) = match item {
        Tree::Map(provider) => match provider.text("id") {
            Some(id) => (id.to_owned(), provider),
            // The older form: the id is a key.
            None => {
                let entry = provider.entries.first()?;
                (entry.key.clone(), entry.value.as_map().unwrap_or(&empty))
            }
        },
        scalar => (scalar.plain_text(), &empty),
    };
    let config = provider.get("config").and_then(Tree::as_map).unwrap_or(&empty);
    let mut model = Mapping::default();
    match named(&id) {
        Some((name, variable)) => {
            model.set("name", Tree::text(name));
            if let Some(variable) = variable {
                model.set("api_key_env", Tree::text(variable));
            }
        }
        None => {
            let message = format!("the provider `{id}` has no counterpart");
            notes
                .needs_work(key.to_owned(), message, &mut model.comments)
                .help("name a server with an API of OpenAI's, `openai:MODEL@ADDRESS`, or write a backend as a plugin");
            model.set("name", Tree::text(MODEL));
        }
    }
    note_keys(&id, provider, key, notes, &mut model.comments);
    for entry in &config.entries {
        match SETTINGS.iter().find(|(old, _)| *old == entry.key) {
            Some((_, new)) => model.set(new, entry.value.clone()),
            None => {
                let message = format!("the setting `{}` of `{id}` is left out", entry.key);
                notes.dropped(format!("{key}.config.{}", entry.key), message, &mut model.comments);
            }
        }
    }
    Some(match model.entries.as_slice() {
        [only] if model.comments.is_empty() => only.value.clone(),
        _ => Tree::Map(model),
    })
}

/// Notes keys of a provider without a counterpart.
fn note_keys(id: &str, provider: &Mapping, key: &str, notes: &mut Notes, comments: &mut Vec<String>) {
    for name in provider.keys() {
        let place = format!("{key}.{name}");
        match name.as_str() {
            "id" | "label" | "config" => {}
            "prompts" => {
                let message = format!("`prompts` of `{id}` is left out: here each model gets each prompt");
                let help = "run the model with its prompts only: `--set model=… --set prompt=…`";
                notes.needs_work(place, message, comments).help(help);
            }
            "transform" => {
                let message =
                    format!("`transform` of `{id}` changes answers by code, and has no counterpart");
                let help = "an extractor may find the answer: `gage-host list extractors`";
                notes.needs_work(place, message, comments).help(help);
            }
            other => {
                notes.dropped(place, format!("`{other}` of `{id}` is left out"), comments);
            }
        }
    }
}

/// Returns the name of a model here, with the variable of its key.
fn named(id: &str) -> Option<(String, Option<&'static str>)> {
    for (begin, address, variable) in OPENAI_APIS {
        if let Some(model) = id.strip_prefix(begin) {
            return Some((format!("openai:{model}@{address}"), *variable));
        }
    }
    let other = ["openai:embedding", "openai:image", "openai:assistant", "openai:realtime", "google:image"];
    if other.iter().any(|begin| id.starts_with(begin)) {
        return None;
    }
    let (begin, service) = SERVICES.iter().find(|(begin, _)| id.starts_with(begin))?;
    let model = id.strip_prefix(begin).filter(|model| !model.is_empty())?;
    Some((format!("{service}:{model}"), None))
}

/// Returns the backend of a judge or of vectors: that of the configuration, or else OpenAI's `usual` model.
pub(super) fn backend(provider: Option<&Tree>, usual: &str, notes: &mut Notes) -> Mapping {
    let model = provider.and_then(|provider| model(provider, "defaultTest.options.provider", notes));
    let name = match &model {
        Some(Tree::Map(model)) => model.text("name").map(str::to_owned),
        Some(other) => Some(other.plain_text()),
        None => None,
    };
    let name = name.unwrap_or_else(|| format!("openai:{usual}"));
    let (service, rest) = name.split_once(':').unwrap_or(("openai", usual));
    let (kind, variable) = match service {
        "anthropic" => ("anthropic_http", "ANTHROPIC_API_KEY"),
        "gemini" => ("gemini_http", "GEMINI_API_KEY"),
        _ => ("openai_http", "OPENAI_API_KEY"),
    };
    let mut config = Mapping::default();
    match rest.split_once('@') {
        Some((model, address)) => {
            config.set("model", Tree::text(model));
            config.set("base_url", Tree::text(address));
        }
        None => {
            config.set("model", Tree::text(rest));
            config.set("api_key_env", Tree::text(variable));
        }
    }
    let mut backend = Mapping::default();
    backend.set("type", Tree::text(kind));
    backend.set("config", Tree::Map(config));
    backend
}
