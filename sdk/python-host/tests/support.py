"""A folder with the tiny suite, in which the program really runs."""

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import gage_host

REPOSITORY = Path(__file__).parents[3]
SUITE = "config/custom/tiny.yaml"
# The suite's weaker model.
EARLY = {"backends.tiny.config.model_path": "config/models/gage-tiny-early.gguf"}


def enter_folder() -> tempfile.TemporaryDirectory[str]:
    """Makes a folder with the tiny suite, and enters it."""
    folder = tempfile.TemporaryDirectory()
    os.symlink(REPOSITORY / "config", Path(folder.name, "config"))
    os.chdir(folder.name)
    return folder


def run_tiny(run_id: str, **options: Any) -> gage_host.Run:
    """Runs the tiny suite with few samples."""
    return gage_host.run(SUITE, run_id=run_id, **{"max_samples": 4, "progress": False, **options})


class FolderTest(unittest.TestCase):
    """Tests in one folder, which the tests of a class share."""

    folder: tempfile.TemporaryDirectory[str]
    before: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.before = os.getcwd()
        cls.folder = enter_folder()

    @classmethod
    def tearDownClass(cls) -> None:
        os.chdir(cls.before)
        cls.folder.cleanup()
