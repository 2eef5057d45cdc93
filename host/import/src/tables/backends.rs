//! Types of backends of the older program, and the keys of their settings.

/// The type that serves most models.
pub(crate) const OPENAI: &str = "openai_http";

/// Address of a server that the suite does not name.
pub(crate) const DEFAULT_URL: &str = "${GAGE_BASE_URL:-http://localhost:8000/v1}";
/// Name of a model that the suite does not name.
pub(crate) const DEFAULT_MODEL: &str = "${GAGE_MODEL:-my-model}";

/// Types of gage-host.
pub(crate) const NEW_TYPES: &[&str] =
    &[OPENAI, "anthropic_http", "gemini_http", "tgi", "hf_inference_endpoint", "llama_cpp", "custom_script"];

/// Old types, what takes their place, and the program that serves such a model.
pub(crate) const OLD_TYPES: &[(&str, &str, &str)] = &[
    ("vllm", OPENAI, "vllm serve MODEL"),
    ("vllm_native", OPENAI, "vllm serve MODEL"),
    ("vllm_async", OPENAI, "vllm serve MODEL"),
    ("legacy_vllm", OPENAI, "vllm serve MODEL"),
    ("vllm_backend", OPENAI, "vllm serve MODEL"),
    ("vllm_native_backend", OPENAI, "vllm serve MODEL"),
    ("vlm_transformers", OPENAI, "vllm serve MODEL"),
    ("vlm_transformers_backend", OPENAI, "vllm serve MODEL"),
    ("transformers", OPENAI, "transformers serve"),
    ("hf_transformers", OPENAI, "transformers serve"),
    ("huggingface", OPENAI, "transformers serve"),
    ("hf", OPENAI, "transformers serve"),
    ("hf_inference", OPENAI, "transformers serve"),
    ("sglang", OPENAI, "python -m sglang.launch_server --model-path MODEL"),
    ("lmdeploy", OPENAI, "lmdeploy serve api_server MODEL"),
    ("litellm", OPENAI, "litellm --model MODEL"),
    ("openai", OPENAI, ""),
    ("openai_batch", OPENAI, ""),
    ("openai_http_backend", OPENAI, ""),
    ("azure_openai", OPENAI, ""),
    ("multi_provider_http", OPENAI, ""),
    ("http", OPENAI, ""),
    ("ollama", OPENAI, "ollama serve"),
    ("dummy", OPENAI, "a mock server of the OpenAI API"),
    ("mock", OPENAI, "a mock server of the OpenAI API"),
    ("anthropic", "anthropic_http", ""),
    ("claude", "anthropic_http", ""),
    ("gemini", "gemini_http", ""),
    ("tgi_http", "tgi", ""),
    ("hf_endpoint", "hf_inference_endpoint", ""),
];

/// Beginnings of model names of litellm: the provider, its type, and its address if it is not the default. litellm never
/// sends the beginning.
pub(crate) const PROVIDERS: &[(&str, &str, &str)] = &[
    ("openai/", OPENAI, ""),
    ("hosted_vllm/", OPENAI, DEFAULT_URL),
    ("litellm_proxy/", OPENAI, DEFAULT_URL),
    ("custom_openai/", OPENAI, DEFAULT_URL),
    ("azure/", OPENAI, DEFAULT_URL),
    ("anthropic/", "anthropic_http", ""),
    ("gemini/", "gemini_http", ""),
    ("openrouter/", OPENAI, "https://openrouter.ai/api/v1"),
    ("deepseek/", OPENAI, "https://api.deepseek.com/v1"),
    ("moonshot/", OPENAI, "https://api.moonshot.cn/v1"),
    ("together_ai/", OPENAI, "https://api.together.xyz/v1"),
    ("groq/", OPENAI, "https://api.groq.com/openai/v1"),
    ("mistral/", OPENAI, "https://api.mistral.ai/v1"),
    ("xai/", OPENAI, "https://api.x.ai/v1"),
    ("ollama/", OPENAI, "http://localhost:11434/v1"),
];

/// Keys of HTTP backends.
pub(crate) const HTTP_KEYS: &[&str] = &[
    "base_url",
    "model",
    "default_params",
    "api_key_env",
    "api_key_file",
    "api_key",
    "headers",
    "timeout",
    "read_timeout",
    "max_response_mib",
    "proxy",
    "ca_certificate",
    "max_retries",
    "retry_base",
    "retry_limit",
    "retry_after_limit",
    "outage_after",
    "outage_limit",
    "max_concurrency",
    "async_max_concurrency",
    "adaptive_concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "extra_body",
    "stream",
    "logprobs",
    "response_format",
    "think_tags",
    "loglikelihood",
    "max_tokens_name",
    "omit_params",
];

