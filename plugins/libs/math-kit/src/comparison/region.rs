//! Sets of real numbers: unions of intervals and points.

use crate::answer::Bracket;
use crate::arithmetic::{Order, order};
use crate::expression::{Expression, NamedNumber};
use crate::limits::Budget;

/// Maximum number of intervals of a set.
const MAX_INTERVALS: usize = 64;

/// One end of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Position of the end.
    pub at: Expression,
    /// True if the end itself belongs to the interval.
    pub is_closed: bool,
}

/// An interval; a point if both ends are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: End,
    /// The upper end.
    pub high: End,
}

/// A union of intervals: sorted, and with gaps between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// The letter whose values they are, if it is known.
    pub letter: Option<String>,
}

/// Compares two ends, which may be infinite.
fn compare(left: &Expression, right: &Expression, budget: &Budget) -> Option<Order> {
    let rank = |end: &Expression| end.infinity().map_or(0, |positive| if positive { 1 } else { -1 });
    match (rank(left), rank(right)) {
        (0, 0) => order(left, right, budget),
        (left, right) => Some(left.cmp(&right)),
    }
}

fn infinite(positive: bool) -> Expression {
    let infinity = Expression::Named(NamedNumber::Infinity);
    if positive { infinity } else { Expression::negative(infinity) }
}

impl Region {
    /// Creates an interval, or an empty set if its ends are not in order. `None` if they cannot be compared.
    pub fn interval(low: End, high: End, budget: &Budget) -> Option<Region> {
        // An infinite end is never in the interval.
        let open = |end: End| End { is_closed: end.is_closed && end.at.infinity().is_none(), ..end };
        let interval = Interval { low: open(low), high: open(high) };
        let is_filled = match compare(&interval.low.at, &interval.high.at, budget)? {
            Order::Less => true,
            Order::Equal => interval.low.is_closed && interval.high.is_closed,
            Order::Greater => false,
        };
        Some(Region { intervals: if is_filled { vec![interval] } else { Vec::new() }, letter: None })
    }

    /// Creates an interval from its notation. `None` if it is empty, or if its ends cannot be compared.
    pub fn from_brackets(
        (open, low): (Bracket, Expression),
        (high, close): (Expression, Bracket),
        budget: &Budget,
    ) -> Option<Region> {
        let is_closed = |bracket: Bracket| bracket == Bracket::Square;
        let low = End { at: low, is_closed: is_closed(open) };
        let region = Region::interval(low, End { at: high, is_closed: is_closed(close) }, budget)?;
        (!region.intervals.is_empty()).then_some(region)
    }

    /// Creates the set of all real numbers.
    pub fn all() -> Region {
        let end = |positive: bool| End { at: infinite(positive), is_closed: false };
        Region { intervals: vec![Interval { low: end(false), high: end(true) }], letter: None }
    }

    /// Creates the numbers on one side of a number.
    pub fn half_line(at: Expression, is_closed: bool, is_above: bool, budget: &Budget) -> Option<Region> {
        let (end, infinity) = (End { at, is_closed }, End { at: infinite(is_above), is_closed: false });
        if is_above {
            Region::interval(end, infinity, budget)
        } else {
            Region::interval(infinity, end, budget)
        }
    }

    /// Creates a set of single points. `None` if they cannot be compared.
    pub fn points(points: Vec<Expression>, budget: &Budget) -> Option<Region> {
        let point = |at: Expression| {
            let end = End { at, is_closed: true };
            Interval { low: end.clone(), high: end }
        };
        Region::union_of(points.into_iter().map(point).collect(), budget)
    }

    /// Returns the union with another set.
    pub fn union(&self, other: &Region, budget: &Budget) -> Option<Region> {
        Region::union_of(self.intervals.iter().chain(&other.intervals).cloned().collect(), budget)
    }

