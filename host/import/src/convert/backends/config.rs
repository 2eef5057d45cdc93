//! Settings of HTTP backends: address, model, sampling parameters, and settings of the process that serves a model.

use crate::convert::old_keys::path_of;
use crate::convert::sampling;
use crate::note::Notes;
use crate::tables::backends::{
    BODY_KEYS, DEFAULT_MODEL, DEFAULT_URL, HTTP_KEYS, MODEL_KEYS, OLD_TYPES, OPENAI, PROVIDER_KEYS,
    PROVIDERS, RENAMED, SAMPLING_SECTIONS, SERVER_KEYS, SGLANG_OPTIONS, URL_KEYS,
};
use crate::tree::{Mapping, Tree};

/// Returns the provider of a model of litellm: the beginning of the model's name, the type and the address. The key
/// `provider` has precedence over the beginning of the name.
pub(super) fn provider_of(config: &Mapping, old: &str) -> Option<(&'static str, &'static str, &'static str)> {
    if old != "litellm" {
        return None;
    }
    let named = PROVIDER_KEYS.iter().find_map(|key| config.text(key)).filter(|name| !name.is_empty());
    if let Some(name) = named {
        let is_named = |begin: &str| begin.strip_suffix('/').is_some_and(|begin| begin == name);
        return PROVIDERS.iter().copied().find(|(begin, ..)| is_named(begin));
    }
    let model = MODEL_KEYS.iter().find_map(|key| config.text(key))?;
    PROVIDERS.iter().copied().find(|(begin, ..)| model.starts_with(begin))
}

/// Converts the settings of an HTTP backend. `old` is its former type.
pub(super) fn convert(config: &mut Mapping, kind: &str, old: &str, path: &str, notes: &mut Notes) {
    config.remove_nulls();
    let provider = provider_of(config, old);
    convert_model(config, kind, provider.map(|(begin, ..)| begin), path, notes);
    convert_address(config, old, provider.map(|(.., url)| url), path, notes);
    if let Some((begin, ..)) = provider {
        settle_provider(config, begin, path, notes);
    }
    for (old, new) in RENAMED {
        if config.has(old) && !config.has(new) {
            config.rename(old, new);
            notes.changed(path_of(path, old), format!("`{old}` is `{new}` here"), config.comments_of(new));
        }
    }
    collect_sampling(config, path, notes);
    move_to_body(config, path, notes);
    drop_server_keys(config, old, path, notes);
    drop_unknown(config, kind, path, notes);
    settle_values(config);
}

fn convert_model(config: &mut Mapping, kind: &str, provider: Option<&str>, path: &str, notes: &mut Notes) {
    let found = MODEL_KEYS.iter().find(|key| config.text(key).is_some_and(|name| !name.is_empty())).copied();
    match found {
        Some("model") => {}
        Some(key) => {
            config.remove("model");
            config.rename(key, "model");
            let message = format!("`{key}` is `model`, the name by which the server knows the model");
            notes.changed(path_of(path, key), message, config.comments_of("model"));
        }
        None if kind.starts_with("tgi") || kind.starts_with("hf_") => {}
        None => {
            config.set_first("model", Tree::text(DEFAULT_MODEL));
            let message = "`model` was not named; set GAGE_MODEL".to_owned();
            notes
                .changed(path_of(path, "model"), message, config.comments_of("model"))
                .help("write the name by which the server knows the model");
        }
    }
    for key in MODEL_KEYS.iter().filter(|key| **key != "model") {
        config.remove(key);
    }
    let Some(begin) = provider else { return };
    let Some(name) = config.text("model").and_then(|name| name.strip_prefix(begin)).map(str::to_owned) else {
        return;
    };
    config.set("model", Tree::text(name));
    let message = format!("`{begin}` is no part of the name of a model");
    notes.changed(path_of(path, "model"), message, config.comments_of("model"));
}

