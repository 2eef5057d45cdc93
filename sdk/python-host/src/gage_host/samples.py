"""The samples of a run."""

# pyarrow has no types.
# pyright: basic, reportMissingTypeStubs=false

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .reading import read_samples

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Samples:
    """The samples of a run. They are read when a method asks for them.

    Iterating reads `samples.jsonl`, a dictionary for each sample, one at a time. It raises `Error` at a line
    that is cut or damaged. The tables have the columns of the program's Parquet export, which the first of
    them writes.
    """

    def __init__(self, folder: Path, export: Callable[[], Path]) -> None:
        self._folder = folder
        self._export = export
        self._parquet: Path | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return read_samples(self._folder)

    def __repr__(self) -> str:
        return f"<samples of {os.fspath(self._folder)!r}>"

    def parquet(self) -> Path:
        """Returns the path of the samples as a Parquet file.

        The first call writes it, below `exports/` in the run folder.
        """
        if self._parquet is None or not self._parquet.exists():
            self._parquet = self._export()
        return self._parquet

    def pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Returns the samples as a data frame of pandas, with these columns or all."""
        _require("pandas", "pandas", "pyarrow")
        import pandas

        names = None if columns is None else _names(columns, self._columns())
        return pandas.read_parquet(self.parquet(), engine="pyarrow", columns=names)

    def polars(self, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """Returns the samples as a data frame of polars, with these columns or all."""
        _require("polars", "polars")
        import polars
        import polars.selectors

        lazy = polars.scan_parquet(self.parquet())
        frame = lazy if columns is None else lazy.select(_names(columns, lazy.collect_schema().names()))
        # polars takes JSON for bytes, and times in UTC for local ones.
        texts = polars.selectors.binary().cast(polars.String)
        times = polars.selectors.datetime().dt.replace_time_zone("UTC")
        return frame.with_columns(texts, times).collect()

    def arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Returns the samples as a table of Arrow, with these columns or all."""
        _require("arrow", "pyarrow")
        import pyarrow.parquet

        names = None if columns is None else _names(columns, self._columns())
        return pyarrow.parquet.read_table(self.parquet(), columns=names)

    def _columns(self) -> list[str]:
        import pyarrow.parquet

        return list(pyarrow.parquet.read_schema(self.parquet()).names)


def _names(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Returns the names of columns.

    Raises:
        KeyError: If the samples do not have one of them.
        ValueError: If there are none. A table without columns has no rows in some libraries.
    """
    if isinstance(columns, str):
        raise TypeError(f"columns is a list of names: columns=[{columns!r}]")
    if len(columns) == 0:
        raise ValueError("columns is empty; name a column, or leave columns out for all of them")
    for name in columns:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"their columns are: {', '.join(known)}"
            raise KeyError(f"the samples have no column {name!r}; {hint}")
    return list(columns)


def _require(extra: str, *packages: str) -> None:
    """Fails with the name of the extra if a package is not installed."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise ModuleNotFoundError(
                f"{package} is not installed; install it with: pip install 'gage-host[{extra}]'", name=package
            ) from None
