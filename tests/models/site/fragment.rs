//! Completes a fragment of a suite to a whole one.

/// The parts of a minimal suite, by key; a fragment replaces those that it has.
const MINIMAL: &[(&str, &str)] = &[
    ("api_version", "api_version: gage/v1alpha1\n"),
    ("kind", "kind: PipelineConfig\n"),
    ("datasets", "datasets: [{dataset_id: DATASET, loader: jsonl, params: {path: rows.jsonl}}]\n"),
    (
        "backends",
        "backends: [{backend_id: BACKEND, type: openai_http, config: {base_url: 'http://localhost:8000/v1', model: m, loglikelihood: echo}}]\n",
    ),
    (
        "role_adapters",
        "role_adapters:
  - {adapter_id: dut, role_type: dut_model, backend_id: BACKEND}
  - {adapter_id: judge, role_type: judge_model, backend_id: BACKEND}
  - {adapter_id: helper, role_type: helper_model, backend_id: BACKEND}
",
    ),
    ("metrics", "metrics: [exact_match]\n"),
    ("custom", "custom: {steps: [{step: inference}, {step: auto_eval}]}\n"),
];

/// Returns the top-level entries of a mapping: key and text.
fn entries(text: &str) -> Vec<(&str, String)> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let key = line.split(':').next().unwrap_or_default();
        let is_key = line.contains(':')
            && !key.is_empty()
            && key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        if is_key {
            entries.push((key, String::new()));
        }
        if let Some((_, entry)) = entries.last_mut() {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    entries
}

/// Returns the first value of a key in a text, such as the id in `backend_id: tiny`.
fn first_value(text: &str, key: &str) -> Option<String> {
    let rest = text.split(&format!("{key}: ")).nth(1)?;
    let value: String = rest.chars().take_while(|letter| !",}\n# ".contains(*letter)).collect();
    Some(value)
}

/// Returns a whole suite with this fragment; `None` if the text is not a fragment of a suite.
pub(super) fn whole_suite(fragment: &str) -> Option<String> {
    let steps = fragment.trim_start().starts_with("- step:").then(|| {
        let mut steps: String = fragment.lines().map(|line| format!("    {line}\n")).collect();
        if !fragment.contains("step: inference") {
            steps.insert_str(0, "    - step: inference\n");
        }
        if !fragment.contains("step: auto_eval") {
            steps.push_str("    - step: auto_eval\n");
        }
        format!("custom:\n  steps:\n{steps}")
    });
    let fragment = steps.as_deref().unwrap_or(fragment);
    let own = entries(fragment);
    if own.is_empty() {
        return None;
    }
    let backend = first_value(fragment, "backend_id").unwrap_or_else(|| "model".to_owned());
    let dataset = first_value(fragment, "dataset_id").unwrap_or_else(|| "rows".to_owned());
    let mut suite = String::new();
    for (key, text) in MINIMAL {
        if !own.iter().any(|(known, _)| known == key) {
            suite.push_str(&text.replace("BACKEND", &backend).replace("DATASET", &dataset));
        }
    }
    for (_, text) in own {
        suite.push_str(&text);
    }
    Some(suite)
}
