//! Metrics that try to escape through WASI, which exists but is empty.
//!
//! The score of each is its finding: 0 if there is nothing.

use crate::guest::Guest;
use crate::wasi_wit::{CLI, CLOCKS, FILESYSTEM, HTTP, IO, RANDOM, SOCKETS};
use crate::{End, Member};

/// Returns a metric that calls a function with the address of 64 bytes for its result, and scores the word at an offset
/// in it.
fn found(
    interface: &str,
    packages: &[&str],
    function: &str,
    params: &str,
    arguments: &str,
    offset: u32,
) -> Guest {
    Guest::metric()
        .interface(interface, packages)
        .import(&format!("(import \"{interface}\" \"{function}\" (func $ask (param {params} i32)))"))
        .scoring(
            &format!(
                "(local.set $a (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 64)))
                 (call $ask {arguments} (local.get $a))"
            ),
            &format!("(f64.convert_i32_u (i32.load offset={offset} (local.get $a)))"),
        )
}

/// Returns a metric that creates a socket and scores 1 if that was refused.
fn socket(interface: &str, function: &str) -> Guest {
    found(interface, &[IO, SOCKETS], function, "i32", "(i32.const 0)", 0)
}

/// Returns a metric that waits for this many nanoseconds. The clock does not advance and its alarms go off at once; a
/// host that waited with the guest would never return.
fn sleep(nanoseconds: u64) -> Guest {
    Guest::metric()
        .interface("wasi:io/poll@0.2.0", &[IO])
        .interface("wasi:clocks/monotonic-clock@0.2.0", &[IO, CLOCKS])
        .import(
            "(import \"wasi:clocks/monotonic-clock@0.2.0\" \"subscribe-duration\" (func $after (param i64) (result i32)))
             (import \"wasi:io/poll@0.2.0\" \"[method]pollable.block\" (func $block (param i32)))",
        )
        .scoring(&format!("(call $block (call $after (i64.const {nanoseconds})))"), "(f64.const 0)")
}

fn looks() -> Vec<(&'static str, &'static str, Guest, End)> {
    const ENVIRONMENT: &str = "wasi:cli/environment@0.2.0";
    let nothing = End::Scores(0.0);
    vec![
        (
            "wasi-environment",
            "counts the variables of the environment",
            found(ENVIRONMENT, &[CLI_ONLY], "get-environment", "", "", 4),
            nothing,
        ),
        (
            "wasi-arguments",
            "counts the arguments of the program",
            found(ENVIRONMENT, &[CLI_ONLY], "get-arguments", "", "", 4),
            nothing,
        ),
        (
            "wasi-folder",
            "asks for the folder it runs in",
            found(ENVIRONMENT, &[CLI_ONLY], "initial-cwd", "", "", 0),
            nothing,
        ),
        (
            "wasi-files",
            "counts the folders that it was given",
            found("wasi:filesystem/preopens@0.2.0", &[FILESYSTEM], "get-directories", "", "", 4),
            nothing,
        ),
        (
            "wasi-wall-clock",
            "asks for the time of day",
            found("wasi:clocks/wall-clock@0.2.0", &[IO, CLOCKS], "now", "", "", 0),
            nothing,
        ),
        (
            "wasi-clock",
            "measures time",
            Guest::metric()
                .interface("wasi:clocks/monotonic-clock@0.2.0", &[IO, CLOCKS])
                .import("(import \"wasi:clocks/monotonic-clock@0.2.0\" \"now\" (func $now (result i64)))")
                .scoring("", "(f64.convert_i64_u (call $now))"),
            nothing,
        ),
        ("wasi-stdin", "reads the standard input", stdin(), nothing),
        (
            "wasi-tcp",
            "makes a socket for TCP",
            socket("wasi:sockets/tcp-create-socket@0.2.0", "create-tcp-socket"),
            End::Scores(1.0),
        ),
        (
            "wasi-udp",
            "makes a socket for UDP",
            socket("wasi:sockets/udp-create-socket@0.2.0", "create-udp-socket"),
            End::Scores(1.0),
        ),
        ("wasi-lookup", "looks up the address of `localhost`", lookup(), End::Scores(1.0)),
    ]
}

/// Only `environment`, so that a member that imports nothing else needs no other package.
const CLI_ONLY: &str = "package wasi:cli@0.2.0;
interface environment {
  get-environment: func() -> list<tuple<string, string>>;
  get-arguments: func() -> list<string>;
  initial-cwd: func() -> option<string>;
}";

/// Scores the number of bytes read from standard input, or 0 if it is closed.
fn stdin() -> Guest {
    Guest::metric()
        .interface("wasi:cli/stdin@0.2.0", &[IO, CLI])
        .interface("wasi:io/streams@0.2.0", &[])
        .import(
            "(import \"wasi:cli/stdin@0.2.0\" \"get-stdin\" (func $stdin (result i32)))
             (import \"wasi:io/streams@0.2.0\" \"[method]input-stream.blocking-read\"
               (func $read (param i32 i64 i32)))",
        )
        .scoring(
            "(local.set $a (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 64)))
             (call $read (call $stdin) (i64.const 100) (local.get $a))",
            "(if (result f64) (i32.load8_u (local.get $a))
               (then (f64.const 0)) (else (f64.convert_i32_u (i32.load offset=8 (local.get $a)))))",
        )
}

