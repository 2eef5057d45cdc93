use super::*;
use crate::api::Capabilities;
use gage_config::{Environment, load};
use gage_core::Role;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the specification of a backend, as in a suite.
fn spec(kind: &str, settings: &str) -> Arc<BackendSpec> {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
         backends: [{{backend_id: b, type: {kind}, config: {settings}}}]\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n"
    );
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load("test.yaml", &text, &[], &environment);
    assert!(!problems.has_errors(), "{}", problems.render(false));
    config.expect("a configuration").backends.remove(0)
}

fn info(kind: &'static str, details: &Value) -> BackendInfo {
    BackendInfo {
        kind,
        model: "m".to_owned(),
        capabilities: Capabilities::default(),
        max_concurrency: 1,
        details: details.as_object().cloned().unwrap_or_default(),
    }
}

fn server(settings: &str) -> CacheKeys {
    CacheKeys::new(&spec("openai_http", settings), &info("openai_http", &json!({})), None).expect("keys")
}

fn question() -> GenerateRequest {
    GenerateRequest {
        id: "q".to_owned(),
        messages: vec![Message::text(Role::User, "2+2?")].into(),
        prompt: None,
        params: SamplingParams::default(),
        tools: Vec::new(),
        tool_choice: None,
        draw: Some(DrawIndex::default()),
        place: None,
    }
}

fn key_of(keys: &CacheKeys) -> Digest {
    keys.of_generate(&question()).expect("a key")
}

#[test]
fn every_setting_that_an_answer_may_hang_on_makes_another_key() {
    let base = "{base_url: 'http://a/v1', model: m}";
    let changing = [
        "{base_url: 'http://b/v1', model: m}",
        "{base_url: 'http://a/v2', model: m}",
        "{base_url: 'http://a/v1', model: n}",
        "{base_url: 'http://a/v1', model: m, stream: true}",
        "{base_url: 'http://a/v1', model: m, logprobs: 1}",
        "{base_url: 'http://a/v1', model: m, think_tags: true}",
        "{base_url: 'http://a/v1', model: m, loglikelihood: echo}",
        "{base_url: 'http://a/v1', model: m, loglikelihood: prompt_logprobs}",
        "{base_url: 'http://a/v1', model: m, chat_template: none}",
        "{base_url: 'http://a/v1', model: m, text_start: '<s>'}",
        "{base_url: 'http://a/v1', model: m, omit_params: [top_p]}",
        "{base_url: 'http://a/v1', model: m, extra_body: {user: u}}",
        "{base_url: 'http://a/v1', model: m, headers: {X-RecordingMode: a}}",
        "{base_url: 'http://a/v1', model: m, headers: {X-RecordingMode: b}}",
        "{base_url: 'http://a/v1', model: m, default_params: {temperature: 0.5}}",
        "{base_url: 'http://a/v1', model: m, default_params: {max_new_tokens: 5}}",
        "{base_url: 'http://a/v1', model: m, default_params: {stop: [x]}}",
        "{base_url: 'http://a/v1', model: m, default_params: {seed: 0}}",
    ];
    let mut seen = HashMap::from([(key_of(&server(base)), base)]);
    for settings in changing {
        let before = seen.insert(key_of(&server(settings)), settings);
        assert_eq!(before, None, "{settings}");
    }
    let not_changing = [
        "{base_url: 'http://a/v1', model: m, api_key: k}",
        "{base_url: 'http://a/v1', model: m, headers: {Authorization: Bearer k}}",
        "{base_url: 'http://a/v1', model: m, max_concurrency: 3, timeout: 4}",
    ];
    for settings in not_changing {
        assert_eq!(key_of(&server(settings)), key_of(&server(base)), "{settings}");
    }
}

