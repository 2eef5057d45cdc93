//! Connection, retry and limit settings of a server.

use super::address;
use crate::elements::backend::seconds;
use crate::mapping_reader::MappingReader;
use crate::problems::Problems;
use crate::source::Span;
use std::path::PathBuf;
use std::time::Duration;

/// Through which proxy a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// What `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say; the default.
    Environment,
    /// None, whatever the environment says.
    Direct,
    /// This one.
    Address(String),
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct HttpConnection {
    /// For the next bytes of an answer; default none but `timeout`.
    pub read_timeout: Option<Duration>,
    /// For a whole request, each time that it is sent; default 120 s.
    pub timeout: Duration,
    /// Through which proxy.
    pub proxy: Proxy,
    /// A PEM file of further authorities that are believed.
    pub ca_certificate: Option<(PathBuf, Span)>,
    /// Most bytes of an answer; default 8 MiB.
    pub most_response_bytes: usize,
}

/// What is sent again, and when.
#[derive(Clone, Debug)]
pub struct HttpRetry {
    /// How often a request is sent again after a failure that may pass; default 5.
    pub max_retries: u32,
    /// The most of the first wait; that of each further one is twice as long; default 0.5 s.
    pub first_wait: Duration,
    /// The most of any wait that nobody asked for; default 30 s.
    pub max_wait: Duration,
    /// The longest wait that a server may ask for; default 600 s. A longer one ends the request.
    pub max_retry_after: Duration,
    /// How long a server may be out of reach before requests fail without being sent; default 60 s.
    pub outage_limit: Duration,
    /// After how many failed connections in a row the server counts as out of reach; default 16.
    pub outage_after: u32,
}

/// How much is asked at the same time, and in a minute.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Most requests in flight; default 64.
    pub max_concurrency: usize,
    /// Whether fewer are sent where the server is overloaded; default true.
    pub is_adaptive: bool,
    /// Most requests in a minute; default any number.
    pub requests_per_minute: Option<u64>,
    /// Most tokens in a minute, of prompts and answers; default any number.
    pub tokens_per_minute: Option<u64>,
}

impl HttpConnection {
    pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> HttpConnection {
        let read_timeout = table.float("read_timeout", 0.001..=86_400.0, problems);
        let certificate = table.text("ca_certificate", problems);
        let certificate_span = table.span_of("ca_certificate");
        let mebibytes: usize = table.number("max_response_mib", 1..=1024, problems).unwrap_or(8);
        HttpConnection {
            read_timeout: read_timeout.map(Duration::from_secs_f64),
            timeout: seconds(table, "timeout", 120.0, problems),
            proxy: read_proxy(table, problems),
            ca_certificate: certificate.map(|path| (PathBuf::from(path), certificate_span)),
            most_response_bytes: mebibytes << 20,
        }
    }
}

fn read_proxy(table: &mut MappingReader<'_>, problems: &mut Problems) -> Proxy {
    match table.text("proxy", problems).as_deref() {
        None | Some("environment") => Proxy::Environment,
        Some("none") => Proxy::Direct,
        Some(text) => {
            if let Err((message, _)) = address::check(text, "proxy") {
                table.error("proxy", message, problems).help(
                    "use `environment`, `none`, or an address like http://proxy:3128; one with a user and a password \
                     goes into the variable HTTPS_PROXY or HTTP_PROXY",
                );
            }
            Proxy::Address(text.to_owned())
        }
    }
}

impl HttpRetry {
    pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> HttpRetry {
        HttpRetry {
            max_retries: table.number("max_retries", 0..=100, problems).unwrap_or(5),
            first_wait: seconds(table, "retry_base", 0.5, problems),
            max_wait: seconds(table, "retry_limit", 30.0, problems),
            max_retry_after: seconds(table, "retry_after_limit", 600.0, problems),
            outage_limit: seconds(table, "outage_limit", 60.0, problems),
            outage_after: table.number("outage_after", 1..=100_000, problems).unwrap_or(16),
        }
    }
}

impl HttpLimits {
    pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> HttpLimits {
        let limit = table.integer("max_concurrency", 1..=10_000, problems);
        let other = table.integer("async_max_concurrency", 1..=10_000, problems);
        let most = limit.or(other).and_then(|limit| usize::try_from(limit).ok());
        HttpLimits {
            max_concurrency: most.unwrap_or(64),
            is_adaptive: table.boolean("adaptive_concurrency", problems).unwrap_or(true),
            requests_per_minute: table.integer("requests_per_minute", 1..=1_000_000_000, problems),
            tokens_per_minute: table.integer("tokens_per_minute", 1..=1_000_000_000_000, problems),
        }
    }
}