/// Imports what looks up names.
fn with_lookups(guest: Guest) -> Guest {
    guest
        .interface("wasi:sockets/instance-network@0.2.0", &[SOCKETS])
        .interface("wasi:sockets/ip-name-lookup@0.2.0", &[])
        .import(
            "(import \"wasi:sockets/instance-network@0.2.0\" \"instance-network\" (func $network (result i32)))
             (import \"wasi:sockets/ip-name-lookup@0.2.0\" \"resolve-addresses\"
               (func $resolve (param i32 i32 i32 i32)))",
        )
}

/// Scores whether looking up a name was refused.
fn lookup() -> Guest {
    let mut guest = Guest::metric();
    let name = guest.image.text("localhost");
    let (at, length) = (name.at, name.length);
    with_lookups(guest).scoring(
        &format!(
            "(local.set $a (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 64)))
             (call $resolve (call $network) (i32.const {at}) (i32.const {length}) (local.get $a))"
        ),
        "(f64.convert_i32_u (i32.load8_u (local.get $a)))",
    )
}

/// Returns a metric that looks up a name of 1 MiB for ever. The host takes long for each lookup, and the guest uses little
/// fuel.
pub fn endless_lookups() -> Vec<u8> {
    let lookups = "(local $host i32)
        (local.set $host (call $network))
        (loop $more
          (call $resolve (local.get $host) (i32.const 131072) (i32.const 1048576) (i32.const 65536))
          (br $more))
        (unreachable)";
    let guest = Guest { pages: 24, ..Guest::metric() };
    with_lookups(guest).body("score", lookups).component()
}

/// Returns a metric that asks for this many random bytes and scores 0.
fn random_bytes(count: u64) -> Guest {
    Guest::metric()
        .interface("wasi:random/random@0.2.0", &[RANDOM])
        .import("(import \"wasi:random/random@0.2.0\" \"get-random-bytes\" (func $random (param i64 i32)))")
        .scoring(
            &format!(
                "(local.set $a (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 64)))
                 (call $random (i64.const {count}) (local.get $a))"
            ),
            "(f64.const 0)",
        )
}