    /// Sorts intervals, and joins those that touch or overlap.
    fn union_of(mut intervals: Vec<Interval>, budget: &Budget) -> Option<Region> {
        if intervals.len() > MAX_INTERVALS {
            return None;
        }
        // An insertion sort, since a comparison may fail.
        let mut sorted: Vec<Interval> = Vec::new();
        for interval in intervals.drain(..) {
            let mut at = 0;
            while let Some(before) = sorted.get(at)
                && starts_before(before, &interval, budget)?
            {
                at += 1;
            }
            sorted.insert(at, interval);
        }
        let mut joined: Vec<Interval> = Vec::new();
        for interval in sorted {
            let Some(last) = joined.last_mut() else {
                joined.push(interval);
                continue;
            };
            let touches = match compare(&interval.low.at, &last.high.at, budget)? {
                Order::Less => true,
                Order::Equal => interval.low.is_closed || last.high.is_closed,
                Order::Greater => false,
            };
            if !touches {
                joined.push(interval);
                continue;
            }
            match compare(&interval.high.at, &last.high.at, budget)? {
                Order::Greater => last.high = interval.high,
                Order::Equal => last.high.is_closed |= interval.high.is_closed,
                Order::Less => {}
            }
        }
        Some(Region { intervals: joined, letter: None })
    }

    /// Returns the intersection with another set.
    pub fn intersection(&self, other: &Region, budget: &Budget) -> Option<Region> {
        let mut common = Vec::new();
        for left in &self.intervals {
            for right in &other.intervals {
                let low = later(&left.low, &right.low, false, budget)?;
                let high = later(&left.high, &right.high, true, budget)?;
                common.extend(Region::interval(low, high, budget)?.intervals);
            }
        }
        Region::union_of(common, budget)
    }

    /// Returns the numbers that are not in the set.
    pub fn complement(&self, budget: &Budget) -> Option<Region> {
        let mut gaps = Vec::new();
        let mut low = End { at: infinite(false), is_closed: false };
        for interval in &self.intervals {
            let high = End { is_closed: !interval.low.is_closed, ..interval.low.clone() };
            gaps.extend(Region::interval(low, high, budget)?.intervals);
            low = End { is_closed: !interval.high.is_closed, ..interval.high.clone() };
        }
        let last = End { at: infinite(true), is_closed: false };
        gaps.extend(Region::interval(low, last, budget)?.intervals);
        Some(Region { intervals: gaps, letter: self.letter.clone() })
    }

    /// Returns whether two sets have the same numbers. `None` if that cannot be shown.
    pub fn same_as(&self, other: &Region, budget: &Budget) -> Option<bool> {
        if let (Some(left), Some(right)) = (&self.letter, &other.letter)
            && left != right
        {
            return Some(false);
        }
        if self.intervals.len() != other.intervals.len() {
            return Some(false);
        }
        for (left, right) in self.intervals.iter().zip(&other.intervals) {
            for (left, right) in [(&left.low, &right.low), (&left.high, &right.high)] {
                if left.is_closed != right.is_closed || compare(&left.at, &right.at, budget)? != Order::Equal
                {
                    return Some(false);
                }
            }
        }
        Some(true)
    }
}

/// Returns whether an interval begins before another one.
fn starts_before(left: &Interval, right: &Interval, budget: &Budget) -> Option<bool> {
    Some(match compare(&left.low.at, &right.low.at, budget)? {
        Order::Less => true,
        Order::Equal => left.low.is_closed || !right.low.is_closed,
        Order::Greater => false,
    })
}

/// Returns the upper of two lower ends, or the lower of two upper ends.
fn later(left: &End, right: &End, is_upper: bool, budget: &Budget) -> Option<End> {
    let order = compare(&left.at, &right.at, budget)?;
    let order = if is_upper { order.reverse() } else { order };
    Some(match order {
        Order::Greater => left.clone(),
        Order::Less => right.clone(),
        Order::Equal => End { is_closed: left.is_closed && right.is_closed, ..left.clone() },
    })
}
