//! Metrics that lie while they describe themselves, or while their parameters are checked.

use crate::guest::{Guest, constant};
use crate::image::Span;
use crate::records::{Failure, Info, Spec};
use crate::texts::{ANSI, BIDI};
use crate::{End, Member};

fn info(info: &Info<'_>) -> Guest {
    let mut guest = Guest::metric();
    let at = info.put(&mut guest.image);
    guest.body("describe", constant(at))
}

/// Returns a metric that lists one spec `count` times.
fn specs(spec: &Spec<'_>, count: u32) -> Guest {
    let mut guest = Guest::metric();
    let bytes = spec.bytes(&mut guest.image);
    let specs = guest.image.list(&vec![bytes; count as usize]).words();
    let specs = guest.image.put(&specs);
    guest.body("metrics", constant(specs))
}

/// Returns a metric that lists this many specs, which differ only in their names.
fn many(spec: &Spec<'_>, count: u32) -> Guest {
    let mut guest = Guest::metric();
    let spec = spec.bytes(&mut guest.image);
    let specs: Vec<Vec<u8>> = (0..count)
        .map(|index| {
            let name = guest.image.text(&format!("metric-{index}")).words();
            [&name, &spec[name.len()..]].concat()
        })
        .collect();
    let specs = guest.image.list(&specs).words();
    let specs = guest.image.put(&specs);
    guest.body("metrics", constant(specs))
}

fn named(name: &str) -> Guest {
    specs(&Spec { name, ..Spec::default() }, 1)
}

fn schema(schema: &str) -> Guest {
    specs(&Spec { schema, ..Spec::default() }, 1)
}

/// Returns a metric with a schema of definitions, each of which refers twice to the next by a keyword.
pub fn doubled_schema(keyword: &str, count: usize) -> Vec<u8> {
    let definition = |number: usize| {
        let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, number + 1);
        format!(r#""d{number}": {{"{keyword}": [{next}, {next}]}}, "#)
    };
    let definitions: String = (0..count).map(definition).collect();
    schema(&format!(r##"{{"$ref": "#/$defs/d0", "$defs": {{{definitions}"d{count}": {{}}}}}}"##)).component()
}

/// Returns a component with this many metrics, which all have this schema.
pub fn members_with_schema(schema: &str, count: u32) -> Vec<u8> {
    many(&Spec { schema, ..Spec::default() }, count).component()
}

fn check(message: &str, pointer: &str) -> Guest {
    let mut guest = Guest::metric();
    let mut failure = Failure::new(guest.image.text(message));
    failure.pointer = (1, guest.image.text(pointer));
    let at = guest.image.put(&failure.result(32, 4));
    guest.body("check", constant(at))
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let long = "x".repeat(1_000);
    let longer = "x".repeat(100_000);
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let list = |length: u32| {
        let mut guest = Guest::metric();
        let words = guest.image.put(&Span { at: 1024, length }.words());
        guest.body("metrics", constant(words))
    };
    let name = End::NotLoaded("the name of a member");
    let bad_schema = End::NotLoaded("schema");
    [
        (
            "info-ansi",
            "its name drives a terminal",
            info(&Info { name: ANSI, ..Info::default() }),
            End::NotLoaded("its name"),
        ),
        (
            "info-bidi",
            "its name reads otherwise than it is",
            info(&Info { name: BIDI, ..Info::default() }),
            End::NotLoaded("its name"),
        ),
        (
            "info-long",
            "its name has 1,000 characters",
            info(&Info { name: &long, ..Info::default() }),
            End::NotLoaded("its name"),
        ),
        (
            "info-empty",
            "it has no name",
            info(&Info { name: "", ..Info::default() }),
            End::NotLoaded("its name"),
        ),
        (
            "info-version",
            "its version has two lines",
            info(&Info { version: "1\n2", ..Info::default() }),
            End::NotLoaded("its version"),
        ),
        (
            "info-description",
            "its description has 100,000 characters",
            info(&Info { description: &longer, ..Info::default() }),
            End::NotLoaded("its description"),
        ),
        (
            "info-extra",
            "what it says further is no JSON",
            info(&Info { extra: "{", ..Info::default() }),
            End::NotLoaded("its `extra`"),
        ),
        (
            "info-extra-deep",
            "what it says further has 10,000 levels",
            info(&Info { extra: &deep, ..Info::default() }),
            End::NotLoaded("its `extra`"),
        ),
        ("metric-ansi", "the name of a metric drives a terminal", named(ANSI), name),
        ("metric-bidi", "the name of a metric reads otherwise than it is", named(BIDI), name),
        ("metric-empty", "a metric without a name", named(""), name),
        ("metric-long", "the name of a metric has 1,000 characters", named(&long), name),
        ("metric-path", "the name of a metric climbs out of a folder", named("../../etc/passwd"), name),
        ("metrics-none", "it has no metric at all", list(0), End::NotLoaded("it has no metric")),
        ("metrics-twice", "two metrics of one name", specs(&Spec::default(), 2), End::NotLoaded("twice")),
        (
            "metrics-many",
            "it lists 5,000 metrics, each of another name",
            many(&Spec::default(), 5_000),
            End::NotLoaded("it has 5000 members"),
        ),
        (
            "metrics-outside",
            "its list of metrics ends outside of memory",
            list(10_000_000),
            End::NotLoaded("out of bounds"),
        ),
        (
            "values-none",
            "a metric without a value",
            specs(&Spec { values: 0, ..Spec::default() }, 1),
            End::NotLoaded("declares no value"),
        ),
        (
            "metric-description",
            "a metric whose description drives a terminal",
            specs(&Spec { description: ANSI, ..Spec::default() }, 1),
            End::NotLoaded("the description of"),
        ),
        ("schema-not-json", "a schema that is no JSON", schema("{"), bad_schema),
        ("schema-number", "a schema that is a number", schema("1"), bad_schema),
        ("schema-deep", "a schema of 10,000 levels", schema(&deep), bad_schema),
        (
            "schema-file",
            "a schema that refers to a file",
            schema(r#"{"$ref": "file:///etc/passwd"}"#),
            bad_schema,
        ),
        (
            "schema-network",
            "a schema that refers to an address",
            schema(r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#),
            bad_schema,
        ),
        (
            "schema-pattern",
            "a schema with a pattern that is enormous once it is compiled",
            schema(r#"{"properties": {"a": {"pattern": "((a{1000}){1000}){1000}"}}}"#),
            bad_schema,
        ),
        (
            "schema-recursive",
            "a schema that refers to itself",
            schema(r##"{"properties": {"a": {"$ref": "#"}}}"##),
            bad_schema,
        ),
        (
            "schema-unevaluated",
            "a schema that is checked twice on each level",
            schema(r#"{"anyOf": [{"anyOf": [{}], "unevaluatedProperties": false}], "unevaluatedProperties": false}"#),
            bad_schema,
        ),
        (
            "check-ansi",
            "refuses its parameters with words that drive a terminal",
            check(&format!("as told {ANSI}"), "/a"),
            End::NotChecked("as told"),
        ),
        (
            "check-pointer",
            "refuses its parameters and points into nowhere",
            check("as told", ANSI),
            End::NotChecked("as told"),
        ),
    ]
    .into_iter()
    .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
    .collect()
}
