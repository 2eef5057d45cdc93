//! Differences between the results of two components for the same items.

use super::observe::CaseRun;
use super::text_of;
use crate::cases::Case;
use gage_plugin::{AnyComponent, World};
use serde_json::{Value, json};

/// Maximum number of items whose differences are kept: those with the largest ones.
const MAX_KEPT_ITEMS: usize = 1_000;

/// Number of items in a call.
const ITEMS_IN_CALL: usize = 256;

/// Parts of a score card that are compared. The others only explain it.
const COMPARED: [&str; 4] = ["primary_score", "pass", "sub_scores", "error_tags"];

/// An item whose results differ.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ItemDifference {
    /// Name of the item.
    pub item: String,
    /// Result of the first component: the compared parts of a card, an answer, or an error.
    pub before: Value,
    /// Result of the second component.
    pub after: Value,
    /// The second primary score minus the first. `None` if one of them is missing.
    pub difference: Option<f64>,
}

impl ItemDifference {
    /// Returns the size, by which the largest are found. A result without a score is the largest.
    fn size(&self) -> f64 {
        match self.difference {
            Some(difference) => difference.abs(),
            None => f64::INFINITY,
        }
    }
}

/// Comparison of a member with its parameters.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MemberComparison {
    /// The member. `None` for the only one.
    pub member: Option<String>,
    /// The parameters.
    pub params: Value,
    /// Reason for which a component rejected the member or its parameters.
    pub problem: Option<String>,
    /// Number of compared items.
    pub items: u64,
    /// Number of items whose results differ.
    pub changed: u64,
    /// Number of items that only the first component could not score.
    pub repaired: u64,
    /// Number of items that only the second component could not score.
    pub broken: u64,
    /// Number of items with a primary score from both components.
    pub scored: u64,
    /// Mean of the second primary score minus the first, over these items.
    pub mean_difference: Option<f64>,
    /// The items with the largest differences, the largest first.
    pub largest: Vec<ItemDifference>,
}

/// Compares the results of two components, item by item.
pub struct ScoreComparison<'c> {
    before: &'c AnyComponent,
    after: &'c AnyComponent,
    members: Vec<ComparedMember>,
}

/// A member that is compared, with the sum of its differences.
struct ComparedMember {
    runs: Option<(CaseRun, CaseRun)>,
    sum: f64,
    found: MemberComparison,
}

impl<'c> ScoreComparison<'c> {
    /// Creates a comparison without items. `None` if items of this kind cannot be compared, or the kinds differ.
    pub fn new(before: &'c AnyComponent, after: &'c AnyComponent) -> Option<ScoreComparison<'c>> {
        let is_compared = matches!(before.world(), World::Metric | World::Extractor);
        let is_same_kind = before.world() == after.world();
        (is_compared && is_same_kind).then(|| ScoreComparison { before, after, members: Vec::new() })
    }

    /// Scores items with both components. Expectations of the cases are ignored.
    pub fn add(&mut self, cases: &[Case]) {
        let mut groups: Vec<(usize, Vec<&Case>)> = Vec::new();
        for case in cases {
            let place = self.place_of(case.member.as_deref(), &case.params);
            match groups.iter_mut().find(|(known, _)| *known == place) {
                Some((_, group)) => group.push(case),
                None => groups.push((place, vec![case])),
            }
        }
        for (place, group) in groups {
            group.chunks(ITEMS_IN_CALL).for_each(|chunk| self.members[place].add(chunk));
        }
    }

    /// Returns the results, by members in the order of their first items.
    pub fn finish(self) -> Vec<MemberComparison> {
        self.members.into_iter().map(ComparedMember::finish).collect()
    }

    /// Returns the place of a member with its parameters.
    fn place_of(&mut self, member: Option<&str>, params: &Value) -> usize {
        let is_same =
            |known: &ComparedMember| known.found.member.as_deref() == member && known.found.params == *params;
        if let Some(place) = self.members.iter().position(is_same) {
            return place;
        }
        self.members.push(ComparedMember::new(self.before, self.after, member, params));
        self.members.len() - 1
    }
}

impl ComparedMember {
    fn new(
        before: &AnyComponent,
        after: &AnyComponent,
        member: Option<&str>,
        params: &Value,
    ) -> ComparedMember {
        let configured = |component: &AnyComponent, which: &str| {
            let run = CaseRun::new(component, member, params.clone());
            run.map_err(|problems| format!("the {which} component: {}", text_of(&problems)))
        };
        let runs = configured(before, "first").and_then(|old| Ok((old, configured(after, "second")?)));
        let (runs, problem) = match runs {
            Ok(runs) => (Some(runs), None),
            Err(problem) => (None, Some(problem)),
        };
        let found = MemberComparison {
            member: member.map(str::to_owned),
            params: params.clone(),
            problem,
            items: 0,
            changed: 0,
            repaired: 0,
            broken: 0,
            scored: 0,
            mean_difference: None,
            largest: Vec::new(),
        };
        ComparedMember { runs, sum: 0.0, found }
    }