fn convert_address(config: &mut Mapping, old: &str, provider: Option<&str>, path: &str, notes: &mut Notes) {
    if let Some(host) = config.remove("host")
        && !URL_KEYS.iter().any(|key| config.has(key))
    {
        let port = config.remove("port").map_or_else(|| "8000".to_owned(), |port| port.plain_text());
        let host = host.plain_text();
        let host = if host == "0.0.0.0" { "127.0.0.1".to_owned() } else { host };
        config.set("base_url", Tree::text(format!("http://{host}:{port}/v1")));
        let message = "`host` and `port` are `base_url`".to_owned();
        notes.changed(path_of(path, "host"), message, config.comments_of("base_url"));
    }
    config.remove("port");
    let found = URL_KEYS.iter().find(|key| config.text(key).is_some_and(|url| !url.is_empty())).copied();
    if let Some(key) = found.filter(|key| *key != "base_url") {
        config.remove("base_url");
        config.rename(key, "base_url");
        notes.changed(
            path_of(path, key),
            format!("`{key}` is `base_url` here"),
            config.comments_of("base_url"),
        );
    }
    for key in URL_KEYS.iter().filter(|key| **key != "base_url") {
        config.remove(key);
    }
    let place = path_of(path, "base_url");
    if let Some(url) = config.text("base_url").map(str::to_owned) {
        let new = plain_address(&url);
        if new != url {
            config.set("base_url", Tree::text(new));
            let message = "`base_url` ends before the path of a request".to_owned();
            notes.changed(place, message, config.comments_of("base_url"));
        }
        return;
    }
    config.remove("base_url");
    // Types that already asked a service have its address as the default.
    let is_service = matches!(
        old,
        "openai_http"
            | "openai"
            | "openai_batch"
            | "anthropic_http"
            | "anthropic"
            | "claude"
            | "gemini_http"
            | "gemini"
    );
    let url = match provider {
        Some("") => return,
        Some(url) => url,
        None if is_service => return,
        None => DEFAULT_URL,
    };
    config.set_first("base_url", Tree::text(url));
    let message = match url == DEFAULT_URL {
        true => "`base_url` is the server of the model; set GAGE_BASE_URL if it is another".to_owned(),
        false => "`base_url` is the service of the model".to_owned(),
    };
    notes.changed(place, message, config.comments_of("base_url"));
}

/// Returns an address without the path of a request, and with a scheme.
fn plain_address(url: &str) -> String {
    let ends = ["/chat/completions", "/completions", "/"];
    let short = ends.iter().fold(url, |url, end| url.strip_suffix(end).unwrap_or(url));
    match short.contains("://") || short.starts_with("${") {
        true => short.to_owned(),
        false => format!("http://{short}"),
    }
}

/// Collects all sampling parameters in `default_params`.
fn collect_sampling(config: &mut Mapping, path: &str, notes: &mut Notes) {
    let mut params = match config.remove("default_params") {
        Some(Tree::Map(params)) => params,
        _ => Mapping::default(),
    };
    let mut moved = Vec::new();
    for section in SAMPLING_SECTIONS {
        if let Some(Tree::Map(below)) = config.remove(section) {
            below.entries.into_iter().for_each(|entry| params.set_missing(&entry.key, entry.value));
            moved.push((*section).to_owned());
        }
    }
    for key in config.keys() {
        // `logprobs` is a setting of the backend.
        if (sampling::is_sampling(&key) || key == "do_sample")
            && key != "logprobs"
            && let Some(value) = config.remove(&key)
        {
            params.set_missing(&key, value);
            moved.push(key);
        }
    }
    let place = path_of(path, "default_params");
    let further = sampling::convert(&mut params, &place, notes);
    if !params.entries.is_empty() || !params.comments.is_empty() {
        let is_empty = params.entries.is_empty();
        let comments = if is_empty { std::mem::take(&mut params.comments) } else { Vec::new() };
        if !is_empty {
            config.set("default_params", Tree::Map(params));
        }
        config.comments.extend(comments);
    }
    for key in moved {
        let message = format!("`{key}` is part of `default_params`");
        notes.changed(path_of(path, &key), message, config.comments_of("default_params"));
    }
    for entry in further.entries {
        let (key, is_body) = (entry.key.as_str(), BODY_KEYS.contains(&entry.key.as_str()));
        if is_body || key == "extra_body" {
            config.set_missing(key, entry.value);
            continue;
        }
        let message = format!("`{key}` is left out: it is not a sampling parameter");
        notes
            .dropped(path_of(&place, key), message, &mut config.comments)
            .help("put it into `extra_body` if the server needs it");
    }
}

