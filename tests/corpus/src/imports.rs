//! Components with forbidden imports.

use crate::guest::{Guest, LOG};
use crate::{End, Kind, Member};

const HTTP: &str = r#"(import "gage:plugin/http@0.1.1" "send-all" (func $import (param i32 i32 i32)))"#;
const LLM: &str = r#"(import "gage:plugin/llm@0.1.1" "generate-all" (func $import (param i32 i32 i32)))"#;
const MEDIA: &str = r#"(import "gage:plugin/media@0.1.1" "find" (func $import (param i32 i32 i32)))"#;

fn with(kind: Kind, interface: &str, import: &str) -> Guest {
    Guest::new(kind).interface(interface, &[]).import(import)
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let (http, llm, media) = ("gage:plugin/http@0.1.1", "gage:plugin/llm@0.1.1", "gage:plugin/media@0.1.1");
    let unknown = with(
        Kind::Metric,
        "gage:plugin/secrets@0.1.1",
        r#"(import "gage:plugin/secrets@0.1.1" "all" (func $import (param i32)))"#,
    );
    let later_log = Guest::metric()
        .interface(
            "gage:plugin/log@0.9.0",
            &["package gage:plugin@0.9.0; interface log { emit: func(level: u8, message: string); }"],
        )
        .import(&LOG.replace("0.1.1", "0.9.0"));
    let foreign = Guest::metric()
        .interface("evil:corp/spy@1.0.0", &["package evil:corp@1.0.0; interface spy { report: func(); }"])
        .import(r#"(import "evil:corp/spy@1.0.0" "report" (func $import))"#);
    let several =
        with(Kind::Metric, http, HTTP).interface(llm, &[]).import(&LLM.replace("$import", "$second"));
    [
        (
            "metric-http",
            "a metric that imports requests",
            Kind::Metric,
            with(Kind::Metric, http, HTTP),
            "it imports gage:plugin/http@0.1.1",
        ),
        (
            "metric-llm",
            "a metric that imports models",
            Kind::Metric,
            with(Kind::Metric, llm, LLM),
            "it imports gage:plugin/llm@0.1.1",
        ),
        (
            "metric-media",
            "a metric that imports media",
            Kind::Metric,
            with(Kind::Metric, media, MEDIA),
            "it imports gage:plugin/media@0.1.1",
        ),
        (
            "metric-http-and-llm",
            "a metric that imports requests and models",
            Kind::Metric,
            several,
            "it imports gage:plugin/",
        ),
        (
            "preprocessor-http",
            "a preprocessor that imports requests",
            Kind::Preprocessor,
            with(Kind::Preprocessor, http, HTTP),
            "it imports gage:plugin/http@0.1.1",
        ),
        (
            "preprocessor-media",
            "a preprocessor that imports media without a grant",
            Kind::Preprocessor,
            with(Kind::Preprocessor, media, MEDIA),
            "it imports gage:plugin/media@0.1.1",
        ),
        (
            "backend-http",
            "a backend that imports requests without a grant",
            Kind::Backend,
            with(Kind::Backend, http, HTTP),
            "it imports gage:plugin/http@0.1.1",
        ),
        (
            "backend-llm",
            "a backend that imports models without a grant",
            Kind::Backend,
            with(Kind::Backend, llm, LLM),
            "it imports gage:plugin/llm@0.1.1",
        ),
        (
            "import-unknown",
            "imports an interface that does not exist",
            Kind::Metric,
            unknown,
            "it imports gage:plugin/secrets@0.1.1",
        ),
        (
            "import-later-log",
            "imports the log of a later version",
            Kind::Metric,
            later_log,
            "it imports gage:plugin/log",
        ),
        (
            "import-foreign",
            "imports an interface of somebody else",
            Kind::Metric,
            foreign,
            "it imports evil:corp/spy@1.0.0",
        ),
    ]
    .into_iter()
    .map(|(name, about, kind, guest, message)| Member {
        name,
        about,
        bytes: guest.component(),
        kind,
        end: End::Refused(message),
    })
    .collect()
}
