//! The suites that ship with the project.

use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, repository};

/// The suites that ship frozen: names of the suite and of the configuration.
const SHIPPED: [(&str, &str); 8] = [
    ("tiny_sums", "tiny_sums"),
    ("tiny_words", "tiny_words"),
    ("tiny_choice", "tiny_choice"),
    ("tiny_perplexity", "tiny_perplexity"),
    ("tiny_suite", "tiny"),
    ("piqa_suite", "piqa_openai_http"),
    ("gsm8k_suite", "gsm8k_openai_http"),
    ("gsm8k_judged_suite", "gsm8k_judged"),
];

#[test]
fn every_shipped_suite_is_its_configuration_frozen_and_runs() {
    // Right about all of them: the first solution, the sum, and that the judge agrees.
    let server = Server::start(|request| {
        let asked = String::from_utf8_lossy(&request.body).into_owned();
        completion(match (asked.contains("SCORE:"), asked.contains("Cut.")) {
            (true, _) => "It is.\nCORRECT: YES\nSCORE: 1.0",
            (false, true) => "A",
            (false, false) => "4",
        })
    });
    let workspace = Workspace::new();
    workspace.write("data/piqa/valid.jsonl", "{\"goal\":\"Cut.\",\"sol1\":\"Knife.\",\"sol2\":\"Spoon.\"}\n");
    workspace.write("data/piqa/valid-labels.lst", "0\n");
    workspace.write("data/gsm8k/test.jsonl", "{\"question\":\"2 + 2?\",\"answer\":\"#### 4\"}\n");
    let in_repository = |arguments: &[&str]| {
        let output = workspace
            .program()
            .current_dir(repository())
            .env("LOCAL_DATASETS_ROOT", workspace.path("data"))
            .env("GAGE_HOST_OUTPUT_DIR", workspace.path("runs"))
            .env("OPENAI_BASE_URL", format!("{}/v1", server.server.uri()))
            .args(arguments)
            .output();
        CommandOutput::of(output.expect("the program runs")).expect_code(0)
    };
    let mut templates: Vec<String> = std::fs::read_dir(repository().join("config/builtin_templates"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    templates.sort();
    let mut names: Vec<&str> = SHIPPED.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    assert_eq!(templates, names);
    for (name, config) in SHIPPED {
        // Nothing new to freeze: the template and the RunConfig are those of the suite that ships.
        let config = format!("config/custom/{config}.yaml");
        let distilled = in_repository(&["distill", &config, "--builtin-name", name, "--force-merge"]);
        assert!(distilled.stdout.contains("nothing written"), "{name}: {}", distilled.stdout);
        let made = in_repository(&["init", name]);
        assert!(made.stdout.contains("nothing written"), "{name}: {}", made.stdout);
        let run_config = format!("config/run_configs/{name}_run_1.yaml");
        in_repository(&["validate", &run_config]);
        let one = format!("{name}-custom");
        in_repository(&["run", &config, "--run-id", &one]);
        let lock = workspace.path(&format!("{name}.gage.lock"));
        let lock = lock.to_str().expect("a path");
        in_repository(&["lock", &run_config, "--lock", lock]);
        let frozen = format!("{name}-frozen");
        in_repository(&["run", &run_config, "--locked", "--lock", lock, "--run-id", &frozen]);
        in_repository(&["verify", &frozen]);
        assert_eq!(
            workspace.json(&one, "summary.json")["metrics"],
            workspace.json(&frozen, "summary.json")["metrics"],
            "{name}"
        );
        if !name.starts_with("tiny") {
            let summary = workspace.json(&frozen, "summary.json");
            for figure in summary["metrics"].as_array().expect("figures") {
                assert!(figure["metric"] == "latency" || figure["value"] == 1.0, "{name}: {figure}");
            }
        }
    }
}