/// Moves keys that the server gets as they are into `extra_body`.
fn move_to_body(config: &mut Mapping, path: &str, notes: &mut Notes) {
    if config.get("extra_body").is_some_and(|body| body.as_map().is_none()) {
        config.remove("extra_body");
    }
    for key in BODY_KEYS {
        if let Some(value) = config.remove(key)
            && let Some(body) = config.section("extra_body")
        {
            body.set_missing(key, value);
            let message = format!("`{key}` is part of `extra_body`");
            notes.changed(path_of(path, key), message, config.comments_of("extra_body"));
        }
    }
    // Sampling parameters there would override those of samples.
    let mut sampled = Vec::new();
    if let Some(Tree::Map(body)) = config.get_mut("extra_body") {
        for key in body.keys() {
            if sampling::is_sampling(&key)
                && let Some(value) = body.remove(&key)
            {
                sampled.push((key, value));
            }
        }
    }
    for (key, value) in sampled {
        if let Some(params) = config.section("default_params") {
            let mut one = Mapping::default();
            one.set(&key, value);
            sampling::convert(&mut one, &path_of(path, "extra_body"), notes);
            one.entries.into_iter().for_each(|entry| params.set_missing(&entry.key, entry.value));
        }
        let message = format!("`{key}` is part of `default_params`");
        notes.changed(path_of(path, "extra_body"), message, config.comments_of("default_params"));
    }
    for key in ["extra_body", "default_params"] {
        if config.get(key).is_some_and(Tree::is_empty) {
            config.remove(key);
        }
    }
}

/// Removes the key of the provider, and adds the path of its API to an address of litellm that lacks it.
fn settle_provider(config: &mut Mapping, begin: &str, path: &str, notes: &mut Notes) {
    for key in PROVIDER_KEYS {
        if config.remove(key).is_some() {
            let message = format!("`{key}` is left out: `type` and `base_url` say it");
            notes.dropped(path_of(path, key), message, &mut config.comments);
        }
    }
    let Some(url) = config.text("base_url").filter(|url| !url.contains("${")).map(str::to_owned) else {
        return;
    };
    let is_azure = url.contains("azure.com") && !url.contains("/openai/");
    let added = match begin {
        "azure/" if is_azure => "/openai/v1",
        "anthropic/" if !url.ends_with("/v1") => "/v1",
        _ => return,
    };
    config.set("base_url", Tree::text(format!("{url}{added}")));
    let message = format!("`base_url` has the path of the API, {added}");
    notes
        .changed(path_of(path, "base_url"), message, config.comments_of("base_url"))
        .help("litellm added a path by itself; check this one");
}

/// Removes settings of the process that serves the model. The notes name the options of that process.
fn drop_server_keys(config: &mut Mapping, old: &str, path: &str, notes: &mut Notes) {
    for (key, option) in SERVER_KEYS {
        let Some(value) = config.remove(key) else { continue };
        let message = format!("`{key}` is left out: it is a setting of the server");
        let note = notes.dropped(path_of(path, key), message, &mut config.comments);
        let Some(command) = server_command(old, option) else { continue };
        match value.shown().as_str() {
            "true" => note.help(format!("start the server with: {command}")),
            "false" => {}
            value => note.help(format!("start the server with: {command} {value}")),
        }
    }
}

/// Returns the command that starts the server of an old type with an option of `vllm serve`, if that server has it.
fn server_command(old: &str, option: &str) -> Option<String> {
    const VLLM: &str = "vllm serve MODEL";
    let program = OLD_TYPES.iter().find(|(name, ..)| *name == old).map_or("", |(.., program)| *program);
    let option = match old {
        "sglang" => SGLANG_OPTIONS.iter().find(|(vllm, _)| *vllm == option).map_or(option, |(_, own)| *own),
        _ if program.is_empty() || program == VLLM => option,
        _ => "",
    };
    let program = if program.is_empty() { VLLM } else { program };
    (!option.is_empty()).then(|| format!("{program} {option}"))
}

