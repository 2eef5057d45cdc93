//! Components that would keep a compiler busy for hours, or take all memory: a host that compiles in a child process
//! stops them, and continues.
//!
//! The child is this program, called with the argument `compile`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_plugin::{
    CompileLimits, ComponentCompiler, HostOptions, InstanceSetup, MetricComponent, PluginHost,
    compile_from_stdin,
};
use gage_test_corpus::{bombs, obedient};
use std::process::ExitCode;
use std::time::Duration;

const MEMORY_BYTES: u64 = 2 << 30;

fn host(time: Duration) -> PluginHost {
    let program = std::env::current_exe().expect("the system knows it");
    let options = HostOptions {
        compiler: ComponentCompiler::Child { program, arguments: vec!["compile".to_owned()] },
        compile_limits: CompileLimits { time, memory_bytes: MEMORY_BYTES },
        ..HostOptions::default()
    };
    PluginHost::new(&options).expect("an engine")
}

fn load(host: &PluginHost, name: &str, bytes: &[u8]) -> Result<(), String> {
    MetricComponent::load(host, name, bytes, &InstanceSetup::default())
        .map(drop)
        .map_err(|error| error.message)
}

fn small_ones_compile() {
    let host = host(Duration::from_secs(60));
    for member in bombs::small() {
        let loaded = load(&host, member.name, &member.bytes);
        assert_eq!(loaded, Ok(()), "{}: {}", member.name, member.about);
    }
}

fn bombs_are_stopped() {
    let host = host(Duration::from_secs(3));
    for member in bombs::members() {
        println!("{}: {}", member.name, member.about);
        match load(&host, member.name, &member.bytes) {
            Ok(()) => panic!("{} was compiled: it is too small", member.name),
            Err(message) => {
                println!("  {message}");
                let is_stopped =
                    message.contains("not compile within") || message.contains("deeper than 100 levels");
                assert!(is_stopped, "{}: {message}", member.name);
            }
        }
    }
    assert_eq!(load(&host, "obedient", &obedient()), Ok(()));
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, memory, seconds] = arguments.as_slice()
        && command == "compile"
    {
        let memory = memory.parse().expect("a number of bytes");
        let seconds = seconds.parse().expect("a number of seconds");
        return match compile_from_stdin(memory, seconds, None) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let tests: [(&str, fn()); 2] =
        [("small_ones_compile", small_ones_compile), ("bombs_are_stopped", bombs_are_stopped)];
    let is_list = arguments.iter().any(|argument| argument == "--list");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    for (name, test) in tests {
        if is_list {
            println!("{name}: test");
        } else if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
    ExitCode::SUCCESS
}
