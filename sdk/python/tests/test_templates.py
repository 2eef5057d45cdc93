"""Every template passes the cases that all languages share."""

import json
import unittest

from cases import NAME, matches, run_case
from guest import SDK, Guest

TEMPLATES = SDK.parent / "templates"
KINDS = [
    "metric",
    "preprocessor",
    "doc-hook",
    "aggregator",
    "judge",
    "extractor",
    "role-adapter",
    "backend",
]


class Templates(unittest.TestCase):
    def test_cases(self) -> None:
        for kind in KINDS:
            source = (TEMPLATES / "python" / kind / "plugin.py").read_text()
            source = source.replace("{{name}}", "my-plugin").replace("{{snake}}", NAME)
            lines = (TEMPLATES / "cases" / f"{kind}.jsonl").read_text().splitlines()
            with Guest(kind, source) as guest:
                self.assertEqual(guest.exports.describe().name, "my-plugin")
                for case in map(json.loads, filter(None, lines)):
                    with self.subTest(kind=kind, case=case["case"]):
                        expected = {key: case[key] for key in case if key.startswith("expected")}
                        found = run_case(guest, case)
                        self.assertTrue(matches(expected, found), f"{expected} is not in {found}")


if __name__ == "__main__":
    unittest.main()
