"""The Python blocks of the guide run as one session, and print what the blocks below them say."""

import contextlib
import importlib.util
import io
import re
import unittest
from typing import Any

from support import REPOSITORY, FolderTest

GUIDE = REPOSITORY / "docs" / "guides" / "python-package.md"
BLOCK = re.compile(r"^```(python|text printed)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HAS_EXTRAS = all(importlib.util.find_spec(package) for package in ("pandas", "polars", "pyarrow"))


def is_like(line: str, wanted: str) -> bool:
    """Returns whether a line is as wanted: `…` is any text, and white space is alike."""
    parts = [re.escape(" ".join(part.split())) for part in wanted.split("…")]
    return re.fullmatch(r"\s*.*\s*".join(parts), " ".join(line.split())) is not None


class GuideTest(FolderTest):
    @unittest.skipUnless(HAS_EXTRAS, "pandas, polars or pyarrow are not installed")
    def test_blocks_print_what_the_guide_says(self) -> None:
        session: dict[str, Any] = {}
        printed = ""
        blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
        self.assertGreater(len(blocks), 10)
        for kind, text in blocks:
            with self.subTest(block=text):
                if kind == "python":
                    with contextlib.redirect_stdout(io.StringIO()) as output:
                        exec(compile(text, GUIDE.name, "exec"), session)
                    printed = output.getvalue()
                    continue
                lines = iter(printed.splitlines())
                for wanted in filter(None, text.splitlines()):
                    found = wanted == "…" or any(is_like(line, wanted) for line in lines)
                    self.assertTrue(found, f"the output lacks {wanted!r}:\n{printed}")
        session["test_model_is_not_worse"]()


if __name__ == "__main__":
    unittest.main()
