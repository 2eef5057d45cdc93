//! Names on a hub that look like numbers, such as a revision of digits only.

use crate::node::{Node, NodeValue};

/// Parameters of a dataset on a hub that are texts.
const HUB_TEXTS: [&str; 3] = ["revision", "subset", "split"];

/// Makes the names of datasets on a hub texts as they are typed: the revision `0123` is not the number 123, and is not recorded
/// as one.
pub(crate) fn keep_hub_texts(root: &mut Node) {
    let datasets = root.get_mut("datasets").and_then(Node::items_mut);
    for dataset in datasets.into_iter().flatten() {
        if dataset.text_of("loader") != Some("hf_hub") {
            continue;
        }
        let Some(params) = dataset.get_mut("params") else { continue };
        for key in HUB_TEXTS {
            if let Some(value) = params.get_mut(key) {
                keep_text(value);
            }
        }
        if let Some(split) = params.get_mut("few_shot").and_then(|few_shot| few_shot.get_mut("split")) {
            keep_text(split);
        }
    }
}

/// Makes an unquoted number or boolean the text that it is written as. In a list, each item becomes one.
fn keep_text(node: &mut Node) {
    if let NodeValue::List(items) = &mut node.value {
        items.iter_mut().for_each(keep_text);
    } else if let Some(text) = node.plain.take() {
        node.value = NodeValue::Text(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::{DataSource, Environment, load, load_recorded};
    use serde_json::json;

    const SUITE: &str = "
datasets:
  - dataset_id: d
    loader: hf_hub
    params:
      hub_id: a/b
      PARAMS
model: ./m.gguf
metrics: [exact_match]
";

    #[test]
    fn hub_names_that_look_like_numbers_stay_texts() {
        let environment = Environment { variable: &|_| Some("007".to_owned()), config_dir: ".".to_owned() };
        let commit = "12345678e9abcdef0123456789abcdef01234567";
        for (params, expected) in [
            ("revision: 1234567", json!("1234567")),
            ("revision: 0123", json!("0123")),
            ("revision: '0123'", json!("0123")),
            ("revision: 1e5", json!("1e5")),
            ("revision: 12345678e9", json!("12345678e9")),
            ("revision: 0x1F", json!("0x1F")),
            ("revision: 1.50", json!("1.50")),
            ("revision: true", json!("true")),
            ("revision: 99999999999999999999", json!("99999999999999999999")),
            (&*format!("revision: {commit}"), json!(commit)),
            ("revision: ${TAG}", json!("007")),
            ("subset: 2024.10", json!("2024.10")),
            ("subset: [en, 010]", json!(["en", "010"])),
            ("split: 2024", json!("2024")),
            ("few_shot: {split: 010, count: 1}", json!({"split": "010", "count": 1})),
            // The other parameters stay as they are.
            ("limit: 010", json!(10)),
        ] {
            let (config, problems) = load("x", &SUITE.replace("PARAMS", params), &[], &environment);
            assert!(!problems.has_errors(), "{params}: {}", problems.render(false));
            let config = config.unwrap();
            let key = params.split(':').next().unwrap();
            assert_eq!(config.document["datasets"][0]["params"][key], expected, "{params}");
            let DataSource::Hub(hub) = &config.datasets[0].source else { panic!("{params}") };
            assert!(key != "revision" || expected == hub.revision, "{params}: {}", hub.revision);
            assert_eq!(load_recorded(&config.document).unwrap().document, config.document, "{params}");
        }
        let override_of = "datasets.d.params.revision=0123".to_owned();
        let (config, _) = load("x", &SUITE.replace("PARAMS", "limit: 1"), &[override_of], &environment);
        assert_eq!(config.unwrap().document["datasets"][0]["params"]["revision"], "0123");
    }
}
