//! Checks that the page of the sandbox states the limits of the code.

use crate::capabilities::http::{MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, MAX_REQUESTS_PER_CALL};
use crate::compile::{
    CompileLimits, MEMORY_BYTES_PER_CODE_BYTE, MIN_MEMORY_BYTES, MIN_TIMEOUT, SECONDS_PER_MEBIBYTE,
};
use crate::component_members::MAX_MEMBERS;
use crate::component_schemas::{
    MAX_PATTERN_BYTES, MAX_PATTERN_BYTES_PER_COMPONENT, MAX_PATTERNS, MAX_SCHEMA_TEXT_BYTES,
};
use crate::engine::STACK_BYTES;
use crate::limits::{Limits, MAX_DECLARED_FUEL, MAX_DECLARED_WALL_TIME};
use crate::sandbox::FUEL_PER_CHECK;
use crate::schema_size::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_VALUES, PATTERN_VALUES};
use crate::slots::{
    MAX_CORE_INSTANCES_PER_CALL, MAX_SLOTS_PER_CALL, MAX_SLOTS_PER_COMPONENT, MAX_TABLES_PER_CALL,
    POOL_SLOTS, TABLES_PER_SLOT,
};
use crate::validate_output::{MAX_DECLARED_ITEMS, MAX_DECLARED_TEXT_BYTES, MAX_DESCRIPTION_BYTES};
use gage_secrets::MIN_SECRET_CHARS;

/// Returns what the page must say about the limits of a call.
fn limits_of_calls() -> Vec<String> {
    let limits = Limits::default();
    let kib = |bytes: usize| format!("{} KiB", bytes >> 10);
    // The page states one number for both.
    assert_eq!(MAX_CORE_INSTANCES_PER_CALL, MAX_TABLES_PER_CALL);
    vec![
        format!("| memories of a component | {MAX_SLOTS_PER_CALL} |"),
        format!("| core instances, and tables, of a component | {MAX_TABLES_PER_CALL} each |"),
        format!("| nesting of JSON | {} levels |", limits.json_depth),
        format!("| text of an error | {} |", kib(limits.error_bytes)),
        format!(
            "| sub-scores, and error tags, of a card | {} each, with names of {} characters |",
            limits.names_per_card, limits.name_characters
        ),
        format!(
            "| logs of a call | {} and {} lines, with line breaks escaped |",
            kib(limits.log_bytes),
            limits.log_lines
        ),
        format!("| stack | {} |", kib(STACK_BYTES)),
        format!("| inputs, and values, of a member | {MAX_DECLARED_ITEMS} each |"),
        format!("| declared name | {MAX_DECLARED_TEXT_BYTES} bytes |"),
        format!("| description | {} |", kib(MAX_DESCRIPTION_BYTES)),
        format!("| members of a component | {MAX_MEMBERS} |"),
        format!(
            "| limits that a component declares itself | {} million units per item, and {} seconds per call |",
            MAX_DECLARED_FUEL / 1_000_000,
            MAX_DECLARED_WALL_TIME.as_secs()
        ),
        format!("| schema of parameters, with its references replaced | {MAX_SCHEMA_DEPTH} levels |"),
        format!(
            "| all schemas of a component, with their references replaced | {MAX_SCHEMA_VALUES} values, and {} MiB \
             of texts and paths; a regular expression counts as {PATTERN_VALUES} values |",
            MAX_SCHEMA_TEXT_BYTES >> 20
        ),
        format!(
            "| regular expressions in the schemas of a component | {MAX_PATTERNS}; they share {} MiB in equal parts, \
             and each may take {} when it is compiled |",
            MAX_PATTERN_BYTES_PER_COMPONENT >> 20,
            kib(MAX_PATTERN_BYTES)
        ),
        format!("A clock is read after each {},000 units of fuel", FUEL_PER_CHECK / 1_000),
        format!(
            "A request has up to {} MiB and {MAX_HEADERS} headers of {}.",
            MAX_BODY_BYTES >> 20,
            kib(MAX_HEADER_BYTES)
        ),
        format!("`send-all` takes up to {MAX_REQUESTS_PER_CALL} requests."),
        format!("Values with fewer than {MIN_SECRET_CHARS} characters are refused."),
    ]
}

/// Returns what the page must say about the pool and the compiler.
fn limits_of_the_host() -> Vec<String> {
    let compile = CompileLimits::default();
    vec![
        format!("one pool of {POOL_SLOTS} slots. A slot holds a memory and {TABLES_PER_SLOT} tables."),
        format!("the calls of one component hold at most {MAX_SLOTS_PER_COMPONENT}."),
        format!(
            "Compilation may take {} seconds of processor time plus {SECONDS_PER_MEBIBYTE} per MiB, at most {} \
             minutes.",
            MIN_TIMEOUT.as_secs(),
            compile.time.as_secs() / 60
        ),
        format!(
            "It may use {} GiB of addresses plus {MEMORY_BYTES_PER_CODE_BYTE} MiB per MiB, at most {} GiB.",
            MIN_MEMORY_BYTES >> 30,
            compile.memory_bytes >> 30
        ),
    ]
}

#[test]
fn page_of_the_sandbox_states_the_limits() {
    let page = include_str!("../../../docs/concepts/sandbox.md");
    for sentence in limits_of_calls().into_iter().chain(limits_of_the_host()) {
        assert!(page.contains(&sentence), "the page does not say: {sentence}");
    }
}