fn attacks() -> Vec<(&'static str, &'static str, Guest, End)> {
    const FUEL: &str = "used up its fuel";
    const EXIT: &str = "wasi:cli/exit@0.2.0";
    let exit = |status: u32| {
        Guest::metric()
            .interface(EXIT, &[IO, CLI])
            .import(&format!("(import \"{EXIT}\" \"exit\" (func $exit (param i32)))"))
            .body("score", format!("(call $exit (i32.const {status})) (unreachable)"))
    };
    let stdout = Guest::metric()
        .interface("wasi:cli/stdout@0.2.0", &[IO, CLI])
        .import("(import \"wasi:cli/stdout@0.2.0\" \"get-stdout\" (func $stdout (result i32)))");
    let realloc = "(call $random (i64.const 1) (i32.const 65536)) (i32.const 65600)";
    vec![
        ("wasi-exit", "ends the program as if all were well", exit(0), End::Failed("xit")),
        ("wasi-exit-failing", "ends the program", exit(1), End::Failed("xit")),
        ("wasi-random", "a few random bytes", random_bytes(100), End::Scores(0.0)),
        (
            "wasi-random-8-mib",
            "more random bytes than its fuel allows",
            random_bytes(8 << 20),
            End::Late(FUEL),
        ),
        ("wasi-random-4-gib", "2^32 random bytes at once", random_bytes(1 << 32), End::Late(FUEL)),
        ("wasi-random-all", "2^63 random bytes at once", random_bytes(1 << 63), End::Late(FUEL)),
        (
            "wasi-handles",
            "opens the standard output for ever and never closes it",
            stdout.body("score", "(loop $more (drop (call $stdout)) (br $more)) (unreachable)"),
            End::Failed("cannot allocate another handle"),
        ),
        ("wasi-sleep-a-day", "waits in the host for a day", sleep(86_400_000_000_000), End::Scores(0.0)),
        (
            "wasi-sleep-for-ever",
            "waits in the host for as long as there is",
            sleep(u64::MAX),
            End::Scores(0.0),
        ),
        (
            "wasi-realloc",
            "calls the host again while the host hands it something",
            Guest { realloc: realloc.to_owned(), ..random_bytes(1) },
            End::NotChecked("cannot leave component instance"),
        ),
    ]
}

/// Returns the members of this group.
pub fn members() -> Vec<Member> {
    let http = Guest::metric()
        .interface("wasi:http/outgoing-handler@0.2.0", &[HTTP])
        .import("(import \"wasi:http/outgoing-handler@0.2.0\" \"handle\" (func $handle))");
    let newer = Guest::metric()
        .interface("wasi:cli/environment@0.3.0", &[&CLI_ONLY.replace("0.2.0", "0.3.0")])
        .import("(import \"wasi:cli/environment@0.3.0\" \"get-arguments\" (func $arguments (param i32)))");
    let invented = Guest::metric()
        .interface("wasi:cli/shell@0.2.0", &["package wasi:cli@0.2.0; interface shell { run: func(); }"])
        .import("(import \"wasi:cli/shell@0.2.0\" \"run\" (func $run))");
    let mistyped = Guest::metric()
        .interface(
            "wasi:random/random@0.2.0",
            &["package wasi:random@0.2.0; interface random { get-random-u64: func() -> u8; }"],
        )
        .import("(import \"wasi:random/random@0.2.0\" \"get-random-u64\" (func $random (result i32)))");
    let refused = vec![
        (
            "wasi-http",
            "imports requests of WASI",
            http,
            End::Refused("it imports wasi:http/outgoing-handler@0.2.0"),
        ),
        (
            "wasi-0.3",
            "imports WASI of a version that is not there",
            newer,
            End::Refused("it imports wasi:cli/environment@0.3.0"),
        ),
        (
            "wasi-invented",
            "imports an interface that WASI does not have",
            invented,
            End::NotLoaded("wasi:cli/shell"),
        ),
        (
            "wasi-mistyped",
            "imports a function of WASI with another type",
            mistyped,
            End::NotLoaded("wasi:random/random"),
        ),
    ];
    [looks(), attacks(), refused]
        .into_iter()
        .flatten()
        .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
        .collect()
}
