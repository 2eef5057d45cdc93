//! Differences between the descriptions of two components.

use gage_core::Object;
use gage_plugin::{AnyComponent, MemberDescription};
use serde_json::{Value, json};

/// Maximum number of differences that are listed.
const MAX_CHANGES: usize = 1_000;

/// A part of the description that differs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct DescriptionChange {
    /// The part: keys between dots.
    pub part: String,
    /// Its value in the first component; null if it is not there.
    pub before: Value,
    /// Its value in the second component; null if it is not there.
    pub after: Value,
}

/// Compares the descriptions of two components: kind, version, imports, limits, and the version, inputs, values and parameters
/// of each member. Up to 1,000 differences are returned.
pub fn description_changes(before: &AnyComponent, after: &AnyComponent) -> Vec<DescriptionChange> {
    let mut changes = Vec::new();
    compare("", &description_of(before), &description_of(after), &mut changes);
    changes
}

/// Returns everything that describes a component and does not follow from its bytes alone.
fn description_of(component: &AnyComponent) -> Value {
    let (summary, identity) = (component.summary(), component.identity());
    let set = |names: &[String]| -> Value {
        Value::Object(names.iter().map(|name| (name.clone(), Value::Bool(true))).collect())
    };
    json!({
        "name": identity.name.as_str(),
        "version": identity.version.as_str(),
        "description": component.description(),
        "kind": summary.world.kind(),
        "contract": summary.wit_version,
        "imports": set(&summary.imports),
        "packages": set(&summary.packages),
        "limits": json!(component.limits()),
        "extra": Value::Object(component.extra().clone()),
        "members": by_name(component.descriptions(), |member| &member.name, member_of),
    })
}

fn member_of(member: &MemberDescription) -> Value {
    let properties = member.params_schema.get("properties").cloned().unwrap_or_default();
    let mut schema = member.params_schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("properties");
    }
    json!({
        "version": member.version,
        "description": member.description,
        "hook": member.hook,
        "inputs": by_name(&member.inputs, |input| &input.name, |input| {
            json!({"path_params": input.path_params, "default_paths": input.default_paths})
        }),
        "values": by_name(&member.values, |value| &value.name, |value| json!({
            "higher_is_better": value.higher_is_better,
            "minimum": value.minimum,
            "maximum": value.maximum,
        })),
        "default_aggregation": member.default_aggregation,
        "params": properties,
        "params_schema": schema,
    })
}

/// Returns an object with an entry for each item of a list.
fn by_name<T>(list: &[T], name: impl Fn(&T) -> &String, value: impl Fn(&T) -> Value) -> Value {
    Value::Object(list.iter().map(|item| (name(item).clone(), value(item))).collect::<Object>())
}

/// Lists the values that differ. Only objects are entered.
fn compare(path: &str, before: &Value, after: &Value, changes: &mut Vec<DescriptionChange>) {
    if before == after || changes.len() >= MAX_CHANGES {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let value = |object: &Object| object.get(key).cloned().unwrap_or_default();
                compare(&path, &value(old), &value(new), changes);
            }
        }
        _ => changes.push(DescriptionChange {
            part: path.to_owned(),
            before: before.clone(),
            after: after.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(before: Value, after: Value) -> Vec<(String, Value, Value)> {
        let mut changes = Vec::new();
        compare("", &before, &after, &mut changes);
        changes.into_iter().map(|change| (change.part, change.before, change.after)).collect()
    }

    #[test]
    fn only_parts_that_differ_are_listed() {
        let part = |part: &str, before: Value, after: Value| vec![(part.to_owned(), before, after)];
        for (before, after, expected) in [
            (json!({"a": 1}), json!({"a": 1}), vec![]),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1, "c": 3}}), part("a.c", json!(2), json!(3))),
            (json!({"a": {}}), json!({"a": {"b": [1]}}), part("a.b", Value::Null, json!([1]))),
            (json!({"a": {"b": {"c": 1}}}), json!({"a": {}}), { part("a.b", json!({"c": 1}), Value::Null) }),
            (json!({"a": [1, 2]}), json!({"a": [1, 3]}), part("a", json!([1, 2]), json!([1, 3]))),
        ] {
            assert_eq!(changes(before.clone(), after.clone()), expected, "{before} {after}");
        }
    }

    #[test]
    fn the_parameters_of_a_member_are_separate_parts() {
        let member = |version: &str, default: i64| MemberDescription {
            name: "m".to_owned(),
            description: "about".to_owned(),
            version: version.to_owned(),
            hook: None,
            inputs: Vec::new(),
            values: Vec::new(),
            default_aggregation: Some("mean".to_owned()),
            params_schema: json!({"type": "object", "properties": {"n": {"default": default}}}),
        };
        let found = changes(member_of(&member("1", 1)), member_of(&member("2", 3)));
        let part = |name: &str, before: Value, after: Value| (name.to_owned(), before, after);
        let expected =
            [part("version", json!("1"), json!("2")), part("params.n.default", json!(1), json!(3))];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_number_of_differences_is_bounded() {
        let object =
            |value: i64| -> Object { (0..5_000).map(|number| (number.to_string(), json!(value))).collect() };
        let found = changes(Value::Object(object(1)), Value::Object(object(2)));
        assert_eq!(found.len(), MAX_CHANGES);
    }
}
