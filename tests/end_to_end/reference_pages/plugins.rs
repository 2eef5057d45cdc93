//! Pages of the metrics, extractors, judges, aggregators and preprocessors bundled with the program.

use super::markdown::{code, flow, heading, sentence, table, type_of};
use serde_json::Value;

/// A page about plugins of one or several kinds.
pub(super) struct PluginPage {
    pub(super) file: &'static str,
    title: &'static str,
    introduction: &'static str,
    /// The keys of the kinds in `gage-host list --json`, their headings if there are several, and their names.
    kinds: &'static [(&'static str, &'static str, &'static str)],
}

pub(super) const PAGES: &[PluginPage] = &[
    PluginPage {
        file: "metrics.md",
        title: "Metrics",
        introduction: "A metric compares an answer with its reference and gives one or more values. `gage-host metrics NAME` prints the \
                       same with the digest of the component. [`python_tests` and `javascript_tests`](../guides/code-execution.md), \
                       which run programs of models, are files of their own and not listed here.",
        kinds: &[("metrics", "", "metric")],
    },
    PluginPage {
        file: "extractors.md",
        title: "Extractors",
        introduction: "An extractor finds the answer in a model's text. The step `extract` of a task names it.",
        kinds: &[("extractors", "", "extractor")],
    },
    PluginPage {
        file: "judges.md",
        title: "Judges",
        introduction: "A judge asks a second model about an answer and reads its verdict. The step `judge` of a task names it.",
        kinds: &[("judges", "", "judge")],
    },
    PluginPage {
        file: "aggregators.md",
        title: "Aggregators",
        introduction: "An aggregator computes a figure from the scores of many samples. The key `aggregation` of a metric names it. \
                       [Figures](../concepts/figures.md) lists the built-in aggregations, such as `mean`.",
        kinds: &[("aggregators", "", "aggregator")],
    },
    PluginPage {
        file: "preprocessors.md",
        title: "Preprocessors",
        introduction: "A preprocessor converts a row of a dataset to a Sample. The key `preprocess` of a dataset names it. Hooks and role \
                       adapters change Samples and requests afterwards.",
        kinds: &[
            ("preprocessors", "Preprocessors", ""),
            ("hooks", "Hooks of documents", ""),
            ("adapters", "Role adapters", ""),
        ],
    },
];

impl PluginPage {
    /// Renders the page; `explain` returns the output of `gage-host metrics` for a name and kind.
    pub(super) fn render(&self, list: &Value, explain: &dyn Fn(&str, &str) -> Value) -> String {
        let mut page = heading(self.title, self.introduction);
        let level = if self.kinds.len() == 1 { "##" } else { "###" };
        for (key, title, kind) in self.kinds {
            if self.kinds.len() > 1 {
                page.push_str(&format!("\n## {title}\n"));
            }
            for plugin in list[*key].as_array().expect("a list of plugins") {
                let name = plugin["name"].as_str().expect("a name");
                page.push_str(&format!(
                    "\n{level} {}\n\n{}\n",
                    code(name),
                    sentence(plugin["description"].as_str().unwrap_or_default())
                ));
                let explained = if kind.is_empty() { Value::Null } else { explain(name, kind) };
                add_values(plugin, &mut page);
                add_params(&plugin["params_schema"], &mut page);
                if let Some(example) = explained["example"].as_str() {
                    let example: String = example
                        .lines()
                        .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line)))
                        .collect();
                    page.push_str(&format!("\n```yaml\n{example}```\n"));
                }
            }
        }
        page
    }
}

/// Adds the values that a metric gives, with their range and direction.
fn add_values(plugin: &Value, page: &mut String) {
    let values = plugin["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    if values.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = values
        .iter()
        .map(|value| {
            let range = match (value["minimum"].as_f64(), value["maximum"].as_f64()) {
                (Some(least), Some(most)) => format!("{least} to {most}"),
                (Some(least), None) => format!("at least {least}"),
                (None, Some(most)) => format!("at most {most}"),
                (None, None) => String::new(),
            };
            let better = match value["higher_is_better"].as_bool() {
                Some(true) => "higher",
                Some(false) => "lower",
                None => "",
            };
            vec![code(value["name"].as_str().unwrap_or_default()), range, better.to_owned()]
        })
        .collect();
    page.push_str(&format!("\n{}", table(&["value", "range", "better"], &rows)));
}

fn add_params(schema: &Value, page: &mut String) {
    let Some(params) = schema["properties"].as_object().filter(|params| !params.is_empty()) else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rows: Vec<Vec<String>> = params
        .iter()
        .map(|(name, param)| {
            let default = match param.get("default") {
                _ if required.contains(&name.as_str()) => "required".to_owned(),
                None | Some(Value::Null) => String::new(),
                Some(default) => code(&flow(default)),
            };
            let description = param["description"].as_str().unwrap_or_default();
            vec![code(name), type_of(param), default, sentence(description)]
        })
        .collect();
    page.push_str(&format!("\n{}", table(&["parameter", "type", "default", "meaning"], &rows)));
}
