"""The figures of a run as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .files import Metric

_HEADINGS = ("task", "metric", "value", "95% interval", "scored")
_NUMBERS = frozenset({2, 3, 4})


def as_text(title: str, metrics: Sequence[Metric]) -> str:
    """Returns a table for a terminal."""
    rows = [_HEADINGS, *map(_cells, metrics)]
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

    body = "".join(row("td", _cells(metric)) for metric in metrics)
    return (
        f"<table><caption>{escape(title)}</caption><thead>{row('th', _HEADINGS)}</thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cells(metric: Metric) -> tuple[str, ...]:
    value, interval = metric["value"], metric["interval"]
    is_share = "scale" in metric and metric["scale"] == [0.0, 1.0]

    def number(value: float) -> str:
        return f"{value:.4f}" if is_share else f"{value:.4g}"

    return (
        metric["task_id"],
        metric["metric_id"] + ("" if is_share else f" ({metric['value_name']})"),
        metric.get("error", "none") if value is None else number(value),
        "" if interval is None else f"{number(interval['low'])} – {number(interval['high'])}",
        f"{metric['n']}/{metric['total']}{' or more' if metric.get('total_is_least') else ''}",
    )
