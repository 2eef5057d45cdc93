//! Templates that take too much time, memory or stack. A model's author writes its chat template, in the model file or in
//! `tokenizer_config.json`, and the author of a suite writes its prompts.

use gage_config::{PromptMessage, PromptSpec, Span};
use gage_core::{Message, Object, Role};
use gage_plugin::{HostOptions, PluginHost, Registry};
use gage_template::{
    ChatTemplate, ContentForm, Conversation, PromptContext, PromptRenderer, TemplateSandbox, TokenizerConfig,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Templates that must not be rendered. Some are written for the names of this program's own templates.
const HOSTILE: [&str; 38] = [
    // Texts that double.
    "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(40) %}{% set x %}{{ ns.s }}{{ ns.s }}{% endset %}\
     {% set ns.s = x %}{% endfor %}",
    "{% macro m(s, n) %}{% if n %}{{ m(s ~ s, n - 1) }}{% else %}{{ s }}{% endif %}{% endmacro %}\
     {{ m('aaaaaaaa', 60) }}",
    "{% set a = 'a' * 90000000 %}{% set b = a ~ a %}{{ b|length }}",
    // Texts that are multiplied.
    "{% set s = 'a' * 1000000 %}{{ s|replace('a', s) }}",
    "{% set s = 'a' * 1000000 %}{{ s.replace('a', s) }}",
    "{% set s = 'a' * 1000000 %}{{ range(90000)|join(s) }}",
    "{% set s = 'a' * 1000000 %}{{ s.join(range(90000)) }}",
    "{% set s = 'a' * 100000 %}{% for i in range(90000) %}{{ s }}{% endfor %}",
    "{% filter replace('a', 'b' * 1000000) %}{{ 'a' * 1000 }}{% endfilter %}",
    "{{ ('a' * 100000000) ~ ('b' * 100000000) }}",
    // Widths and counts.
    "{{ 'a\nb'|indent(100000000000) }}",
    "{{ 'a\nb'|indent(9223372036854775807) }}",
    "{{ 'a\nb'|indent(2000000000) }}",
    "{{ '%100000000000d'|format(1) }}",
    "{{ '%2000000000d'|format(1) }}",
    "{{ '{:>100000000000}'.format(1) }}",
    "{{ '{:>2000000000}'.format(1) }}",
    "{{ [1]|slice(1000000000)|list|length }}",
    "{{ range(100000000)|list }}",
    "{{ 2 ** 100000 }}",
    // Lists that double or share their parts.
    "{% set ns = namespace(l=[1]) %}{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}\
     {{ ns.l|list|length }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|string }}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson }}",
    "{{ ('a' * 10000000)|list|length }}",
    "{{ ([1] * 90000000)|list|length }}",
    // Values that nest, or contain themselves.
    "{% set ns = namespace(l=[]) %}{% for i in range(90000) %}{% set ns.l = [ns.l] %}{% endfor %}",
    "{% set ns = namespace(l=[]) %}{% for i in range(90000) %}{% set ns.l = {'a': ns.l} %}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns|tojson }}",
    // Templates that call themselves.
    "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% block b %}{{ self.b() }}{% endblock %}",
    "{% include 'chat_template' %}",
    "{% include 'p' %}",
    // Loops.
    "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
    "{% set s = 'a' * 100000 %}{% for i in range(90000) %}{% set x = s|upper %}{% endfor %}",
    "{% for c in 'a' * 20000000 %}{% endfor %}",
];

/// Returns hostile templates whose texts are long.
fn long_templates() -> Vec<String> {
    let repeated =
        |begin: &str, part: &str, count: usize, end: &str| format!("{begin}{}{end}", part.repeat(count));
    vec![
        repeated("{{ ", "(", 20_000, &format!("1{} }}}}", ")".repeat(20_000))),
        repeated("{{ 1", "|abs", 100_000, " }}"),
        repeated("{{ a", ".b", 100_000, " }}"),
        repeated("{{ 'a'", " ~ 'a'", 100_000, " }}"),
        repeated("", "{% if 1 %}", 20_000, &"{% endif %}".repeat(20_000)),
        repeated("{{ ", "[", 20_000, &format!("{} }}}}", "]".repeat(20_000))),
        format!(
            "{{% set ns = namespace(s='') %}}{{% for i in range(90000) %}}{{% set x %}}{}{{% endset %}}\
             {{% set ns.s = ns.s ~ x %}}{{% endfor %}}",
            "r".repeat(10_000)
        ),
    ]
}

fn all() -> Vec<String> {
    HOSTILE.iter().map(|template| (*template).to_owned()).chain(long_templates()).collect()
}

/// Returns the component that renders templates, compiled once.
fn sandbox() -> &'static TemplateSandbox {
    static SANDBOX: OnceLock<TemplateSandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("components"));
        let host = PluginHost::new(&HostOptions { cache_folder, ..HostOptions::default() });
        let registry = Registry::new(host.expect("an engine"), gage_plugin_bundle::COMPONENTS);
        TemplateSandbox::load(&registry).expect("the component")
    })
}

