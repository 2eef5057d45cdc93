//! Page of the environment variables.

use super::markdown::{code, heading, sentence, table};
use serde_json::Value;

const INTRODUCTION: &str = "\
`gage-host env` lists these variables with their present values. `--quiet` lists only those that are set.

A flag has a variable if it describes an environment: folders, limits of the machine, logs, observers, addresses. The
command line has precedence, then the variable, then the default. For a flag without a value, `0`, `n`, `no`, `f`, `false` and
`off` mean no, and any other value means yes. An empty variable counts as not set. If a value is invalid, the error names the variable.";

const GAGE_EVAL: &str = "\
The variables of the older Python program still work. A variable, flag or key that replaced one has precedence over it. A run warns about variables that
have no effect.";

/// Returns the page of all variables, in three groups.
pub(super) fn page(variables: &Value) -> String {
    let mut page = heading("Environment variables", INTRODUCTION);
    for (key, title, introduction) in [
        ("flags", "Flags and suites", "Each replaces the default of a flag or of a key of a suite."),
        ("gage_eval", "Variables of gage-eval", GAGE_EVAL),
        ("others", "Others", "Standard variables, and those that no flag has."),
    ] {
        let text =
            |variable: &Value, key: &str| variable[key].as_str().map(str::to_owned).unwrap_or_default();
        let as_code = |text: String| if text.is_empty() { text } else { code(&text) };
        let rows: Vec<Vec<String>> = variables[key]
            .as_array()
            .expect("a list of variables")
            .iter()
            .map(|variable| {
                let commands =
                    variable["commands"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let replaced = match (text(variable, "successor"), text(variable, "no_effect")) {
                    (successor, reason) if reason.is_empty() => as_code(successor),
                    (_, reason) => format!("no effect: {reason}"),
                };
                vec![
                    code(&text(variable, "name")),
                    as_code(text(variable, "flag")),
                    commands.map(code).collect::<Vec<_>>().join(", "),
                    replaced,
                    as_code(text(variable, "default")),
                    sentence(&text(variable, "meaning")),
                ]
            })
            .collect();
        let columns = ["variable", "flag", "commands", "replaced by", "default", "meaning"];
        page.push_str(&format!("\n## {title}\n\n{introduction}\n\n{}", table(&columns, &rows)));
    }
    page
}