#[test]
fn facts_that_change_no_answer_are_not_in_the_key_of_a_model() {
    let of = |settings: &str, model: &str, details: Value| {
        let info = BackendInfo { model: model.to_owned(), ..info("llama_cpp", &details) };
        key_of(&CacheKeys::new(&spec("llama_cpp", settings), &info, None).expect("keys"))
    };
    let base = || {
        let kernels = "CPU (one); built for AVX2";
        json!({"file_digest": "a", "slots": 8, "replicas": 1, "threads": 2, "kernels": kernels})
    };
    let settings = "{model_path: a.gguf}";
    let key = of(settings, "a.gguf", base());
    for (path, value) in [
        ("file_digest", json!("b")),
        ("kernels", json!("CPU (one); built for AVX512")),
        ("chat_template_digest", json!("c")),
        ("llama_cpp_2", json!("1")),
    ] {
        let mut details = base();
        details[path] = value;
        assert_ne!(of(settings, "a.gguf", details), key, "{path}");
    }
    for (path, value) in [
        ("threads", json!(9)),
        ("slots", json!(4)),
        ("replicas", json!(2)),
        ("kernels", json!("CPU (another); built for AVX2")),
        ("kernel_modules", json!({"libggml-cpu-haswell.so": "sha256:1"})),
        ("devices", json!([{"name": "CUDA0"}])),
    ] {
        let mut details = base();
        details[path] = value;
        assert_eq!(of("{model_path: /elsewhere/b.gguf}", "b.gguf", details), key, "{path}");
    }
    let with_default = "{model_path: a.gguf, default_params: {top_k: 3}}";
    assert_ne!(of(with_default, "a.gguf", base()), key);
}

#[test]
fn components_that_ask_models_have_no_keys() {
    let settings = |config: &str| format!("{{component: custom, config: {config}}}");
    let of = |config: &str, details: Value, grants: &Grants| {
        CacheKeys::new(
            &spec("custom_script", &settings(config)),
            &info("custom_script", &details),
            Some(grants),
        )
    };
    let none = Grants::default();
    let base = of("{a: 1}", json!({"digest": "d"}), &none).expect("keys");
    let another = of("{a: 2}", json!({"digest": "d"}), &none).expect("keys");
    let newer = of("{a: 1}", json!({"digest": "e"}), &none).expect("keys");
    let seeing = of("{a: 1}", json!({"digest": "d"}), &Grants { media: true, ..Grants::default() });
    let keys = [key_of(&base), key_of(&another), key_of(&newer), key_of(&seeing.expect("keys"))];
    let distinct: std::collections::HashSet<Digest> = keys.into_iter().collect();
    assert_eq!(distinct.len(), 4);
    // It sees the id, whether or not sampling is random.
    let of_id = |id: &str| {
        let params = SamplingParams { temperature: Some(0.0), ..SamplingParams::default() };
        base.of_generate(&GenerateRequest { id: id.to_owned(), params, ..question() })
    };
    assert_ne!(of_id("a"), of_id("b"));
    let span = spec("custom_script", &settings("{}")).span;
    let llm = vec![gage_config::LlmGrant { role: "r".to_owned(), max_calls: 1, max_tokens: 1, span }];
    assert!(of("{a: 1}", json!({"digest": "d"}), &Grants { llm, ..Grants::default() }).is_none());
}

#[test]
fn requests_without_a_draw_index_have_no_key() {
    let keys = server("{base_url: 'http://a/v1', model: m}");
    assert_eq!(keys.of_generate(&GenerateRequest { draw: None, ..question() }), None);
}

#[test]
fn equal_rows_share_an_answer_unless_it_is_random() {
    let keys = server("{base_url: 'http://a/v1', model: m}");
    let of = |id: &str, seed, temperature| {
        let params = SamplingParams { seed, temperature, ..SamplingParams::default() };
        keys.of_generate(&GenerateRequest { id: id.to_owned(), params, ..question() })
    };
    assert_eq!(of("a", None, Some(0.0)), of("b", None, Some(0.0)));
    assert_eq!(of("a", Some(1), Some(0.7)), of("b", Some(1), Some(0.7)));
    assert_ne!(of("a", None, Some(0.7)), of("b", None, Some(0.7)));
    assert_ne!(of("a", None, None), of("b", None, None), "the server may draw");
}

fn params() -> impl Strategy<Value = SamplingParams> {
    let tokens = proptest::option::of(1_u32..9);
    let numbers = proptest::option::of(0.0_f64..1.0);
    (tokens.clone(), numbers.clone(), numbers.clone(), tokens, numbers, proptest::option::of(0_u64..9))
        .prop_map(|(max_new_tokens, temperature, top_p, top_k, min_p, seed)| SamplingParams {
            max_new_tokens,
            temperature,
            top_p,
            top_k,
            min_p,
            seed,
            ..SamplingParams::default()
        })
}

prop_compose! {
    fn requests()(
        id in "[a-z]{0,3}",
        texts in proptest::collection::vec("[a-z ]{0,6}", 1..3),
        prompt in proptest::option::of("[a-z]{0,6}"),
        params in params(),
        repeat in 0_u64..9,
    ) -> GenerateRequest {
        GenerateRequest {
            id,
            messages: texts.into_iter().map(|text| Message::text(Role::User, text)).collect(),
            prompt,
            params,
            tools: Vec::new(),
            tool_choice: None,
            draw: Some(DrawIndex { repeat, ..DrawIndex::default() }),
            place: None,
        }
    }
}