    fn add(&mut self, cases: &[&Case]) {
        let Some((before, after)) = &self.runs else { return };
        let (before, after) = (before.observe(cases), after.observe(cases));
        for ((case, before), after) in cases.iter().zip(before).zip(after) {
            self.add_result(&case.name, &before, &after);
        }
    }

    fn add_result(&mut self, item: &str, before: &Value, after: &Value) {
        let found = &mut self.found;
        found.items += 1;
        let score = |result: &Value| result["primary_score"].as_f64();
        let difference = score(after).zip(score(before)).map(|(after, before)| after - before);
        if let Some(difference) = difference {
            found.scored += 1;
            self.sum += difference;
        }
        let is_error = |result: &Value| !result["error"].is_null();
        match (is_error(before), is_error(after)) {
            (true, false) => found.repaired += 1,
            (false, true) => found.broken += 1,
            // The texts of errors may differ.
            (true, true) if before["error"] == after["error"] => return,
            _ => {}
        }
        let (before, after) = (compared(before), compared(after));
        if before == after {
            return;
        }
        found.changed += 1;
        found.largest.push(ItemDifference { item: item.to_owned(), before, after, difference });
        if found.largest.len() >= 2 * MAX_KEPT_ITEMS {
            self.keep_largest();
        }
    }

    /// Sorts the differences, the largest first, and drops the others.
    fn keep_largest(&mut self) {
        // The order of items of the same size stays.
        self.found.largest.sort_by(|one, other| other.size().total_cmp(&one.size()));
        self.found.largest.truncate(MAX_KEPT_ITEMS);
    }

    fn finish(mut self) -> MemberComparison {
        self.keep_largest();
        let scored = self.found.scored;
        self.found.mean_difference = (scored > 0).then(|| self.sum / scored as f64);
        self.found
    }
}

/// Returns the parts of a result that are compared.
fn compared(result: &Value) -> Value {
    if !result["error"].is_null() {
        return json!({"error": result["error"], "message": result["message"]});
    }
    match result.get("result") {
        Some(answer) => answer.clone(),
        None => Value::Object(COMPARED.iter().map(|key| ((*key).to_owned(), result[*key].clone())).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> ComparedMember {
        let found = MemberComparison {
            member: None,
            params: Value::Null,
            problem: None,
            items: 0,
            changed: 0,
            repaired: 0,
            broken: 0,
            scored: 0,
            mean_difference: None,
            largest: Vec::new(),
        };
        ComparedMember { runs: None, sum: 0.0, found }
    }

    fn card(score: f64) -> Value {
        json!({"primary_score": score, "pass": null, "sub_scores": {}, "error_tags": [], "explain": "x"})
    }

    #[test]
    fn results_are_counted_and_the_largest_differences_come_first() {
        let mut member = member();
        let error = |kind: &str, message: &str| json!({"error": kind, "message": message});
        let explained =
            json!({"primary_score": 1.0, "pass": null, "sub_scores": {}, "error_tags": [], "explain": "y"});
        for (item, before, after) in [
            ("same", card(1.0), card(1.0)),
            ("explained", card(1.0), explained),
            ("small", card(0.5), card(0.25)),
            ("large", card(0.0), card(1.0)),
            ("broken", card(1.0), error("trap", "a")),
            ("repaired", error("trap", "a"), card(1.0)),
            ("both", error("trap", "a"), error("trap", "b")),
            ("other", error("trap", "a"), error("budget", "b")),
        ] {
            member.add_result(item, &before, &after);
        }
        let found = member.finish();
        let counts = (found.items, found.changed, found.repaired, found.broken, found.scored);
        assert_eq!(counts, (8, 5, 1, 1, 4));
        assert_eq!(found.mean_difference, Some(0.75 / 4.0));
        let order: Vec<&str> = found.largest.iter().map(|one| one.item.as_str()).collect();
        assert_eq!(order, ["broken", "repaired", "other", "large", "small"]);
        let small = found.largest.last().map(|one| (one.difference, &one.after));
        let expected = json!({"primary_score": 0.25, "pass": null, "sub_scores": {}, "error_tags": []});
        assert_eq!(small, Some((Some(-0.25), &expected)));
    }

    #[test]
    fn answers_of_extractors_are_compared_as_a_whole() {
        let mut member = member();
        let answer = |text: &str| json!({"result": {"kind": "text", "value": {"value": text}}});
        member.add_result("a", &answer("x"), &answer("x"));
        member.add_result("b", &answer("x"), &json!({"result": null}));
        let found = member.finish();
        assert_eq!((found.items, found.changed, found.mean_difference), (2, 1, None));
        assert_eq!(found.largest.first().map(|one| one.after.clone()), Some(Value::Null));
    }

    #[test]
    fn only_the_largest_differences_are_kept() {
        let mut member = member();
        for number in 0..5_000 {
            member.add_result(&number.to_string(), &card(0.0), &card(f64::from(number)));
        }
        let found = member.finish();
        assert_eq!((found.changed, found.largest.len()), (4_999, MAX_KEPT_ITEMS));
        assert_eq!(found.largest.first().map(|one| one.item.as_str()), Some("4999"));
    }
}
