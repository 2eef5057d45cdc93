//! The variables of gage-eval, and what has taken their place.

/// What has taken the place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyReplacement {
    /// A flag, by its long name.
    Flag(&'static str),
    /// A key that a suite may leave open: it is set in each entry of `list` without `key`. `name` is a variable that goes
    /// before this one.
    Suite { name: Option<&'static str>, list: &'static str, key: &'static str, is_boolean: bool },
    /// Another variable.
    Variable(&'static str),
    /// It is itself still read, where a suite names it.
    Itself,
    /// Nothing, for this reason.
    None(&'static str),
}

/// A variable of gage-eval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyVariable {
    pub(crate) name: &'static str,
    pub(crate) successor: LegacyReplacement,
    /// What holds where neither is set.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

const fn flag(
    name: &'static str,
    flag: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> LegacyVariable {
    LegacyVariable { name, successor: LegacyReplacement::Flag(flag), default, meaning }
}

const fn dataset(
    name: &'static str,
    key: &'static str,
    is_boolean: bool,
    default: &'static str,
    meaning: &'static str,
) -> LegacyVariable {
    let successor = LegacyReplacement::Suite { name: None, list: "datasets", key, is_boolean };
    LegacyVariable { name, successor, default, meaning }
}

const fn task(
    name: &'static str,
    successor: &'static str,
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> LegacyVariable {
    let successor = LegacyReplacement::Suite { name: Some(successor), list: "tasks", key, is_boolean: false };
    LegacyVariable { name, successor, default, meaning }
}

const fn none(name: &'static str, meaning: &'static str, reason: &'static str) -> LegacyVariable {
    LegacyVariable { name, successor: LegacyReplacement::None(reason), default: "", meaning }
}

const fn of_suites(name: &'static str, meaning: &'static str) -> LegacyVariable {
    LegacyVariable { name, successor: LegacyReplacement::Itself, default: "", meaning }
}

const BUFFERED: &str =
    "the journal always writes what waits together, and makes it safe before it counts as done";
const IN_PROCESS: &str = "there is no vLLM in the process; ask its server with openai_http";

/// All of them.
pub(crate) const LEGACY_VARIABLES: &[LegacyVariable] = &[
    flag("GAGE_EVAL_THREADS", "concurrency", "16", "Requests in flight"),
    flag(
        "GAGE_EVAL_MAX_SAMPLES",
        "max-samples",
        "",
        "Samples of each task, at most; the smaller one counts where a task has a limit too",
    ),
    dataset(
        "GAGE_EVAL_SHUFFLE",
        "params.shuffle",
        true,
        "false",
        "Shuffle rows, where a dataset does not say",
    ),
    dataset(
        "GAGE_EVAL_SHUFFLE_SEED",
        "params.seed",
        false,
        "123",
        "Seed of the shuffle, where a dataset does not say",
    ),
    task(
        "GAGE_EVAL_PREFETCH_FACTOR",
        "GAGE_HOST_PREFETCH_FACTOR",
        "prefetch_factor",
        "2",
        "Samples that are made ready ahead, as a multiple of the concurrency, where a task does not say",
    ),
    task(
        "GAGE_EVAL_MAX_INFLIGHT",
        "GAGE_HOST_MAX_INFLIGHT",
        "max_inflight",
        "twice the concurrency",
        "Samples between loading and the journal, where a task does not say",
    ),
    LegacyVariable {
        name: "GAGE_EVAL_SEQUENTIAL",
        // It says the value of the other, and not in the same words.
        successor: LegacyReplacement::Variable("GAGE_HOST_CONCURRENCY"),
        default: "false",
        meaning: "One request of each role at a time, whatever GAGE_EVAL_THREADS says: a concurrency of 1, where none is given \
                  by its flag or its successor",
    },
    none(
        "GAGE_EVAL_FF_MODE",
        "Submit samples without waiting for one another",
        "they always are, but for tasks that say `mode: sequential`",
    ),
    flag("GAGE_EVAL_SAVE_DIR", "output-dir", "runs", "Where run folders are made"),
    none("GAGE_EVAL_DISABLE_BUFFERED_WRITER", "Write each sample alone", BUFFERED),
    none("GAGE_EVAL_ENABLE_BUFFERED_WRITER", "Write samples together", BUFFERED),
    none("GAGE_EVAL_BUFFER_THRESHOLD", "Samples from which on they are written together", BUFFERED),
    none("GAGE_EVAL_BUFFER_BATCH_SIZE", "Samples that are written together", BUFFERED),
    none("GAGE_EVAL_BUFFER_FLUSH_S", "How long they wait for that", BUFFERED),
    LegacyVariable {
        name: "GAGE_EVAL_DATA_CACHE",
        successor: LegacyReplacement::Variable("GAGE_HOST_CACHE_DIR"),
        default: "~/.cache/gage-host",
        meaning: "Datasets that were fetched, compiled components, resized images",
    },
    dataset(
        "GAGE_EVAL_EMBED_LOCAL_MEDIA",
        "params.embed_local_media",
        true,
        "false",
        "Put local media into the Samples as data URLs, where a dataset does not say",
    ),
    none("GAGE_EVAL_EMBED_MEDIA_THREADS", "Threads that embed media", "there are as many as are needed"),
    dataset(
        "GAGE_EVAL_IMAGE_MIN_PIXELS",
        "params.media.min_pixels",
        false,
        "",
        "Images of fewer pixels are made larger, where a dataset does not say",
    ),
    dataset(
        "GAGE_EVAL_IMAGE_MAX_PIXELS",
        "params.media.max_pixels",
        false,
        "",
        "Images of more pixels are made smaller, where a dataset does not say",
    ),
    dataset(
        "GAGE_EVAL_IMAGE_FACTOR",
        "params.media.factor",
        false,
        "",
        "Sides of resized images are multiples of this, where a dataset does not say",
    ),
    none(
        "GAGE_VISUAL_CACHE_DIR",
        "Where images are kept as data URLs",
        "resized images are kept below GAGE_HOST_CACHE_DIR",
    ),
    none("GAGE_VISUAL_PROCESSPOOL", "Encode large images in other processes", "threads do it"),
    none("GAGE_VISUAL_PROCESSPOOL_THRESHOLD", "From which size on", "threads do it, whatever the size"),
    flag("GAGE_EVAL_OBSERVABILITY", "observability", "false", "An event for every stage of every sample"),
    flag("GAGE_EVAL_REPORT_HTTP_URL", "report-http-url", "", "Post events to this address as well"),
    flag("GAGE_EVAL_REPORT_HTTP_BATCH", "report-http-batch", "50", "Events in one post"),
    flag(
        "GAGE_EVAL_REPORT_HTTP_FAIL_PCT",
        "report-http-fail-pct",
        "5",
        "Share of posts that may fail, in percent, before nothing more is posted",
    ),
    flag(
        "GAGE_EVAL_REPORT_HTTP_TIMEOUT",
        "report-http-timeout",
        "10",
        "How long a post may take, in seconds",
    ),
    flag(
        "GAGE_EVAL_INMEMORY_TRACE",
        "inmemory-trace",
        "false",
        "Events are kept in memory, and no events.jsonl is written",
    ),
    flag("GAGE_EVAL_ENABLE_LOG_SINK", "log-sink", "true", "Whether logs are among the events"),
    flag("GAGE_EVAL_LOG_SINK_LEVEL", "log-sink-level", "info", "Which logs are, and above"),
    flag("GAGE_EVAL_AUTOEVAL_WORKERS", "autoeval-workers", "one for each core", "Threads that score"),
    none("GAGE_EVAL_ENABLE_ASYNC_HTTP", "Ask servers without a thread for each request", "they always are"),
    none("GAGE_EVAL_VLLM_ISOLATED", "Run vLLM in a process of its own", IN_PROCESS),
    none("GAGE_EVAL_VLLM_STRICT_MM", "Check media before they go to vLLM", IN_PROCESS),
    none("GAGE_EVAL_VLLM_PROMPT_ONLY", "Send vLLM prompts without media", IN_PROCESS),
    none(
        "GAGE_EVAL_BLOCK_ON_FULL",
        "Wait where a queue is full",
        "every queue is waited for, and no sample is dropped",
    ),
    none(
        "GAGE_EVAL_QUEUE_BLOCK_S",
        "How long to wait where a queue is full",
        "every queue is waited for, and no sample is dropped",
    ),
    none(
        "GAGE_EVAL_FUTURE_TIMEOUT",
        "How long to wait for an answer",
        "a backend has deadlines of its own, in the suite",
    ),
    of_suites("VLLM_NATIVE_MODEL_PATH", "A model, where a suite says ${VLLM_NATIVE_MODEL_PATH}"),
    of_suites("LOCAL_DATASETS_ROOT", "Where datasets lie, where a suite says ${LOCAL_DATASETS_ROOT}"),
    of_suites("DOCVQA_JSONL_PATH", "A file of DocVQA, where a suite says ${DOCVQA_JSONL_PATH}"),
    of_suites("DOCVQA_IMAGE_ROOT", "Images of DocVQA, where a suite says ${DOCVQA_IMAGE_ROOT}"),
];
