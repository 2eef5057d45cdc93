//! The parameters of `canonical_answer`.

use crate::answer_type::AnswerType;
use crate::canonical::member;
use crate::keywords::Keywords;
use gage_number_kit::tolerance_parameter;
use gage_reasoning_kit::Normalizer;
use gage_sdk::metric::MetricSpec;
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::params::{number_schema, optional_flag_schema};
use gage_text_kit::references::any_reference_schema;
use gage_text_kit::unit::Unit;

/// Form in which texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without case, with single spaces, with composed characters.
    Basic,
    /// Unchanged, except for white space at the ends.
    None,
}

const FORMS: [(&str, Form); 2] = [("basic", Form::Basic), ("none", Form::None)];

impl Form {
    /// Returns the normalizer for this form.
    pub(crate) fn normalizer(self) -> Normalizer {
        match self {
            Form::Basic => Normalizer::loose(),
            Form::None => Normalizer::plain(),
        }
    }
}

/// Parameters. If one is not given, the ground truth decides.
pub(crate) struct Settings {
    pub(crate) answer_type: Option<AnswerType>,
    pub(crate) tolerance_abs: Option<f64>,
    pub(crate) tolerance_rel: Option<f64>,
    /// Unit of a ground truth that names none.
    pub(crate) unit: Option<Unit>,
    pub(crate) ordered: Option<bool>,
    pub(crate) unique: Option<bool>,
    normalize: Option<Form>,
    /// Keywords in both forms.
    keywords: Option<[Keywords; 2]>,
    threshold: Option<f64>,
    /// True if a list as ground truth means several correct answers.
    pub(crate) any_reference: bool,
}