/// Checks that each template ends with an error that names its origin.
fn check(origin: &str, rendered: impl Fn(&str) -> Result<String, String>) {
    for template in all() {
        let shown: String = template.chars().take(200).collect();
        match rendered(&template) {
            Ok(text) => panic!("{shown}: it gave {} bytes", text.len()),
            Err(error) => assert!(error.contains(origin), "{shown}: {error}"),
        }
    }
}

#[test]
fn hostile_templates_of_model_files_end_as_errors() {
    let messages = [Message::text(Role::User, "hi")];
    check("the chat template of model.gguf ", |text| {
        let template = ChatTemplate::compile(sandbox(), "model.gguf", text, "<s>", "</s>");
        let template = template.map_err(|error| error.to_string())?;
        let conversation = Conversation::new(&messages, &[], ContentForm::Text);
        template.render(&conversation).map_err(|error| error.to_string())
    });
}

#[test]
fn hostile_templates_of_tokenizers_end_as_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokenizer_config.json");
    let rendered = |text: &str| {
        std::fs::write(&file, json!({"chat_template": text}).to_string()).expect("written");
        let config = TokenizerConfig::read(&file, &gage_config::Permissions::default())
            .map_err(|error| error.to_string())?;
        let template = config.compile(sandbox()).map_err(|error| error.to_string())?;
        let no_tools: &[Value] = &[];
        let conversations = [(vec![Message::text(Role::User, "hi")], no_tools)];
        template.render_batch(&conversations).remove(0).map_err(|error| error.to_string())
    };
    check(&format!("the chat template of {} ", file.display()), rendered);
}

#[test]
fn hostile_prompts_of_suites_end_as_errors() {
    check("the template `p`: ", |text| {
        let span = Span { source: 0, start: 0, end: 0 };
        let spec = PromptSpec {
            prompt_id: "p".to_owned(),
            messages: vec![PromptMessage { role: Role::User, template: text.to_owned(), span }],
            params: Object::new(),
            span,
        };
        let renderer = PromptRenderer::new(sandbox(), &spec, &Object::new());
        let renderer =
            renderer.map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>())?;
        let (sample, payload) = (json!({}), Object::new());
        let context = PromptContext {
            sample: &sample,
            payload: &payload,
            history: &[],
            adapter_id: "model",
            role_type: "dut_model",
        };
        let messages = renderer.render(&renderer.input(&context)).map_err(|error| error.to_string())?;
        Ok(gage_core::text_of(&messages[0].content))
    });
}

#[test]
fn a_hostile_conversation_leaves_the_others_as_they_are() {
    let text = "{% set ns = namespace(s=messages[0].content) %}{% for i in range(messages|length) %}\
                {% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s|length }}";
    let template = ChatTemplate::compile(sandbox(), "model.gguf", text, "", "").expect("a template");
    let conversation = |turns: usize| {
        let messages = vec![Message::text(Role::User, "aaaa"); turns];
        Conversation::new(&messages, &[], ContentForm::Text)
    };
    let rendered = template.render_batch(&[conversation(1), conversation(40), conversation(2)]);
    let lengths: Vec<Option<&str>> = rendered.iter().map(|one| one.as_deref().ok()).collect();
    assert_eq!(lengths, [Some("8"), None, Some("16")]);
}