fn drop_unknown(config: &mut Mapping, kind: &str, path: &str, notes: &mut Notes) {
    const OPENAI_ONLY: [&str; 6] =
        ["logprobs", "response_format", "think_tags", "loglikelihood", "max_tokens_name", "omit_params"];
    for key in config.keys() {
        let is_other = kind != OPENAI && OPENAI_ONLY.contains(&key.as_str());
        if HTTP_KEYS.contains(&key.as_str()) && !is_other {
            continue;
        }
        config.remove(&key);
        let message = format!("`{key}` is left out: `{kind}` has no such key");
        notes
            .dropped(path_of(path, &key), message, &mut config.comments)
            .help("put it into `extra_body` if the server needs it");
    }
}

/// Removes values that are out of bounds.
fn settle_values(config: &mut Mapping) {
    for key in ["timeout", "max_concurrency", "async_max_concurrency", "requests_per_minute"] {
        let number = match config.get(key) {
            Some(Tree::Scalar(number)) => number.as_f64(),
            _ => None,
        };
        if number.is_some_and(|number| number <= 0.0) {
            config.remove(key);
        }
    }
    let is_empty = |config: &Mapping, key: &str| config.get(key).is_some_and(Tree::is_empty);
    for key in ["api_key", "api_key_env", "api_key_file", "headers", "response_format"] {
        if is_empty(config, key) {
            config.remove(key);
        }
    }
    if config.has("api_key_env") {
        config.remove("api_key");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(entries: &[(&str, &str)]) -> Mapping {
        let mut config = Mapping::default();
        for (key, value) in entries {
            config.set(key, Tree::text(*value));
        }
        config
    }

    #[test]
    fn providers_of_litellm_give_type_model_and_address() {
        const LOCAL: &str = "http://localhost:1/v1";
        for (entries, kind, model, url) in [
            (&[("model", "openai/dut"), ("api_base", LOCAL)][..], OPENAI, "dut", Some(LOCAL)),
            (
                &[("provider", "openai"), ("model", "openai/dut"), ("api_base", LOCAL)],
                OPENAI,
                "dut",
                Some(LOCAL),
            ),
            (&[("provider", "openai"), ("model", "gpt")], OPENAI, "gpt", None),
            (&[("provider", "anthropic"), ("model", "claude-3")], "anthropic_http", "claude-3", None),
            (
                &[("model", "anthropic/claude-3"), ("api_base", "http://localhost:1")],
                "anthropic_http",
                "claude-3",
                Some(LOCAL),
            ),
            (&[("custom_llm_provider", "gemini"), ("model", "some")], "gemini_http", "some", None),
            (&[("model", "deepseek/chat"), ("api_base", LOCAL)], OPENAI, "chat", Some(LOCAL)),
            (
                &[("model", "azure/gpt"), ("api_base", "https://x.openai.azure.com/")],
                OPENAI,
                "gpt",
                Some("https://x.openai.azure.com/openai/v1"),
            ),
            (&[("model", "org/own"), ("api_base", LOCAL)], OPENAI, "org/own", Some(LOCAL)),
        ] {
            let mut config = config(entries);
            let found = provider_of(&config, "litellm").map_or(OPENAI, |(_, kind, _)| kind);
            convert(&mut config, found, "litellm", "config", &mut Notes::default());
            assert_eq!((found, config.text("model"), config.text("base_url")), (kind, Some(model), url));
            assert!(PROVIDER_KEYS.iter().all(|key| !config.has(key)), "{entries:?}");
        }
    }

    #[test]
    fn options_are_those_of_the_server_of_the_type() {
        for (old, option, command) in [
            ("vllm", "--dtype", Some("vllm serve MODEL --dtype")),
            ("openai_http", "--dtype", Some("vllm serve MODEL --dtype")),
            (
                "sglang",
                "--max-model-len",
                Some("python -m sglang.launch_server --model-path MODEL --context-length"),
            ),
            ("sglang", "--dtype", Some("python -m sglang.launch_server --model-path MODEL --dtype")),
            ("sglang", "--swap-space", None),
            ("transformers", "--dtype", None),
            ("vllm", "", None),
        ] {
            assert_eq!(server_command(old, option).as_deref(), command, "{old} {option}");
        }
    }
}