impl Settings {
    /// Adds the parameters to a specification.
    pub(crate) fn declared(spec: MetricSpec) -> MetricSpec {
        let (any_reference, any_reference_schema) = any_reference_schema();
        spec.params(json!({
            any_reference: any_reference_schema,
            "answer_type": {
                "enum": ["choice", "number", "list", "text", "reasoning", null], "default": null,
                "description": "Type of the answers; by default the type of the ground truth, or of the \
                 extracted answer",
            },
            "tolerance_abs": number_schema("Largest accepted error of a number, in its unit"),
            "tolerance_rel": number_schema("Largest accepted error, relative to the absolute value of the \
             ground truth"),
            "unit": { "type": ["string", "null"], "description": "Unit of a number without one" },
            "ordered": optional_flag_schema("Compare the order of lists; default false"),
            "unique": optional_flag_schema("Count equal items of a list once; default true"),
            "normalize": {
                "enum": ["basic", "none", null], "default": null,
                "description": "`basic` (default) ignores case, repeated white space and Unicode \
                 composition; `none` trims white space",
            },
            "keywords": {
                "type": ["array", "null"],
                "items": { "type": ["string", "array"], "items": { "type": "string" } },
                "description": "Keywords that a text must mention; an inner list gives alternatives for one \
                 keyword",
            },
            "threshold": {
                "type": ["number", "string", "null"], "default": null,
                "description": "Smallest score that passes, above 0; by default only a fully correct answer \
                 passes",
            },
        }))
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// `invalid-config` for an unusable parameter.
    pub(crate) fn new(params: &Params) -> Result<Settings, PluginError> {
        let flag = |name: &str| params.get(name).map(|_| params.flag(name, false)).transpose();
        let answer_types = AnswerType::NAMES.map(|(name, answer_type)| (name, Some(answer_type)));
        let forms = FORMS.map(|(name, form)| (name, Some(form)));
        let threshold = params.within("threshold", 0.0..=1.0)?;
        if threshold == Some(0.0) {
            let message = "params: 'threshold' must be above 0, or every answer would pass";
            return Err(PluginError::invalid_config(message).at("/threshold"));
        }
        // A negative tolerance lets nothing pass, and an infinite one everything.
        let tolerance = |name: &str| match tolerance_parameter(params, name)? {
            Some(tolerance) if !tolerance.is_finite() || tolerance < 0.0 => {
                let message = format!("params: '{name}' must be a finite number from 0 up, not {tolerance}");
                Err(PluginError::invalid_config(message).at(format!("/{name}")))
            }
            tolerance => Ok(tolerance),
        };
        Ok(Settings {
            answer_type: params.one_of("answer_type", &answer_types, None)?,
            tolerance_abs: tolerance("tolerance_abs")?,
            tolerance_rel: tolerance("tolerance_rel")?,
            unit: params.text("unit")?.and_then(Unit::parse),
            ordered: flag("ordered")?,
            unique: flag("unique")?,
            normalize: params.one_of("normalize", &forms, None)?,
            keywords: params.get("keywords").map(keywords).transpose()?,
            threshold,
            any_reference: params.flag("any_reference", false)?,
        })
    }

    /// Returns the form in which the texts of an item are compared.
    ///
    /// # Errors
    /// `invalid-input` if the ground truth names an unknown form.
    pub(crate) fn form(&self, reference: &Value) -> Result<Form, PluginError> {
        let named = match (self.normalize, member(reference, "normalize")) {
            (Some(form), _) => return Ok(form),
            (None, Value::Null) => return Ok(Form::Basic),
            (None, named) => named,
        };
        let found = named.as_str().and_then(|name| FORMS.iter().find(|(form, _)| *form == name));
        found.map(|(_, form)| *form).ok_or_else(|| {
            PluginError::invalid_input(format!("'normalize' must be basic or none, not {named}"))
                .at("/normalize")
        })
    }

    /// Returns the keywords that the suite names.
    pub(crate) fn keywords(&self, form: Form) -> Option<&Keywords> {
        let [basic, none] = self.keywords.as_ref()?;
        Some(match form {
            Form::Basic => basic,
            Form::None => none,
        })
    }

    /// Returns whether a score is good enough. Without a threshold, only a faultless answer is.
    pub(crate) fn passes(&self, score: f64, is_faultless: bool) -> bool {
        self.threshold.map_or(is_faultless, |threshold| score >= threshold)
    }
}

fn keywords(json: &Value) -> Result<[Keywords; 2], PluginError> {
    let read = |form: Form| {
        let refuse = |problem| PluginError::invalid_config(format!("params: {problem}")).at("/keywords");
        let keywords = Keywords::read(json, form.normalizer()).map_err(refuse)?;
        let none = || refuse("'keywords' must not be empty; leave it out instead".to_owned());
        keywords.ok_or_else(none)
    };
    Ok([read(Form::Basic)?, read(Form::None)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(params: Value) -> Result<Settings, PluginError> {
        Params::new(params).and_then(|params| Settings::new(&params))
    }

    #[test]
    fn what_is_not_given_is_open() {
        let Ok(open) = settings(json!({ "ordered": null })) else { panic!("nothing is needed") };
        assert_eq!((open.ordered, open.tolerance_abs), (None, None));
        assert_eq!(open.form(&json!({ "normalize": "none" })), Ok(Form::None));
        assert_eq!(open.form(&json!("x")), Ok(Form::Basic));
        assert!(open.form(&json!({ "normalize": "full" })).is_err());
        assert!(open.passes(0.1, true) && !open.passes(1.0, false));
        let Ok(given) = settings(json!({ "ordered": 1, "normalize": "basic", "threshold": "0.5" })) else {
            panic!("they are accepted")
        };
        assert_eq!(
            (given.ordered, given.form(&json!({ "normalize": "none" }))),
            (Some(true), Ok(Form::Basic))
        );
        assert!(given.passes(0.5, false) && !given.passes(0.4, true));
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({ "answer_type": "essay" }),
            json!({ "answer_type": 1 }),
            json!({ "tolerance_abs": "wide" }),
            json!({ "tolerance_rel": "nan" }),
            json!({ "tolerance_rel": -0.1 }),
            json!({ "tolerance_abs": "1e400" }),
            json!({ "unit": 5 }),
            json!({ "ordered": "yes" }),
            json!({ "unique": 2 }),
            json!({ "normalize": "full" }),
            json!({ "keywords": "a" }),
            json!({ "keywords": [] }),
            json!({ "keywords": [" "] }),
            json!({ "keywords": [1.5, {}] }),
            json!({ "keywords": vec!["a"; 65] }),
            json!({ "threshold": 0 }),
            json!({ "threshold": 1.1 }),
            json!({ "threshold": "nan" }),
            json!([]),
        ] {
            assert!(settings(params.clone()).is_err(), "{params}");
        }
    }
}
