"""Code of a user, which type checkers read and nothing runs."""

from pathlib import Path

import gage_host


def gate(suite: Path) -> bool:
    run: gage_host.Run = gage_host.run(suite, max_samples=5, set={"tasks.0.repeat": 2}, offline=True)
    base = gage_host.load(Path("runs") / "base")
    value: float | None = run.metric("exact_match", task="sums")["value"]
    scored: int = run.summary["samples"]["outcomes"].get("scored", 0)
    height: int = run.samples.polars(["sample_id"]).height
    rows: int = len(run.samples.pandas())
    comparison = run.compare(base, margin=0.1, allow=["settings"])
    verdict: gage_host.Verdict | None = comparison.verdict
    refusal: str = comparison.refusal or ""
    try:
        gage_host.run("suite.yaml", resume="nightly")
    except gage_host.Incomplete as incomplete:
        status: str = incomplete.run.status if incomplete.run else incomplete.message
        return status == "incomplete"
    return verdict == "PASS" and (value or 0) > 0.5 and scored == height == rows and not refusal
