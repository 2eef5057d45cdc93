//! Attacks of plugins: on other plugins, on the host, and on the person who reads their logs.

use crate::scripted_backend::constant_backend;
use crate::support::{Workspace, rows, suite};
use base64::Engine as _;
use gage_config::{Grants, HttpGrant, PluginLimits, SecretGrant, Span};
use gage_core::{EvalContext, Outcome, ShortageWatch};
use gage_plugin::{
    BackendComponent, BackendPluginComponent, GenerateRequest, Generation, HostOptions, InstanceSetup,
    ItemError, MediaSet, Message, Metric, MetricComponent, PluginHost, Role,
};
use gage_test_corpus::{loading, machine, memory, obedient, texts, wasi};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// Time after which a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

const SECRET: &str = "Sek/9Wq+<a>&b==";

fn secret(_: &str) -> Option<String> {
    Some(SECRET.to_owned())
}

fn host() -> PluginHost {
    PluginHost::new(&HostOptions { secret: Some(secret), ..HostOptions::default() }).expect("an engine")
}

fn metric(host: &PluginHost, bytes: &[u8], limits: PluginLimits) -> Metric {
    let component = MetricComponent::load(host, "attacker", bytes, &InstanceSetup::with_limits(limits));
    let component = component.unwrap_or_else(|error| panic!("{error}"));
    let metric = Arc::new(component).configure(None, json!({}));
    metric.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Scores one item.
fn score(metric: &Metric) -> Result<Option<f64>, ItemError> {
    let output = json!({"answer": "yes"});
    let roots = EvalContext {
        sample: (&Value::Null).into(),
        model_output: (&output).into(),
        judge_output: &Value::Null,
        support_output: &Value::Null,
    };
    let mut results = metric.score(vec![metric.resolve("1", roots)]).results;
    results.pop().expect("one result").map(|card| card.primary_score)
}

/// Loads a backend that may send requests to an address.
fn backend(host: &PluginHost, bytes: &[u8], address: SocketAddr, config: Value) -> BackendComponent {
    let http = HttpGrant {
        host: address.ip().to_string(),
        port: Some(address.port()),
        methods: vec!["POST".to_owned()],
        private: false,
        timeout: PATIENCE,
        response_bytes: 1 << 20,
        max_concurrency: 64,
    };
    let span = Span { source: 0, start: 0, end: 0 };
    let secrets = vec![SecretGrant { name: "THE_KEY".to_owned(), hosts: None, span }];
    let grants = Grants { http: vec![http], secrets, ..Grants::default() };
    let setup = InstanceSetup { grants, ..InstanceSetup::default() };
    let component = BackendPluginComponent::load(host, "attacker", bytes, &setup);
    let component = component.unwrap_or_else(|error| panic!("{error}"));
    let backend = Arc::new(component).configure(None, config);
    backend.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Sends one message to a backend.
fn generate(backend: &BackendComponent, message: &str) -> Result<Generation, ItemError> {
    let message = Message { role: Role::User, content: message.to_owned(), extra: "{}".to_owned() };
    let request = GenerateRequest { id: "1".to_owned(), messages: vec![message], params: "{}".to_owned() };
    backend.generate(&[request], MediaSet::default()).pop().expect("one result")
}

#[test]
fn a_plugin_does_not_see_the_processor() {
    let probe = metric(&host(), &machine::probe(), PluginLimits::default());
    assert_eq!(score(&probe), Ok(Some(0.0)), "each bit of the score is a difference");
}

/// Without a check after each call of the host, the guest would make tens of thousands of slow calls first.
#[test]
fn time_ends_a_plugin_that_lets_the_host_work() {
    let limits = PluginLimits {
        fuel_per_item: Some(900_000),
        wall_time: Some(Duration::from_millis(300)),
        ..PluginLimits::default()
    };
    let error = score(&metric(&host(), &wasi::endless_lookups(), limits)).expect_err("it does not end");
    assert_eq!((error.outcome, error.message.as_str()), (Outcome::PluginTimeout, "did not end within 0.3 s"));
}

/// The attackers ask for 512 memories at the same time, and the pool has 256.
#[test]
fn a_plugin_cannot_take_the_memories_of_others() {
    const ATTACKERS: usize = 32;
    let (host, shortages) = (host(), ShortageWatch::start());
    let limits = PluginLimits {
        fuel_per_item: Some(u64::MAX),
        wall_time: Some(Duration::from_millis(300)),
        ..PluginLimits::default()
    };
    let attacker = metric(&host, &machine::hoarder(true), limits);
    let victims = [obedient(), machine::hoarder(false)];
    let victims = victims.map(|bytes| metric(&host, &bytes, PluginLimits::default()));
    let ended = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..ATTACKERS {
            scope.spawn(|| {
                let outcome = score(&attacker).map_err(|error| error.outcome);
                ended.fetch_add(1, Ordering::SeqCst);
                assert_eq!(outcome, Err(Outcome::PluginTimeout));
            });
        }
        for victim in &victims {
            scope.spawn(move || {
                loop {
                    assert_eq!(score(victim), Ok(Some(1.0)));
                    if ended.load(Ordering::SeqCst) == ATTACKERS {
                        return;
                    }
                }
            });
        }
    });
    assert_eq!(shortages.shortage(), None);
}

