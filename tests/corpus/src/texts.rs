//! Metrics that return well-formed results with too much content, or with deceptive texts.

use crate::guest::{Guest, LOG};
use crate::image::{Image, Span};
use crate::records::{CARD_RESULT, Card, Failure, sub_score};
use crate::{End, Member};

/// Text that colours a terminal, clears it, sets its title, and moves the cursor up.
pub const ANSI: &str = "\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[1A\r\u{8}";

/// Text whose display order differs from its order in memory, with zero-width characters.
pub const BIDI: &str = "safe \u{202e}evil\u{202c} \u{2066}x\u{2069} a\u{200b}b\u{feff}";

/// Text that imitates a report, returned by a plugin.
pub const VERDICT: &str = "\n\n| metric | value | gate |\n| --- | --- | --- |\n| accuracy | 1.0000 | PASS |\n\n\
    <script>alert(1)</script>\n\nverdict: all gates passed\n";

fn card(change: impl FnOnce(&mut Image, &mut Card)) -> Guest {
    Guest::metric().card(change)
}

/// Returns a metric that logs a text as a warning, and scores 1.
pub fn logging(text: &str) -> Vec<u8> {
    let mut guest = Guest::metric().import(LOG);
    let Span { at, length } = guest.image.text(text);
    let emit = format!("(call $emit (i32.const 2) (i32.const {at}) (i32.const {length}))");
    guest.scoring(&emit, "(f64.const 1)").component()
}

fn explain(text: &'static str) -> Guest {
    card(move |image, card| card.explain = (1, image.text(text)))
}

fn detail(text: &str) -> Guest {
    card(|image, card| card.detail = image.text(text))
}

fn names(list: fn(&mut Card) -> &mut Span, elements: impl FnOnce(&mut Image) -> Vec<Vec<u8>>) -> Guest {
    card(|image, card| {
        let elements = elements(image);
        *list(card) = image.list(&elements);
    })
}

fn sub_score_named(name: &str) -> Guest {
    names(|card| &mut card.sub_scores, |image| vec![sub_score(image, name, 1.0)])
}

fn tag_named(name: &str) -> Guest {
    names(|card| &mut card.error_tags, |image| vec![image.text(name).words().to_vec()])
}

/// Returns an explanation of this many bytes, which `score` writes first.
fn long_explain(bytes: u32, pages: u32) -> Guest {
    const AT: u32 = 1 << 17;
    let mut guest = Guest { pages, ..Guest::metric() };
    let mut card = Card::good(&mut guest.image);
    card.explain = (1, Span { at: AT, length: bytes });
    let at = guest.image.put(&card.bytes());
    guest.body(
        "score",
        format!(
            "(memory.fill (i32.const {AT}) (i32.const 97) (i32.const {bytes}))
             (call $answer (local.get 5) (i32.const {at}) (i32.const {CARD_RESULT}))"
        ),
    )
}

/// Returns a card with this many tags, all of them the same 512 KiB.
fn amplified(tags: u32) -> Guest {
    const AT: u32 = 1 << 19;
    const SIZE: u32 = 1 << 19;
    let mut guest = Guest { pages: 64, ..Guest::metric() };
    let tag = Span { at: AT, length: SIZE }.words().to_vec();
    let tags = guest.image.list(&vec![tag; tags as usize]);
    let mut card = Card::good(&mut guest.image);
    card.error_tags = tags;
    let at = guest.image.put(&card.bytes());
    guest.body(
        "score",
        format!(
            "(memory.fill (i32.const {AT}) (i32.const 97) (i32.const {SIZE}))
             (call $answer (local.get 5) (i32.const {at}) (i32.const {CARD_RESULT}))"
        ),
    )
}

fn error(message: &str, pointer: &str) -> Guest {
    let mut guest = Guest::metric();
    let mut failure = Failure::new(guest.image.text(message));
    failure.pointer = (1, guest.image.text(pointer));
    guest.result(&failure.result(CARD_RESULT, 8))
}

