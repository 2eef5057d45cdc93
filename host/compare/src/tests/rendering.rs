//! Output for people and build servers.

use super::super::{Comparison, github_annotations, markdown, render_comparison};
use super::runs::{Run, compared, gate, scores};
use super::xml_of;
use unicode_width::UnicodeWidthStr as _;

const HOSTILE: &str =
    "</testcase><script>alert(1)</script>|`*_[x](http://e)@all\u{1b}[31m\u{202e}\n::error::x, %0A: \u{ffff}";

fn hostile() -> Comparison {
    let mut new = Run::of(&scores(300, 12));
    let mut base = Run::of(&scores(300, 0));
    for run in [&mut base, &mut new] {
        run.records[0].sample_id = HOSTILE.to_owned();
        run.records[1].sample_id = "x".repeat(1_000_000);
        run.records[2].sample_id = "中文".repeat(60);
    }
    for record in &mut new.records {
        let card = record.metrics[0].card.as_mut().unwrap();
        if card.primary_score == Some(0.0) {
            card.error_tags = vec![HOSTILE.to_owned()];
        }
    }
    compared(base, new, gate(0.01))
}

fn plain() -> Comparison {
    let mut new = Run::of(&scores(1_000, 40));
    for record in new.records.iter_mut().take(40) {
        let tag = if record.index % 3 == 0 { "wrong_unit" } else { "missing_item" };
        record.metrics[0].card.as_mut().unwrap().error_tags = vec![tag.to_owned()];
    }
    compared(Run::of(&scores(1_000, 3)), new, gate(0.01))
}

#[test]
fn a_comparison_fits_a_terminal() {
    insta::assert_snapshot!("terminal", render_comparison(&plain(), 80, false));
    for comparison in [plain(), hostile()] {
        for width in [40, 60, 80] {
            let text = render_comparison(&comparison, width, false);
            let widest = text.lines().map(|line| line.width()).max();
            assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
        }
    }
}

#[test]
fn long_names_are_broken_and_keep_their_verdict() {
    let run = |wrong: usize| {
        let mut run = Run::of(&scores(40, wrong));
        let long = format!("task-{}", "long-".repeat(30));
        run.records.iter_mut().for_each(|record| record.task_id = long.clone());
        run.tasks = vec![super::runs::task(&long)];
        run.identity["config"]["tasks"][0]["task_id"] = serde_json::json!(long);
        run
    };
    let text = render_comparison(&compared(run(0), run(20), gate(0.01)), 80, false);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    let heading = text.lines().find(|line| line.ends_with("REGRESSION"));
    assert!(heading.is_some_and(|line| line.starts_with("  m of ")), "{text}");
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    assert!(!render_comparison(&hostile(), 80, false).contains('\u{1b}'));
    assert!(render_comparison(&plain(), 80, true).contains('\u{1b}'));
}

#[test]
fn text_of_others_steers_nothing() {
    let comparison = hostile();
    let (xml, page, annotations) =
        (xml_of(&comparison), markdown(&comparison), github_annotations(&comparison));
    for text in [&xml, &page, &annotations, &render_comparison(&comparison, 80, false)] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']));
        assert!(text.len() < 3_000_000);
    }
    assert!(!xml.contains('\u{ffff}'), "XML cannot hold it");
    assert!(!xml.contains("<script") && !page.contains("<script") && !page.contains("@all"));
    assert_eq!(xml.matches("<testcase ").count(), xml.matches("</testcase>").count());
    assert!(annotations.lines().all(|line| line.starts_with("::error title=")), "{annotations}");
}

#[test]
fn build_servers_get_their_formats() {
    let comparison = plain();
    insta::assert_snapshot!("junit", xml_of(&comparison));
    insta::assert_snapshot!("github", github_annotations(&comparison));
    insta::assert_snapshot!("markdown", markdown(&comparison));
}

#[test]
fn what_cannot_be_compared_is_an_error_everywhere() {
    let comparison = compared(Run::of(&[]), Run::of(&[]), Vec::new());
    assert!(xml_of(&comparison).contains("errors=\"1\""));
    assert!(github_annotations(&comparison).starts_with("::error title=INVALID"));
    assert!(markdown(&comparison).starts_with("## INVALID: neither run has a sample"));
    assert!(render_comparison(&comparison, 80, false).contains("INVALID"));
}

#[test]
fn long_ids_do_not_fill_what_build_servers_show() {
    let xml = xml_of(&hostile());
    assert!(xml.len() < 20_000, "{}", xml.len());
    assert!(xml.contains(&format!("{}…: 1 → 0", "x".repeat(200))), "{xml}");
}

#[test]
fn what_is_left_out_is_counted() {
    let mut new = Run::of(&scores(300, 30));
    for record in new.records.iter_mut().take(30) {
        let tag = format!("tag_{}", record.index % 9);
        record.metrics[0].card.as_mut().unwrap().error_tags = vec![tag];
    }
    let comparison = compared(Run::of(&scores(300, 0)), new, gate(0.01));
    for text in [render_comparison(&comparison, 80, false), markdown(&comparison)] {
        assert_eq!(text.matches("tag tag_").count() + text.matches("tag tag&#95;").count(), 5, "{text}");
        assert!(text.contains("… and 4 more tags"), "{text}");
    }
}

#[test]
fn where_nothing_changed_no_accident_is_spoken_of() {
    let comparison = compared(Run::of(&scores(110, 5)), Run::of(&scores(110, 5)), gate(0.01));
    let reason = &comparison.metrics[0].gate.as_ref().unwrap().reason;
    assert!(reason.starts_with("none of 110 samples changed; a loss of 0.01 or more cannot"), "{reason}");
}
