use super::*;
use gage_config::{Environment, load};

fn rows_of(content: &[u8], further: &str) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, content).expect("written");
    std::fs::write(folder.path().join("labels.lst"), "1\n0\nx\n").expect("written");
    open(folder.path(), further).expect("opened").map(|row| row.expect("read")).collect()
}

fn open(folder: &std::path::Path, further: &str) -> Result<JsonlRows, DataError> {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: '${{config_dir}}/rows.jsonl'{further}}}}}]\n\
         backends: [{{backend_id: b, type: openai_http, config: {{model: m}}}}]\n\
         role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
         custom: {{steps: [{{step: inference}}]}}\n"
    );
    let environment = Environment { variable: &|_| None, config_dir: folder.display().to_string() };
    let (config, problems) = load("test.yaml", &text, &[], &environment);
    let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
    crate::open(&config.datasets[0], None)
}

#[test]
fn blank_lines_are_no_rows_and_numbers_are_those_of_the_file() {
    let rows = rows_of(b"\xef\xbb\xbf{\"a\":1}\n\n  \n{\"a\":2}\r\n{\"a\":3}", "");
    let seen: Vec<_> =
        rows.iter().map(|row| (row.index, row.line, row.body.clone().expect("sound"))).collect();
    assert_eq!(seen, [(0, 1, "{\"a\":1}".into()), (1, 4, "{\"a\":2}".into()), (2, 5, "{\"a\":3}".into())]);
}

#[test]
fn a_broken_row_is_given_with_its_place_and_the_rest_goes_on() {
    let rows = rows_of(b"{\"a\":1}\n{\"a\":\n[1]\n\"x\"\n{\"a\": \"\xff\"}\n{\"a\":1}{}\n{\"a\":6}\n", "");
    let problems: Vec<Option<String>> = rows
        .iter()
        .map(|row| {
            row.body
                .as_ref()
                .err()
                .map(|problem| problem.message.split(": ").skip(1).collect::<Vec<_>>().join(": "))
        })
        .collect();
    assert_eq!(problems[0], None);
    assert_eq!(problems[1].as_deref(), Some("the row is not JSON: EOF while parsing a value (column 5)"));
    assert_eq!(problems[2].as_deref(), Some("the row is not a JSON object"));
    assert_eq!(problems[3].as_deref(), Some("the row is not a JSON object"));
    assert_eq!(problems[4].as_deref(), Some("the row is not UTF-8 behind byte 7"));
    assert_eq!(problems[5].as_deref(), Some("the row is not JSON: trailing characters (column 8)"));
    assert_eq!(problems[6], None);
}

#[test]
fn limit_and_shuffle_are_reproducible() {
    let content: String = (0..50).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    let numbers = |further: &str| -> Vec<u64> {
        rows_of(content.as_bytes(), further).iter().map(|row| row.number).collect()
    };
    assert_eq!(numbers(", limit: 3"), [0, 1, 2]);
    let shuffled = numbers(", shuffle: true, seed: 7");
    assert_ne!(shuffled, (0..50).collect::<Vec<_>>());
    assert_eq!(shuffled, numbers(", shuffle: true, seed: 7"));
    assert_ne!(shuffled, numbers(", shuffle: true, seed: 0"));
    assert_eq!(numbers(", shuffle: true, seed: 7, limit: 5"), shuffled[..5]);
}

#[test]
fn labels_are_joined_by_row_and_a_missing_one_is_a_problem_of_the_row() {
    let rows = rows_of(
        b"{\"a\":1}\n\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n",
        ", labels_path: '${config_dir}/labels.lst'",
    );
    let bodies: Vec<Option<&str>> = rows.iter().map(|row| row.body.as_deref().ok()).collect();
    let expected =
        [Some(r#"{"a":1,"label":1}"#), Some(r#"{"a":2,"label":0}"#), Some(r#"{"a":3,"label":"x"}"#), None];
    assert_eq!(bodies, expected);
}

#[test]
fn what_cannot_be_read_names_both_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = open(folder.path(), "").err().expect("missing").to_string();
    assert!(error.contains("rows.jsonl") && error.contains("No such file"), "{error}");
    std::fs::write(folder.path().join("rows.jsonl"), "\n \n").expect("written");
    let error = open(folder.path(), "").err().expect("empty").to_string();
    assert!(error.contains("holds no row"), "{error}");
}
