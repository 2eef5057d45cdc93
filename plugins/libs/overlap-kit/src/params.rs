//! Parameters that are whole numbers, or numbers within bounds.

use gage_sdk::PluginError;
use gage_text_kit::Params;
use std::ops::RangeInclusive;

/// A parameter that is a whole number within bounds.
///
/// # Errors
/// `invalid-config` for any other value.
pub fn whole(
    params: &Params,
    name: &str,
    bounds: RangeInclusive<u8>,
    default: u8,
) -> Result<u8, PluginError> {
    let Some(number) = params.number(name)? else { return Ok(default) };
    bounds.clone().find(|&whole| f64::from(whole) == number).ok_or_else(|| {
        let (first, last) = bounds.into_inner();
        refuse(name, &format!("must be a whole number from {first} to {last}, not {number}"))
    })
}

/// A parameter that is a number within bounds.
///
/// # Errors
/// `invalid-config` for any other value, also for NaN.
pub fn number_within(
    params: &Params,
    name: &str,
    bounds: RangeInclusive<f64>,
) -> Result<Option<f64>, PluginError> {
    match params.number(name)? {
        Some(number) if !bounds.contains(&number) => {
            let (first, last) = bounds.into_inner();
            Err(refuse(name, &format!("must be a number from {first} to {last}, not {number}")))
        }
        number => Ok(number),
    }
}

fn refuse(name: &str, problem: &str) -> PluginError {
    PluginError::invalid_config(format!("params: '{name}' {problem}")).at(format!("/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn only_what_is_allowed_is_read() {
        let params = Params::new(json!({ "whole": 3, "part": 2.5, "nan": "nan", "big": "1e400" }));
        let Ok(params) = params else { panic!("an object is accepted") };
        assert_eq!(whole(&params, "whole", 1..=3, 2), Ok(3));
        assert_eq!(whole(&params, "absent", 1..=3, 2), Ok(2));
        assert!(whole(&params, "whole", 1..=2, 2).is_err());
        assert!(whole(&params, "part", 1..=4, 2).is_err());
        assert_eq!(number_within(&params, "part", 0.0..=3.0), Ok(Some(2.5)));
        assert_eq!(number_within(&params, "absent", 0.0..=3.0), Ok(None));
        for name in ["nan", "big", "whole"] {
            assert!(number_within(&params, name, 0.0..=1.0).is_err(), "{name}");
        }
    }
}
