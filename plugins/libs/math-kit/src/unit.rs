//! Units of measurement, money and counted things.

use crate::unit_table::{UnitEntry, entry};
use dashu_ratio::RBig;

/// A unit: a factor, and the powers of basic units. A counted thing such as `students` is a basic unit of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Size in the basic units.
    pub scale: RBig,
    /// Basic units with their powers, sorted by name, without powers of zero.
    powers: Vec<(String, i64)>,
}

/// Maximum power of a unit.
const MAX_POWER: i64 = 12;

impl Unit {
    /// Creates the unit of a plain number.
    pub fn one() -> Unit {
        Unit { scale: RBig::ONE, powers: Vec::new() }
    }

    /// Returns the unit that a word names; an unknown word is the name of a counted thing.
    pub fn named(word: &str) -> Unit {
        match entry(word) {
            Some(UnitEntry { numerator, denominator, powers, .. }) => Unit {
                scale: RBig::from_parts((*numerator).into(), (*denominator).into()),
                powers: powers.iter().map(|(name, power)| ((*name).to_owned(), *power)).collect(),
            },
            None => Unit { scale: RBig::ONE, powers: vec![(singular(word), 1)] },
        }
    }

    /// Returns whether the unit is only a factor, as `percent` and `dozen` are.
    pub fn is_factor(&self) -> bool {
        self.powers.is_empty()
    }

    /// Returns whether two units measure the same quantity.
    pub fn measures_same(&self, other: &Unit) -> bool {
        self.powers == other.powers
    }

    /// Returns whether the unit is one of angle.
    pub fn is_angle(&self, name: &str) -> bool {
        matches!(self.powers.as_slice(), [(found, 1)] if found == name)
    }

    /// Returns a power of the unit. `None` if it is too high.
    pub fn power(&self, exponent: i64) -> Option<Unit> {
        let size = isize::try_from(exponent).ok().filter(|_| exponent.abs() <= MAX_POWER)?;
        let powers = self.powers.iter().map(|(name, power)| (name.clone(), power * exponent));
        let powers = powers.filter(|(_, power)| *power != 0).collect();
        Some(Unit { scale: self.scale.pow(size), powers })
    }

    /// Returns the product of two units.
    pub fn times(&self, other: &Unit) -> Unit {
        let mut powers = self.powers.clone();
        for (name, power) in &other.powers {
            match powers.iter_mut().find(|(found, _)| found == name) {
                Some((_, found)) => *found += power,
                None => powers.push((name.clone(), *power)),
            }
        }
        powers.retain(|(_, power)| *power != 0);
        powers.sort();
        Unit { scale: &self.scale * &other.scale, powers }
    }

    /// Describes the unit in its basic units.
    pub fn shown(&self) -> String {
        let mut shown: Vec<String> = Vec::new();
        if self.scale != RBig::ONE {
            shown.push(self.scale.to_string());
        }
        shown.extend(self.powers.iter().map(|(name, power)| match power {
            1 => name.clone(),
            _ => format!("{name}^{power}"),
        }));
        shown.join(" ")
    }
}

/// Returns the singular of a noun, as far as its ending shows it.
fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_basic_ones() {
        let speed = Unit::named("km").times(&Unit::named("hours").power(-1).unwrap());
        let other = Unit::named("m").times(&Unit::named("s").power(-1).unwrap());
        assert!(speed.measures_same(&other));
        assert_eq!(speed.scale, RBig::from_parts(5.into(), 18_u8.into()));
        assert!(Unit::named("dozen").is_factor());
        assert!(Unit::named("apples").measures_same(&Unit::named("apple")));
        assert!(!Unit::named("apples").measures_same(&Unit::named("pears")));
        assert!(Unit::named("m").power(100).is_none());
    }
}
