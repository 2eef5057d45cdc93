//! The schemas of a component's members. They share one budget of memory, because a component can have many members.

use crate::schema::ParamsSchema;
use crate::schema_size::{MAX_SCHEMA_VALUES, PATTERN_VALUES, SchemaSize, patterns_of, schema_size};
use serde_json::Value;

/// Maximum number of regular expressions of a component. Each can take some megabytes beyond its compiled size: for the
/// tables that speed up its search.
pub(crate) const MAX_PATTERNS: usize = 250;

/// Maximum size of a compiled regular expression, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 256 << 10;

/// Maximum size of all compiled regular expressions of a component, in bytes. They share it in equal parts.
pub(crate) const MAX_PATTERN_BYTES_PER_COMPONENT: usize = 16 << 20;

/// Maximum size of the texts and paths of all schemas of a component, with their references replaced, in bytes.
pub(crate) const MAX_SCHEMA_TEXT_BYTES: u64 = 64 << 20;

/// The schema of a member's parameters.
pub(crate) struct MemberSchema {
    pub(crate) json: Value,
    pub(crate) compiled: ParamsSchema,
}

/// Compiles the schemas of a component's members. A member is its name and the text of its schema.
///
/// # Errors
/// If a schema cannot be used, or if all together are too large. The message begins with the name of the member.
pub(crate) fn compile_schemas<'m>(
    members: impl Iterator<Item = (&'m str, &'m str)>,
) -> Result<Vec<MemberSchema>, String> {
    let (mut totals, mut measured) = (SchemaTotals::default(), Vec::new());
    for (name, text) in members {
        let (json, size) = totals.add(text).map_err(|error| format!("'{name}': {error}"))?;
        measured.push((name, json, size));
    }
    let pattern_bytes = totals.bytes_per_pattern();
    let compile = |(name, json, size): (&str, Value, SchemaSize)| {
        ParamsSchema::compile(&json, size.values, pattern_bytes)
            .map(|compiled| MemberSchema { json, compiled })
            .map_err(|error| format!("'{name}': {error}"))
    };
    measured.into_iter().map(compile).collect()
}

/// Compiles the schema of an only member.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn compile_schema(text: &str) -> Result<ParamsSchema, String> {
    let mut totals = SchemaTotals::default();
    let (json, size) = totals.add(text)?;
    ParamsSchema::compile(&json, size.values, totals.bytes_per_pattern())
}

/// Totals of the schemas of a component.
#[derive(Default)]
struct SchemaTotals {
    values: u64,
    text_bytes: u64,
    patterns: usize,
}

impl SchemaTotals {
    /// Parses a schema and adds it, if all are small enough together.
    fn add(&mut self, text: &str) -> Result<(Value, SchemaSize), String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        let size = schema_size(&schema)?;
        self.values = self.values.saturating_add(size.values);
        self.text_bytes = self.text_bytes.saturating_add(size.text_bytes);
        self.patterns += patterns_of(&schema).len();
        if self.values > MAX_SCHEMA_VALUES {
            return Err(format!(
                "up to this member, the schemas of the component have {} values together, with their references \
                 replaced; at most {MAX_SCHEMA_VALUES} are allowed (a regular expression counts as {PATTERN_VALUES})",
                self.values
            ));
        }
        if self.text_bytes > MAX_SCHEMA_TEXT_BYTES {
            return Err(format!(
                "up to this member, the schemas of the component have {} bytes of texts and paths together, with \
                 their references replaced; at most {MAX_SCHEMA_TEXT_BYTES} are allowed",
                self.text_bytes
            ));
        }
        if self.patterns > MAX_PATTERNS {
            return Err(format!(
                "up to this member, the schemas of the component have {} regular expressions together; at most \
                 {MAX_PATTERNS} are allowed",
                self.patterns
            ));
        }
        Ok((schema, size))
    }

    /// Returns what each regular expression may take when it is compiled.
    fn bytes_per_pattern(&self) -> usize {
        (MAX_PATTERN_BYTES_PER_COMPONENT / self.patterns.max(1)).min(MAX_PATTERN_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Compiles this schema for members `m0`, `m1` and so on.
    fn compile(count: usize, schema: impl Fn(usize) -> Value) -> Result<usize, String> {
        let names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
        let schemas: Vec<String> = (0..count).map(|number| schema(number).to_string()).collect();
        let members = names.iter().zip(&schemas).map(|(name, schema)| (name.as_str(), schema.as_str()));
        compile_schemas(members).map(|schemas| schemas.len())
    }

    #[test]
    fn schemas_of_a_component_share_one_budget() {
        let values = |_: usize| json!({"enum": (0..40_000).collect::<Vec<_>>()});
        assert_eq!(compile(2, values), Ok(2));
        let error = compile(3, values).expect_err("refused");
        assert!(error.starts_with("'m2': up to this member") && error.contains("at most 100000"), "{error}");
        let pattern = |number: usize| json!({"pattern": format!("^[ab]*c{number}$")});
        let patterns = |_: usize| json!({"allOf": (0..90).map(pattern).collect::<Vec<_>>()});
        assert_eq!(compile(2, patterns), Ok(2));
        let error = compile(3, patterns).expect_err("refused");
        assert!(error.starts_with("'m2': ") && error.contains("270 regular expressions"), "{error}");
        let long =
            |_: usize| json!({"properties": {"k".repeat(10_000): {"enum": (0..4_000).collect::<Vec<_>>()}}});
        assert_eq!(compile(1, long), Ok(1));
        let error = compile(2, long).expect_err("refused");
        assert!(error.starts_with("'m1': ") && error.contains("bytes of texts and paths"), "{error}");
    }

    #[test]
    fn patterns_of_a_component_share_their_compiled_size() {
        let large = |number: usize| json!({"pattern": format!("^(a|b){{1,1000}}c{number}$")});
        assert_eq!(compile(1, large), Ok(1));
        let error = compile(250, large).expect_err("refused");
        assert!(error.starts_with("'m0': ") && error.contains("may take 67108 bytes"), "{error}");
        assert_eq!(compile(250, |number| json!({"pattern": format!("^[a-z]+{number}$")})), Ok(250));
    }
}