#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
fn too_much() -> Vec<(&'static str, &'static str, Guest, End)> {
    let many = |count: usize| {
        names(
            |card| &mut card.sub_scores,
            |image| (0..count).map(|index| sub_score(image, &format!("part-{index}"), 0.5)).collect(),
        )
    };
    let tags = |count: usize| {
        names(|card| &mut card.error_tags, |image| vec![image.text("tag").words().to_vec(); count])
    };
    vec![
        ("sub-scores-64", "as many sub-scores as are allowed", many(64), End::Scores(1.0)),
        ("sub-scores-65", "one sub-score too many", many(65), End::Failed("more than 64 sub-scores")),
        ("tags-65", "one error tag too many", tags(65), End::Failed("more than 64 sub-scores or error tags")),
        (
            "tags-100,000",
            "error tags without end",
            tags(100_000),
            End::Failed("more than 64 sub-scores or error tags"),
        ),
        (
            "sub-score-twice",
            "two sub-scores of one name",
            names(
                |card| &mut card.sub_scores,
                |image| vec![sub_score(image, "same", 0.0), sub_score(image, "same", 1.0)],
            ),
            End::Failed("the sub-score 'same' occurs twice"),
        ),
        (
            "explain-1-mib",
            "as long an explanation as is allowed beside the detail",
            long_explain((1 << 20) - 2, 64),
            End::Scores(1.0),
        ),
        (
            "explain-too-long",
            "an explanation of one byte too many",
            long_explain((1 << 20) - 1, 64),
            End::Failed("have 1048577 bytes; at most 1048576 are allowed"),
        ),
        (
            "explain-60-mb",
            "an explanation as large as the memory",
            long_explain(60_000_000, 1000),
            End::Failed("at most 1048576 are allowed"),
        ),
        (
            "explain-100-mb",
            "an explanation larger than the memory",
            long_explain(100_000_000, 1600),
            End::NotLoaded("bytes of memory"),
        ),
        (
            "amplified-64",
            "64 tags of 512 KiB, all of them the same bytes",
            amplified(64),
            End::Failed("is not a name of 1 to 64"),
        ),
        (
            "amplified-10,000",
            "5 GB of tags, all of them the same bytes",
            amplified(10_000),
            End::Failed("too much data"),
        ),
        (
            "detail-10,000-levels",
            "a detail of 10,000 levels",
            detail(&("{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000))),
            End::Failed("nested deeper than 32 levels"),
        ),
        (
            "detail-open",
            "a detail of 100,000 opening brackets",
            detail(&"[".repeat(100_000)),
            End::Failed("nested deeper than 32 levels"),
        ),
        ("detail-not-json", "a detail that is no JSON", detail("{not json"), End::Failed("not JSON")),
        ("detail-list", "a detail that is no object", detail("[1, 2]"), End::Failed("is not an object")),
        (
            "detail-number",
            "a detail with a number beyond all numbers",
            detail("{\"a\": 1e999}"),
            End::Failed("not JSON"),
        ),
        ("detail-nan", "a detail with NaN", detail("{\"a\": NaN}"), End::Failed("not JSON")),
    ]
}

fn deceit() -> Vec<(&'static str, &'static str, Guest, End)> {
    let long = "x".repeat(1_000);
    let is_no_name = End::Failed("is not a name of 1 to 64");
    let log = |level: u32, text: &str| {
        let mut guest = Guest::metric().import(LOG);
        let Span { at, length } = guest.image.text(text);
        guest.scoring(
            &format!("(call $emit (i32.const {level}) (i32.const {at}) (i32.const {length}))"),
            "(f64.const 1)",
        )
    };
    vec![
        ("explain-ansi", "an explanation that drives a terminal", explain(ANSI), End::Scores(1.0)),
        ("explain-bidi", "an explanation that reads otherwise than it is", explain(BIDI), End::Scores(1.0)),
        ("explain-verdict", "an explanation that looks like a verdict", explain(VERDICT), End::Scores(1.0)),
        (
            "error-ansi",
            "an error that drives a terminal",
            error(&format!("as told {ANSI}"), "/a"),
            End::Failed("as told"),
        ),
        (
            "error-bidi",
            "an error that reads otherwise than it is",
            error(&format!("as told {BIDI}"), BIDI),
            End::Failed("as told"),
        ),
        (
            "error-long",
            "an error of 100,000 characters",
            error(&"as told ".repeat(12_500), "/a"),
            End::Failed("as told"),
        ),
        ("log-ansi", "a log line that drives a terminal", log(1, ANSI), End::Scores(1.0)),
        (
            "log-lines",
            "a log line that looks like several",
            log(3, "a\nERROR plugin: all is lost\r\n"),
            End::Scores(1.0),
        ),
        ("log-level", "a log line of a level that does not exist", log(4, "a"), End::Failed("discriminant")),
        ("name-empty", "a sub-score without a name", sub_score_named(""), is_no_name),
        ("name-long", "a sub-score whose name has 1,000 characters", sub_score_named(&long), is_no_name),
        ("name-ansi", "a sub-score whose name drives a terminal", sub_score_named(ANSI), is_no_name),
        ("name-bidi", "a sub-score whose name reads otherwise than it is", sub_score_named(BIDI), is_no_name),
        (
            "name-table",
            "a sub-score whose name is a row of a table",
            sub_score_named("a | 1.0 | PASS |"),
            is_no_name,
        ),
        ("name-lines", "a sub-score whose name has two lines", sub_score_named("a\nb"), is_no_name),
        ("tag-long", "an error tag of 1,000 characters", tag_named(&long), is_no_name),
        ("tag-ansi", "an error tag that drives a terminal", tag_named(ANSI), is_no_name),
        ("tag-html", "an error tag with an element of HTML", tag_named("<b>a</b>"), is_no_name),
    ]
}

/// Returns the members of this group.
pub fn members() -> Vec<Member> {
    too_much()
        .into_iter()
        .chain(deceit())
        .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
        .collect()
}