/// Changes one field of a request, with the name of the field.
type Change = (&'static str, fn(&mut GenerateRequest));

fn other<T: Copy + PartialEq>(value: &mut Option<T>, one: T, two: T) {
    *value = Some(if *value == Some(one) { two } else { one });
}

const CHANGES: [Change; 20] = [
    ("the text of a message", |request| {
        request.messages.to_mut()[0].content[0] = gage_core::ContentPart::text("Other")
    }),
    ("the role of a message", |request| request.messages.to_mut()[0].role = Role::Assistant),
    ("the name of a message", |request| request.messages.to_mut()[0].name = Some("n".to_owned())),
    ("a message more", |request| request.messages.to_mut().push(Message::text(Role::User, ""))),
    ("a further key of a message", |request| {
        drop(request.messages.to_mut()[0].extra.insert("k".to_owned(), 1.into()))
    }),
    ("the prompt", |request| request.prompt = Some("Other".to_owned())),
    ("max_new_tokens", |request| other(&mut request.params.max_new_tokens, 77, 78)),
    ("temperature", |request| other(&mut request.params.temperature, 7.5, 8.5)),
    ("top_p", |request| other(&mut request.params.top_p, 0.25, 0.75)),
    ("top_k", |request| other(&mut request.params.top_k, 77, 78)),
    ("min_p", |request| other(&mut request.params.min_p, 0.25, 0.75)),
    ("seed", |request| other(&mut request.params.seed, 77, 78)),
    ("stop", |request| request.params.stop = Some(vec!["x".to_owned()])),
    ("presence_penalty", |request| request.params.presence_penalty = Some(1.0)),
    ("frequency_penalty", |request| request.params.frequency_penalty = Some(1.0)),
    ("repetition_penalty", |request| request.params.repetition_penalty = Some(1.5)),
    ("tools", |request| request.tools.push(json!({"type": "function"}))),
    ("tool_choice", |request| request.tool_choice = Some(json!("auto"))),
    ("the repeat", |request| request.draw.as_mut().expect("a draw").repeat += 1),
    ("the attempt", |request| request.draw.as_mut().expect("a draw").attempt += 1),
];

#[test]
fn every_sampling_parameter_is_among_the_changes() {
    for name in SamplingParams::NAMES {
        assert!(CHANGES.iter().any(|(change, _)| *change == name), "{name}");
    }
}

proptest! {
    #[test]
    fn changing_any_one_field_misses(request in requests(), number in 0_usize..9) {
        let keys = server("{base_url: 'http://a/v1', model: m}");
        let key = keys.of_generate(&request);
        prop_assert_eq!(keys.of_generate(&request.clone()), key);
        for (name, change) in CHANGES {
            let mut changed = request.clone();
            change(&mut changed);
            prop_assert_ne!(keys.of_generate(&changed), key, "{}", name);
        }
        let mut changed = request.clone();
        changed.draw = Some(DrawIndex { prompt: number + 1, ..request.draw.unwrap_or_default() });
        prop_assert_ne!(keys.of_generate(&changed), key, "the number of the prompt");
        // The kind of request is part of the key.
        let scored = LoglikelihoodRequest {
            id: request.id.clone(),
            messages: request.messages.clone(),
            prompt: request.prompt.clone(),
            continuations: vec![Continuation { id: "a".to_owned(), text: "x".to_owned() }],
        };
        prop_assert_ne!(Some(keys.of_loglikelihood(&scored)), key);
        for (id, text) in [("b", "x"), ("a", "y")] {
            let continuations = vec![Continuation { id: id.to_owned(), text: text.to_owned() }];
            let changed = LoglikelihoodRequest { continuations, ..scored.clone() };
            prop_assert_ne!(keys.of_loglikelihood(&changed), keys.of_loglikelihood(&scored));
        }
        let embedded = |texts: &[&str]| keys.of_embed(&EmbedRequest {
            id: request.id.clone(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        });
        prop_assert_ne!(embedded(&["ab"]), embedded(&["a", "b"]));
        let whole = |text: &str, has_special_tokens| {
            keys.of_rolling(&RollingRequest { id: request.id.clone(), text: text.to_owned(), has_special_tokens })
        };
        prop_assert_ne!(whole("a", false), whole("b", false));
        prop_assert_ne!(whole("a", false), whole("a", true));
        prop_assert_ne!(whole("a", false), embedded(&["a"]));
    }
}