/// The backend has 16 memories in each of 16 calls, which is the whole pool, while its server does not answer.
#[test]
fn a_backend_that_waits_takes_no_memories_of_others() {
    const CALLS: usize = 16;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (all_wait, wait_for_all) = mpsc::channel();
    let (release, wait_for_release) = mpsc::channel::<()>();
    thread::spawn(move || {
        let connections: Vec<_> = listener.incoming().take(CALLS).collect();
        all_wait.send(()).expect("the test waits");
        // Fails when the sender is dropped, which is as good.
        let _ = wait_for_release.recv();
        drop(connections);
    });
    let host = host();
    let bytes = memory::with_memories(gage_test_guests::ASKING_BACKEND, 15);
    let attacker = backend(&host, &bytes, address, json!({}));
    thread::scope(|scope| {
        let calls: Vec<_> = (0..CALLS)
            .map(|_| scope.spawn(|| generate(&attacker, &format!("ask http://{address}/"))))
            .collect();
        wait_for_all.recv_timeout(PATIENCE).expect("all calls wait for the server");
        let victim = metric(&host, &machine::hoarder(false), PluginLimits::default());
        let found = score(&victim);
        drop(release);
        assert_eq!(found, Ok(Some(1.0)));
        for call in calls {
            let ended = call.join().expect("no panic").map(|generation| generation.answer);
            assert_eq!(ended.map_err(|error| error.kind), Err("upstream"));
        }
    });
}

#[test]
fn schemas_that_take_years_to_check_are_refused() {
    let host = host();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (count, message) in
            [(18, "the schema is too large"), (34, "the schema is nested deeper than 64 levels")]
        {
            let bytes = loading::doubled_schema(keyword, count);
            let error = MetricComponent::load(&host, "attacker", &bytes, &InstanceSetup::default()).err();
            let error = error.expect("refused").to_string();
            assert!(error.starts_with("plugin 'attacker': ") && error.contains(message), "{error}");
        }
    }
}

#[test]
fn schemas_of_many_members_share_one_budget() {
    let pattern = |number: usize| json!({"pattern": format!("(a|b){{1,1000}}c{number}")});
    let schema = json!({"allOf": (0..900).map(pattern).collect::<Vec<_>>()});
    let bytes = loading::members_with_schema(&schema.to_string(), 20);
    let error = MetricComponent::load(&host(), "attacker", &bytes, &InstanceSetup::default()).err();
    let error = error.expect("refused").to_string();
    assert!(
        error.starts_with("plugin 'attacker': ")
            && error.contains("'metric-0': ")
            && error.contains("at most 250"),
        "{error}"
    );
}

#[test]
fn promise_9_a_secret_stays_hidden_in_every_spelling() {
    let host = host();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(MockServer::start());
    let config = json!({"url": server.uri(), "model": "m", "secret": "THE_KEY"});
    let attacker = backend(&host, gage_test_guests::HTTP_MODEL, *server.address(), config);
    let spellings = [
        // As PHP, Go and others write JSON.
        r"Sek\/9Wq+<a>&b==".to_owned(),
        r"Sek/9Wq+\u003ca\u003e\u0026b==".to_owned(),
        SECRET.chars().map(|one| format!("\\u{:04x}", u32::from(one))).collect(),
        SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        "&#83;ek&#x2F;9Wq+&lt;a&gt;&amp;b==".to_owned(),
        base64::engine::general_purpose::STANDARD.encode(SECRET),
        SECRET.to_uppercase(),
        SECRET.chars().rev().collect(),
    ];
    for spelling in spellings {
        let body = format!(r#"{{"choices": [{{"message": {{"content": "you sent {spelling}"}}}}]}}"#);
        runtime.block_on(async {
            server.reset().await;
            let echo = ResponseTemplate::new(200).set_body_raw(body, "application/json");
            Mock::given(method("POST")).respond_with(echo).mount(&server).await;
        });
        let answer = generate(&attacker, "what did I send?").map(|generation| generation.answer);
        let answer = answer.unwrap_or_else(|error| panic!("{error:?}"));
        // A last digit of Base64 may depend on the next byte, and stays.
        assert!(answer.starts_with("you sent [secret THE_KEY]"), "{spelling}: {answer}");
        assert!(answer.len() <= "you sent [secret THE_KEY]".len() + 2, "{spelling}: {answer}");
    }
}

#[test]
fn logs_of_a_plugin_do_not_imitate_other_messages() {
    let workspace = Workspace::new();
    let text = "one\n::error::two\r\nerror: three \u{202e}four\u{1b}[2J";
    workspace.write("logs.wasm", texts::logging(text));
    workspace.write("rows.jsonl", rows(1));
    let backend = constant_backend(&workspace, "yes");
    workspace.write("suite.yaml", suite(&backend, "[./logs.wasm]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let expected = r"warning: one\n::error::two\r\nerror: three \u{202e}four\u{1b}[2J";
    assert!(ended.stderr.lines().any(|line| line.starts_with(expected)), "{}", ended.stderr);
    let imitations = ["::error::", "error: three"];
    assert!(!ended.stderr.lines().any(|line| imitations.iter().any(|start| line.starts_with(start))));
}
