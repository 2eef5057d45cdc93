//! Figures of a table of counts.

use gage_sdk::aggregator::Figure;
use std::collections::{BTreeMap, BTreeSet};

/// Number of times that a category is right, predicted and expected.
#[derive(Clone, Copy, Default)]
struct Count {
    right: u64,
    predicted: u64,
    expected: u64,
}

impl Count {
    fn precision(self) -> f64 {
        share(self.right, self.predicted)
    }

    fn recall(self) -> f64 {
        share(self.right, self.expected)
    }

    fn f1(self) -> f64 {
        share(2 * self.right, self.predicted + self.expected)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Counts of each category, in order of text.
pub(super) struct Table<'state> {
    categories: BTreeMap<&'state str, Count>,
    rows: u64,
}

impl<'state> Table<'state> {
    /// Sums up the counts by reference and prediction.
    pub(super) fn new(
        counts: &'state BTreeMap<String, BTreeMap<String, u64>>,
        categories: &'state BTreeSet<String>,
    ) -> Table<'state> {
        let empty = categories.iter().map(|name| (name.as_str(), Count::default()));
        let mut table = Table { categories: empty.collect(), rows: 0 };
        for (reference, predictions) in counts {
            for (prediction, count) in predictions {
                table.rows += count;
                let right = if reference == prediction { *count } else { 0 };
                let expected = table.categories.entry(reference).or_default();
                expected.expected += count;
                expected.right += right;
                if let Some(predicted) = table.categories.get_mut(prediction.as_str()) {
                    predicted.predicted += count;
                }
            }
        }
        table
    }

    /// Returns all figures; none without rows.
    pub(super) fn figures(&self, per_category: usize) -> Vec<Figure> {
        if self.rows == 0 {
            return Vec::new();
        }
        let sum = |part: fn(&Count) -> u64| self.categories.values().map(part).sum::<u64>();
        let (right, predicted) = (sum(|count| count.right), sum(|count| count.predicted));
        let mean = |part: fn(Count) -> f64| {
            self.categories.values().map(|count| part(*count)).sum::<f64>() / self.categories.len() as f64
        };
        let weighted = self.categories.values().map(|count| count.expected as f64 * count.f1()).sum::<f64>();
        let mut figures: Vec<Figure> = [
            ("accuracy", share(right, self.rows)),
            ("macro_precision", mean(Count::precision)),
            ("macro_recall", mean(Count::recall)),
            ("macro_f1", mean(Count::f1)),
            ("weighted_f1", weighted / self.rows as f64),
            ("micro_f1", share(2 * right, predicted + self.rows)),
            ("categories", self.categories.len() as f64),
        ]
        .map(|(name, value)| Figure::new(name, value, self.rows))
        .into();
        figures.extend(self.kappa(right).map(|kappa| Figure::new("cohen_kappa", kappa, self.rows)));
        figures.extend(self.of_categories(per_category));
        figures
    }

    /// Returns (observed − chance) / (1 − chance), where chance is the sum over categories of the product of both
    /// shares.
    fn kappa(&self, right: u64) -> Option<f64> {
        let rows = self.rows as f64;
        // No row has "no prediction" as its reference, so it adds nothing to chance.
        let chance = self.categories.values().map(|count| count.predicted as f64 * count.expected as f64);
        let chance = chance.sum::<f64>() / (rows * rows);
        (chance < 1.0).then(|| (right as f64 / rows - chance) / (1.0 - chance))
    }

    fn of_categories(&self, most: usize) -> Vec<Figure> {
        let mut shown: Vec<(&str, Count)> =
            self.categories.iter().map(|(name, count)| (*name, *count)).collect();
        // A stable sort keeps ties in order of text.
        shown.sort_by_key(|(_, count)| std::cmp::Reverse(count.expected));
        shown.truncate(most);
        let mut taken = BTreeSet::new();
        let mut figures = Vec::with_capacity(3 * shown.len());
        for (name, count) in shown {
            let plain = plain_name(name);
            let numbered = (2..).map(|number| format!("{plain}:{number}"));
            let Some(name) =
                std::iter::once(plain.clone()).chain(numbered).find(|name| taken.insert(name.clone()))
            else {
                continue;
            };
            for (figure, value) in
                [("precision", count.precision()), ("recall", count.recall()), ("f1", count.f1())]
            {
                figures.push(Figure::new(&format!("{figure}: {name}"), value, count.expected));
            }
        }
        figures
    }
}

/// Returns a name that the host accepts for a figure.
fn plain_name(name: &str) -> String {
    const MAX_LABEL_CHARS: usize = 40;
    let is_plain = |character: char| character.is_alphanumeric() || "_-.@/".contains(character);
    let characters = name.chars().take(MAX_LABEL_CHARS);
    characters.map(|character| if is_plain(character) { character } else { '_' }).collect()
}
