"""The comparison of two runs."""

from __future__ import annotations

import html
from typing import Any

from .files import MetricComparison, Verdict


class Comparison:
    """A run compared with its baseline, sample by sample.

    Notebooks show it as tables, and `print` as Markdown.

    Attributes:
        verdict: The verdict of the gate. It is None if no gate was set.
        exit_code: The exit code of `gage-host compare`.
        data: The output of `gage-host compare --json`.
        markdown: The comparison as the program writes it.
    """

    def __init__(self, exit_code: int, data: dict[str, Any], markdown: str) -> None:
        self.exit_code = exit_code
        self.data = data
        self.markdown = markdown
        self.verdict: Verdict | None = data["verdict"]

    @property
    def metrics(self) -> list[MetricComparison]:
        """The metrics that both runs have, task by task."""
        metrics: list[MetricComparison] = self.data["metrics"]
        return metrics

    @property
    def refusal(self) -> str | None:
        """The reason why no metric can be judged, such as no task in common, or else None.

        Without a gate, runs that have a task but no metric in common give no comparison: `Run.compare`
        raises `Refused`.
        """
        refusal: str | None = self.data.get("refusal")
        return refusal

    @property
    def differences(self) -> list[dict[str, Any]]:
        """What differs besides the model: the `part`, `what` it is, and whether it was `allowed`."""
        differences: list[dict[str, Any]] = self.data["differences"]
        return differences

    def __repr__(self) -> str:
        base, new = (self.data[run]["label"] for run in ("base", "new"))
        return f"<comparison of {new!r} with {base!r}: {self.verdict or 'no gate'}>"

    def __str__(self) -> str:
        # Markdown has entities for letters that would format a name.
        return html.unescape(self.markdown)

    def _repr_markdown_(self) -> str:
        return self.markdown
