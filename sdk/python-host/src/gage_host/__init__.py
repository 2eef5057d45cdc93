"""Evaluates language models with the program gage-host, which this package installs.

    import gage_host

    run = gage_host.run("suite.yaml", max_samples=100)
    print(run)
    frame = run.samples.pandas()
    print(run.compare("runs/baseline", margin=0.02).verdict)

The package starts the program and reads its files. Every figure, test and check is the program's.
"""

from .comparison import Comparison
from .errors import Error, Incomplete, Interrupted, Refused
from .files import Interval, Manifest, Metric, MetricComparison, SampleCounts, Summary, Task, Verdict
from .program import find_gage_host_bin
from .runs import Run, load, run
from .samples import Samples

__all__ = [
    "Comparison",
    "Error",
    "Incomplete",
    "Interrupted",
    "Interval",
    "Manifest",
    "Metric",
    "MetricComparison",
    "Refused",
    "Run",
    "SampleCounts",
    "Samples",
    "Summary",
    "Task",
    "Verdict",
    "find_gage_host_bin",
    "load",
    "run",
]
