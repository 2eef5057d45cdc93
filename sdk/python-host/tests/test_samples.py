"""Samples become tables of pandas, polars and Arrow, or an error names the extra.

Tests without their package are skipped.
"""

import importlib.util
import json
import sys
import unittest
from unittest import mock

import gage_host
from support import FolderTest, run_tiny

COLUMNS = ["sample_id", "score.exact_match", "sample"]


def needs(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) is not None for package in packages)


class SamplesTest(FolderTest):
    samples: gage_host.Samples

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.samples = run_tiny("base").samples

    def check(self, rows: list[dict[str, object]]) -> None:
        self.assertEqual(len(rows), 16)
        self.assertEqual(list(rows[0]), COLUMNS)
        self.assertEqual((rows[0]["sample_id"], rows[0]["score.exact_match"]), ("arith-0001", 1.0))
        self.assertEqual(json.loads(str(rows[0]["sample"]))["id"], "arith-0001")

    @unittest.skipUnless(needs("pandas", "pyarrow"), "pandas is not installed")
    def test_pandas(self) -> None:
        rows = self.samples.pandas(COLUMNS).to_dict("records")
        self.check([{str(name): value for name, value in row.items()} for row in rows])
        self.assertEqual(str(self.samples.pandas()["finished_at"].dt.tz), "UTC")

    @unittest.skipUnless(needs("polars"), "polars is not installed")
    def test_polars(self) -> None:
        self.check(self.samples.polars(COLUMNS).to_dicts())
        self.assertIn("time_zone='UTC'", str(self.samples.polars().schema["finished_at"]))

    @unittest.skipUnless(needs("pyarrow"), "pyarrow is not installed")
    def test_arrow(self) -> None:
        self.check(self.samples.arrow(COLUMNS).to_pylist())
        self.assertEqual(self.samples.arrow().num_rows, 16)

    def test_parquet_is_written_again_if_it_is_gone(self) -> None:
        path = self.samples.parquet()
        self.assertEqual(path.parts[-3:], ("base", "exports", "samples.parquet"))
        path.unlink()
        self.assertTrue(self.samples.parquet().exists())

    def test_columns_are_a_list(self) -> None:
        if needs("polars"):
            with self.assertRaisesRegex(TypeError, r"columns=\['sample_id'\]"):
                self.samples.polars("sample_id")

    def test_unknown_columns_are_named(self) -> None:
        for method, packages in [
            ("pandas", ("pandas", "pyarrow")),
            ("polars", ("polars",)),
            ("arrow", ("pyarrow",)),
        ]:
            if not needs(*packages):
                continue
            for column, message in [("sample_ids", "did you mean 'sample_id'"), ("nope", "their columns are: ")]:
                with self.subTest(method=method, column=column), self.assertRaisesRegex(KeyError, message):
                    getattr(self.samples, method)([column])

    def test_no_columns_are_an_error(self) -> None:
        for method, packages in [
            ("pandas", ("pandas", "pyarrow")),
            ("polars", ("polars",)),
            ("arrow", ("pyarrow",)),
        ]:
            if needs(*packages):
                with self.subTest(method=method), self.assertRaisesRegex(ValueError, "columns is empty"):
                    getattr(self.samples, method)([])

    def test_missing_package_names_the_extra(self) -> None:
        for method, package in [("pandas", "pandas"), ("polars", "polars"), ("arrow", "pyarrow")]:
            message = f"{package} is not installed; install it with: pip install 'gage-host\\[{method}\\]'"
            with (
                self.subTest(method=method),
                mock.patch.dict(sys.modules, {package: None}),
                self.assertRaisesRegex(ModuleNotFoundError, message),
            ):
                getattr(self.samples, method)()


if __name__ == "__main__":
    unittest.main()