/// Old names of the model, the best first.
pub(crate) const MODEL_KEYS: &[&str] = &[
    "model",
    "served_model_name",
    "model_name",
    "model_id",
    "deployment",
    "model_name_or_path",
    "model_path",
    "pretrained",
    "checkpoint",
    "engine",
];

/// Old names of the address, the best first.
pub(crate) const URL_KEYS: &[&str] =
    &["base_url", "api_base", "api_url", "server_url", "url", "endpoint", "azure_endpoint"];

/// Old mappings of sampling parameters.
pub(crate) const SAMPLING_SECTIONS: &[&str] = &[
    "sampling_params",
    "generation_params",
    "generation_kwargs",
    "generate_kwargs",
    "generation_config",
    "generation_parameters",
    "default_sampling_params",
    "sampling_parameters",
];

/// Other names of HTTP settings.
pub(crate) const RENAMED: &[(&str, &str)] = &[
    ("timeout_s", "timeout"),
    ("timeout_seconds", "timeout"),
    ("request_timeout", "timeout"),
    ("http_timeout", "timeout"),
    ("num_retries", "max_retries"),
    ("retries", "max_retries"),
    ("extra_headers", "headers"),
    ("rpm", "requests_per_minute"),
    ("tpm", "tokens_per_minute"),
    ("streaming", "stream"),
];

/// Keys whose values the server gets in the body.
pub(crate) const BODY_KEYS: &[&str] =
    &["chat_template_kwargs", "reasoning_effort", "thinking", "enable_thinking"];

/// Settings of the process that serves the model, with the option of `vllm serve` where there is one.
pub(crate) const SERVER_KEYS: &[(&str, &str)] = &[
    ("dtype", "--dtype"),
    ("torch_dtype", "--dtype"),
    ("max_model_len", "--max-model-len"),
    ("max_seq_len", "--max-model-len"),
    ("tensor_parallel_size", "--tensor-parallel-size"),
    ("tp_size", "--tensor-parallel-size"),
    ("pipeline_parallel_size", "--pipeline-parallel-size"),
    ("data_parallel_size", "--data-parallel-size"),
    ("gpu_memory_utilization", "--gpu-memory-utilization"),
    ("mem_fraction_static", "--gpu-memory-utilization"),
    ("quantization", "--quantization"),
    ("load_format", "--load-format"),
    ("kv_cache_dtype", "--kv-cache-dtype"),
    ("max_num_seqs", "--max-num-seqs"),
    ("max_num_batched_tokens", "--max-num-batched-tokens"),
    ("swap_space", "--swap-space"),
    ("block_size", "--block-size"),
    ("enforce_eager", "--enforce-eager"),
    ("enable_prefix_caching", "--enable-prefix-caching"),
    ("limit_mm_per_prompt", "--limit-mm-per-prompt"),
    ("mm_processor_kwargs", "--mm-processor-kwargs"),
    ("trust_remote_code", "--trust-remote-code"),
    ("tokenizer", "--tokenizer"),
    ("tokenizer_path", "--tokenizer"),
    ("tokenizer_name", "--tokenizer"),
    ("tokenizer_mode", "--tokenizer-mode"),
    ("revision", "--revision"),
    ("chat_template", "--chat-template"),
    ("processor_path", ""),
    ("device", ""),
    ("device_map", ""),
    ("devices", ""),
    ("attn_implementation", ""),
    ("use_fast", ""),
    ("low_cpu_mem_usage", ""),
    ("batch_size", ""),
    ("max_batch_size", ""),
    ("min_pixels", ""),
    ("max_pixels", ""),
    ("image_factor", ""),
    ("use_chat_template", ""),
    ("force_tokenize_prompt", ""),
    ("cache_dir", ""),
    ("hub", ""),
    ("hub_params", ""),
    ("engine_args", ""),
    ("model_kwargs", ""),
    ("tokenizer_kwargs", ""),
    ("processor_kwargs", ""),
    ("output_type", ""),
    ("provider", ""),
    ("custom_llm_provider", ""),
];

/// Old keys of the provider of litellm.
pub(crate) const PROVIDER_KEYS: &[&str] = &["provider", "custom_llm_provider"];

/// Options of `vllm serve` that `sglang.launch_server` has under another name.
pub(crate) const SGLANG_OPTIONS: &[(&str, &str)] = &[
    ("--max-model-len", "--context-length"),
    ("--gpu-memory-utilization", "--mem-fraction-static"),
    ("--max-num-seqs", "--max-running-requests"),
    ("--max-num-batched-tokens", "--max-prefill-tokens"),
    ("--tokenizer", "--tokenizer-path"),
    ("--swap-space", ""),
    ("--block-size", "--page-size"),
    ("--enforce-eager", "--disable-cuda-graph"),
    ("--enable-prefix-caching", ""),
    ("--limit-mm-per-prompt", ""),
    ("--mm-processor-kwargs", ""),
];
