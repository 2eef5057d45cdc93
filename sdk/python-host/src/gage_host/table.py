"""The figures of a run as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from .files import Metric

_HEADINGS = ("task", "metric", "value", "95% interval", "scored")
_NUMBERS = frozenset({2, 3, 4})
# Maximum number of slices of a metric that a table lists; `metric["slices"]` has all.
_MAX_SLICES = 60


def as_text(title: str, metrics: Sequence[Metric]) -> str:
    """Returns a table for a terminal."""
    rows = [_HEADINGS, *_rows(metrics)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([title, *lines])


def as_html(title: str, metrics: Sequence[Metric]) -> str:
    """Returns a table for a notebook. Texts of the run are escaped."""

    def row(tag: str, cells: Sequence[str]) -> str:
        aligned = (
            f'<{tag} style="text-align: {"right" if column in _NUMBERS else "left"}">{escape(cell)}</{tag}>'
            for column, cell in enumerate(cells)
        )
        return f"<tr>{''.join(aligned)}</tr>"

    body = "".join(row("td", cells) for cells in _rows(metrics))
    return (
        f"<table><caption>{escape(title)}</caption><thead>{row('th', _HEADINGS)}</thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _rows(metrics: Sequence[Metric]) -> Iterator[tuple[str, ...]]:
    """Yields the row of each metric, and below it those of its slices and of their means."""
    for metric in metrics:
        is_share = "scale" in metric and metric["scale"] == [0.0, 1.0]
        name = metric["metric_id"] + ("" if is_share else f" ({metric['value_name']})")
        yield (metric["task_id"], name, *_figures(metric, is_share), _scored(metric))
        slices = metric.get("slices", [])
        for one in slices[:_MAX_SLICES]:
            yield ("", f"  {one['by']}={one['key']}", *_figures(one, is_share), _scored(one))
        if len(slices) > _MAX_SLICES:
            yield ("", f"  {len(slices) - _MAX_SLICES} more", "", "", "")
        for mean in metric.get("slice_means", []):
            yield ("", f"  mean of {mean['slices']} {mean['by']}", *_figures(mean, is_share), "")


def _figures(figure: Mapping[str, Any], is_share: bool) -> tuple[str, str]:
    """Returns the value and the interval of a metric, a slice or a mean."""
    value, interval = figure["value"], figure["interval"]

    def number(value: float) -> str:
        return f"{value:.4f}" if is_share else f"{value:.4g}"

    return (
        figure.get("error", "none") if value is None else number(value),
        "" if interval is None else f"{number(interval['low'])} – {number(interval['high'])}",
    )


def _scored(figure: Mapping[str, Any]) -> str:
    return f"{figure['n']}/{figure['total']}{' or more' if figure.get('total_is_least') else ''}"
