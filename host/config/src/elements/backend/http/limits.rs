//! Connection, retry and limit settings of a server.

use crate::elements::address;
use crate::elements::backend::seconds;
use crate::mapping_reader::MappingReader;
use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::source::Span;
use std::path::PathBuf;
use std::time::Duration;

/// Proxy through which a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// The proxy that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` select; the default.
    Environment,
    /// No proxy, regardless of the environment.
    Direct,
    /// The proxy at this address.
    Address(String),
}

/// Connection settings of a server.
#[derive(Clone, Debug)]
pub struct HttpConnection {
    /// Timeout for the next bytes of an answer; by default only `timeout` applies.
    pub read_timeout: Option<Duration>,
    /// Timeout for each attempt of a request; default 120 s.
    pub timeout: Duration,
    /// The proxy.
    pub proxy: Proxy,
    /// A PEM file of additional trusted certificate authorities.
    pub ca_certificate: Option<(PathBuf, Span)>,
    /// Maximum size of an answer in bytes; default 8 MiB.
    pub most_response_bytes: usize,
}

/// Retry settings of a server.
#[derive(Clone, Debug)]
pub struct HttpRetry {
    /// Maximum number of retries after a transient failure; default 5.
    pub max_retries: u32,
    /// Maximum of the first backoff; it doubles with each further retry; default 0.5 s.
    pub first_wait: Duration,
    /// Maximum backoff that the server did not request; default 30 s.
    pub max_wait: Duration,
    /// Maximum wait that a server may request; default 600 s. A longer one fails the request.
    pub max_retry_after: Duration,
    /// Time without an answer after which a server that is away is lost, and the run ends; default 60 s.
    pub outage_limit: Duration,
    /// Number of failures without an answer in between after which the server counts as away; default 16. Fewer are
    /// enough if fewer requests are outstanding.
    pub outage_after: u32,
}

/// Default of `max_concurrency`, unless the run wants more requests in flight.
const DEFAULT_MAX_CONCURRENCY: usize = 64;
/// Largest `max_concurrency`.
const MAX_CONCURRENCY: usize = 10_000;

/// Concurrency and rate limits of a server.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Maximum number of requests in flight, if the suite sets it.
    pub max_concurrency: Option<usize>,
    /// True if concurrency is reduced when the server is overloaded; default true.
    pub is_adaptive: bool,
    /// Maximum number of requests per minute; default unlimited.
    pub requests_per_minute: Option<u64>,
    /// Maximum number of prompt and answer tokens per minute; default unlimited.
    pub tokens_per_minute: Option<u64>,
}

impl HttpConnection {
    pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> HttpConnection {
        let read_timeout = table.float("read_timeout", 0.001..=86_400.0, problems);
        let certificate = table.text("ca_certificate", problems).map(PathBuf::from);
        certificate.iter().for_each(|path| table.uses_file("ca_certificate", path, problems));
        let certificate_span = table.span_of("ca_certificate");
        let mebibytes: usize = table.number("max_response_mib", 1..=1024, problems).unwrap_or(8);
        HttpConnection {
            read_timeout: read_timeout.map(Duration::from_secs_f64),
            timeout: seconds(table, "timeout", 120.0, problems),
            proxy: read_proxy(table, problems),
            ca_certificate: certificate.map(|path| (path, certificate_span)),
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
            if let Some(host) = ResourceKind::host_of(text) {
                table.uses("proxy", host, problems);
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
        let allowed = 1..=MAX_CONCURRENCY as u64;
        let limit: Option<usize> = table.number("max_concurrency", allowed.clone(), problems);
        let other: Option<usize> = table.number("async_max_concurrency", allowed, problems);
        HttpLimits {
            max_concurrency: limit.or(other),
            is_adaptive: table.boolean("adaptive_concurrency", problems).unwrap_or(true),
            requests_per_minute: table.integer("requests_per_minute", 1..=1_000_000_000, problems),
            tokens_per_minute: table.integer("tokens_per_minute", 1..=1_000_000_000_000, problems),
        }
    }

    /// Sets a missing limit to its default: 64, or the concurrency of the run if that is more, up to 10,000.
    pub fn set_default(&mut self, concurrency: usize) {
        let default = concurrency.clamp(DEFAULT_MAX_CONCURRENCY, MAX_CONCURRENCY);
        self.max_concurrency.get_or_insert(default);
    }

    /// Returns the maximum number of requests in flight.
    pub fn most_requests(&self) -> usize {
        self.max_concurrency.unwrap_or(DEFAULT_MAX_CONCURRENCY)
    }
}
