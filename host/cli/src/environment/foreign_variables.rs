//! Variables that are neither of a flag nor of gage-eval.

/// A variable that some part of the program reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignVariable {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

const fn other(name: &'static str, default: &'static str, meaning: &'static str) -> ForeignVariable {
    ForeignVariable { name, default, meaning }
}

/// All of them. What a suite names as `${NAME}`, or as the variable of a key, is not among them.
pub(crate) const FOREIGN_VARIABLES: &[ForeignVariable] = &[
    other(
        "GAGE_HOST_CACHE_DIR",
        "~/.cache/gage-host",
        "Datasets that were fetched, compiled components, resized images",
    ),
    other("GAGE_CACHE_DIR", "", "The same, where GAGE_HOST_CACHE_DIR is not set"),
    other("XDG_CACHE_HOME", "~/.cache", "Caches lie in its folder gage-host, where neither is set"),
    other(
        "GAGE_HOST_MODEL_PROGRAM",
        "",
        "The program that runs models, where it is not the gage-model beside gage-host",
    ),
    other(
        "HF_TOKEN",
        "",
        "The token of the hub, for models and `model fetch`; datasets that need one name it in the suite: `token: ${HF_TOKEN}`",
    ),
    other("GITHUB_STEP_SUMMARY", "", "The file that `compare --github` appends the comparison to"),
    other("NO_COLOR", "", "No colours, whatever it is set to"),
    other("COLUMNS", "that of the terminal", "Columns of tables"),
    other("TERM", "", "`dumb`: progress is shown in plain lines"),
    other(
        "OMP_WAIT_POLICY",
        "passive",
        "How the threads of llama.cpp wait for one another: `passive` sleeps, `active` never does",
    ),
    other(
        "GOMP_SPINCOUNT",
        "10000",
        "How long they look before they sleep, where OMP_WAIT_POLICY is not set",
    ),
    other(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "",
        "Headers for the collector, as a key of it: name=value,name=value",
    ),
    other("OTEL_SERVICE_NAME", "gage-host", "The name of the service in traces and metrics"),
    other("OTEL_RESOURCE_ATTRIBUTES", "", "What else is said of it: name=value,name=value"),
    other(
        "OTEL_TRACES_SAMPLER",
        "parentbased_always_on",
        "Which traces are sent, of those that --event-sampling keeps",
    ),
    other("OTEL_METRIC_EXPORT_INTERVAL", "60000", "Milliseconds between two posts of metrics"),
    other("OTEL_BSP_SCHEDULE_DELAY", "5000", "Milliseconds between two posts of spans"),
    other("HTTP_PROXY", "", "Proxy for http: addresses"),
    other("HTTPS_PROXY", "", "Proxy for https: addresses"),
    other("ALL_PROXY", "", "Proxy for both"),
    other("NO_PROXY", "", "Hosts that are asked without a proxy"),
];
