//! Sampling of events that are too many to keep.

use std::str::FromStr;

/// Stages that may have a rate of their own.
const STAGES: [&str; 8] =
    ["preprocess", "support", "prompt", "inference", "embed", "judge", "extract", "scoring"];

/// Share of the samples' events that is kept, by stage. The choice of a sample depends only on its name, so it is the
/// same in every run. A sample that is kept at a low rate is kept at every higher one. Events of samples that fail
/// are always kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    rates: [f64; STAGES.len()],
}

impl Sampling {
    /// Keeps everything.
    pub const ALL: Sampling = Sampling { rates: [1.0; STAGES.len()] };

    /// Returns whether the events of a stage are kept for a sample. Always true for an unknown stage.
    pub fn keeps(&self, stage: &str, task_id: &str, sample_id: &str) -> bool {
        let rate = STAGES.iter().position(|known| *known == stage).map_or(1.0, |place| self.rates[place]);
        if rate >= 1.0 {
            return true;
        }
        // The upper 53 bits form a number between 0 and 1 that a float represents exactly.
        let part = (hash(&[task_id.as_bytes(), sample_id.as_bytes()]) >> 11) as f64 / (1_u64 << 53) as f64;
        part < rate
    }
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::ALL
    }
}

impl FromStr for Sampling {
    type Err = String;

    /// Reads `0.1`, or rates by stage: `inference=0.01,scoring=0.1`; a stage that is not named is kept.
    fn from_str(text: &str) -> Result<Sampling, String> {
        let mut sampling = Sampling::ALL;
        for part in text.split(',').map(str::trim) {
            let (stage, rate) =
                part.split_once('=').map_or((None, part), |(stage, rate)| (Some(stage.trim()), rate));
            let rate = match rate.trim().parse::<f64>() {
                Ok(rate) if (0.0..=1.0).contains(&rate) => rate,
                _ => return Err(format!("'{part}': a rate between 0 and 1 is needed")),
            };
            match stage {
                None => sampling.rates = [rate; STAGES.len()],
                Some(stage) => match STAGES.iter().position(|known| *known == stage) {
                    Some(place) => sampling.rates[place] = rate,
                    None => {
                        return Err(format!(
                            "there is no stage '{stage}'; expected one of: {}",
                            STAGES.join(", ")
                        ));
                    }
                },
            }
        }
        Ok(sampling)
    }
}

/// Returns FNV-1a of the parts, separated by a byte that no text contains, mixed so that all bits count.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.iter().copied().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_higher_rate_keeps_what_a_lower_one_does(
            low in 0.0..=1.0_f64, more in 0.0..=1.0_f64, task in ".{0,8}", sample in ".{0,8}"
        ) {
            let high = (low + more).min(1.0);
            let keeps = |rate: f64| rate.to_string().parse::<Sampling>().unwrap().keeps("scoring", &task, &sample);
            prop_assert!(!keeps(low) || keeps(high));
            prop_assert!(keeps(1.0) && !keeps(0.0));
        }
    }

    #[test]
    fn a_rate_is_about_the_part_that_is_kept() {
        let sampling: Sampling = "0.2".parse().unwrap();
        let kept =
            (0..10_000).filter(|number| sampling.keeps("inference", "t", &format!("q{number}"))).count();
        assert!((1_800..2_200).contains(&kept), "{kept}");
    }

    #[test]
    fn stages_have_rates_of_their_own() {
        let sampling: Sampling = "0, scoring=1".parse().unwrap();
        assert!(sampling.keeps("scoring", "t", "s") && !sampling.keeps("inference", "t", "s"));
        for wrong in ["", "2", "-1", "nan", "inference=", "judging=1", "inference=x"] {
            assert!(wrong.parse::<Sampling>().is_err(), "{wrong}");
        }
    }
}
