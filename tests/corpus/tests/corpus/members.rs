//! Every member of the table.

use crate::host::{CallEnd, host, run};
use gage_core::Outcome;
use gage_test_corpus::{End, Kind, Member, all, bombs, obedient};
use gage_test_corpus::{
    answers, backends, bytes, imports, loading, loops, machine, memory, preprocessors, shapes, texts, traps,
    wasi,
};
use std::collections::HashSet;

/// Returns whether a member ended as it must.
fn is_as_told(end: End, ended: &CallEnd) -> bool {
    match (end, ended) {
        (End::Refused(part), CallEnd::Load(message)) => {
            let later = ["does not compile", "does not link", "while describing itself"];
            message.contains(part) && !later.iter().any(|stage| message.contains(stage))
        }
        (End::NotCompiled(part), CallEnd::Load(message)) => {
            message.contains("not compile") && message.contains(part)
        }
        (End::NotLoaded(part), CallEnd::Load(message)) => {
            message.contains(part) && !message.contains("does not compile")
        }
        (End::NotChecked(part), CallEnd::Check(message)) => message.contains(part),
        (End::Failed(part), CallEnd::Item(Outcome::PluginError, message)) => message.contains(part),
        (End::Late(part), CallEnd::Item(Outcome::PluginTimeout, message)) => message.contains(part),
        (End::Scores(expected), CallEnd::Score(found)) => expected == *found,
        _ => false,
    }
}

/// Runs members in one host, and a good one after each of them.
fn check(members: &[Member]) {
    let host = host();
    let good = good();
    let mut wrong = Vec::new();
    for member in members {
        // For the person who watches, and to name the member that takes the whole process along.
        eprintln!("{}: {}", member.name, member.about);
        let ended = run(&host, member);
        let mut shown = format!("{ended:?}");
        shown.truncate(shown.floor_char_boundary(300));
        eprintln!("  {shown}");
        if !is_as_told(member.end, &ended) {
            wrong.push(format!(
                "{}: {}\n  must: {:?}\n  did:  {shown}",
                member.name, member.about, member.end
            ));
        }
        assert_eq!(run(&host, &good), CallEnd::Score(1.0), "after {}", member.name);
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), members.len(), wrong.join("\n"));
}

fn good() -> Member {
    Member {
        name: "obedient",
        about: "does as told",
        bytes: obedient(),
        kind: Kind::Metric,
        end: End::Scores(1.0),
    }
}

/// Runs whole groups of the corpus.
fn check_groups<const N: usize>(groups: [Vec<Member>; N]) {
    check(&groups.concat());
}

#[test]
fn promise_1_an_import_that_was_not_granted_is_refused() {
    check_groups([imports::members()]);
}

#[test]
fn promise_2_no_files_no_network_no_environment_and_no_clock() {
    check_groups([wasi::members()]);
}

#[test]
fn promise_3_memory_is_bounded_in_total() {
    check_groups([memory::members()]);
}

#[test]
fn promise_4_every_call_ends() {
    check_groups([loops::members()]);
}

#[test]
fn promise_6_a_component_does_not_see_the_processor() {
    check_groups([machine::members()]);
}

#[test]
fn promise_7_results_are_bounded_and_checked() {
    check_groups([answers::members(), texts::members(), shapes::members(), loading::members()]);
}

#[test]
fn promise_8_an_item_that_a_plugin_fails_keeps_its_place() {
    check_groups([traps::members(), preprocessors::members(), backends::members()]);
}

#[test]
fn promise_10_foreign_machine_code_is_not_loaded() {
    check_groups([bytes::members()]);
}

#[test]
fn names_are_unique() {
    let members = all();
    let names: HashSet<&str> = members.iter().map(|member| member.name).collect();
    assert_eq!(names.len(), members.len());
}

#[test]
fn small_members_of_the_compile_bombs_compile() {
    check(&bombs::small());
}
