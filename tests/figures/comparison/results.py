"""Rows of the tables: how often two programs agree, and which differences are expected."""

import math
from collections import Counter
from dataclasses import dataclass, field

TOLERANCE = 1e-9
MAX_SHOWN = 5


@dataclass
class Agreement:
    """A row of the table of figures."""

    metric: str
    reference: str
    same: int
    total: int
    # Number of expected differences by their reason.
    known: Counter = field(default_factory=Counter)
    # Descriptions of the others.
    unexpected: list = field(default_factory=list)

    def line(self):
        """Returns the row in Markdown."""
        known = sum(self.known.values())
        return f"| {self.metric} | {self.reference} | {self.same:,}/{self.total:,} | {known or ''} |"


@dataclass
class Reading:
    """A row of a table of a corpus: a method, and the labels that it finds or misses."""

    method: str
    right: int
    # Numbers of both kinds of mistakes.
    first: int
    second: int
    # Least number of right answers; none for other programs.
    least: int | None = None

    def line(self):
        """Returns the row in Markdown."""
        return f"| {self.method} | {self.right} | {self.first} | {self.second} |"


def is_close(ours, theirs):
    """Returns whether two values are equal, or both missing. Numbers may differ by rounding."""
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def agreement(metric, reference, ours, theirs, items=None, known=None):
    """Compares values one by one. `known` gives the reason of an expected difference, or none, from
    the item and our value."""
    ours, theirs = list(ours), list(theirs)
    items = list(items) if items is not None else list(range(len(ours)))
    row = Agreement(metric, reference, 0, len(ours))
    for left, right, item in zip(ours, theirs, items, strict=True):
        if is_close(left, right):
            row.same += 1
            continue
        reason = known(item, left) if known is not None else None
        if reason is not None:
            row.known[reason] += 1
        else:
            row.unexpected.append(f"{item!r:.300}: {left} here, {right} there")
    return row


def several(metric, reference, ours, theirs):
    """Compares figures by their names."""
    return agreement(metric, reference, ours.values(), [theirs[name] for name in ours], ours)


def print_agreements(title, rows):
    """Prints a table of figures, and the reasons of the expected differences."""
    print(f"### {title}\n\n| figure | reference | agreement | known to differ |\n| --- | --- | ---: | ---: |")
    for row in rows:
        print(row.line())
    print()
    for row in rows:
        for reason, count in row.known.items():
            print(f"- {row.metric}, {row.reference}: {count} differ. {reason}")
    if any(row.known for row in rows):
        print()


def print_readings(title, columns, rows):
    """Prints a table of a corpus."""
    print(f"### {title}\n\n| method | {' | '.join(columns)} |\n| --- | ---: | ---: | ---: |")
    for row in rows:
        print(row.line())
    print()


def print_rules(title, rules):
    """Prints how many answers of each rule are right."""
    print(f"### {title}\n\n| rule | answers | right | another number | misread |\n| --- | ---: | ---: | ---: | ---: |")
    for rule, counts in rules:
        print(f"| {rule} | {' | '.join(map(str, counts))} |")
    print()


def failures(agreements, readings):
    """Returns a description of each row that is not as it should be."""
    found = []
    for row in agreements:
        if row.unexpected:
            shown = "\n  ".join(row.unexpected[:MAX_SHOWN])
            found.append(f"{row.metric}, {row.reference}: {len(row.unexpected)} of {row.total} differ\n  {shown}")
    for row in readings:
        if row.least is not None and row.right < row.least:
            found.append(f"{row.method}: {row.right} right, at least {row.least} expected")
    return found
