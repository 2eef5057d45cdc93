"""The module finds the program and runs it, in an environment of its own."""

import os
import subprocess
import sysconfig
import tempfile
import unittest
import venv
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"


class ProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        venv.create(self.folder / "environment", with_pip=False)
        user_scripts = sysconfig.get_path(
            "scripts",
            scheme=sysconfig.get_preferred_scheme("user"),
            vars={"userbase": str(self.folder / "user")},
        )
        self.places = [self.folder / "environment" / "bin", Path(user_scripts), self.folder / "on-path"]

        self.packages = self.folder / "prefix" / "lib" / "python3" / "site-packages"

    def record(self, program: str) -> None:
        """Records an installed wheel with a program, at a path relative to the folder of its packages."""
        facts = self.packages / "gage_host-0.1.0.dist-info"
        facts.mkdir(parents=True, exist_ok=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.4\nName: gage-host\nVersion: 0.1.0\n")
        (facts / "RECORD").write_text(f"{program},,\ngage_host-0.1.0.dist-info/RECORD,,\n")

    def install(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "gage-host"
        program.write_text('#!/bin/sh\necho "$0" "$@"\nexit 3\n')
        program.chmod(0o755)

    def run_module(self) -> "subprocess.CompletedProcess[str]":
        environment = {
            "PATH": str(self.folder / "on-path"),
            "PYTHONPATH": os.pathsep.join([str(SOURCES), str(self.packages)]),
            "PYTHONUSERBASE": str(self.folder / "user"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        python = self.folder / "environment" / "bin" / "python"
        command = [os.fspath(python), "-m", "gage_host", "run", "a suite.yaml"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def test_program_of_the_environment_comes_first(self) -> None:
        # From the last place to the first: each further program is preferred to the earlier ones.
        for place in reversed(self.places):
            with self.subTest(place=place):
                self.install(place)
                ended = self.run_module()
                self.assertEqual(ended.stdout, f"{place}/gage-host run a suite.yaml\n", ended.stderr)
                self.assertEqual(ended.returncode, 3)

    def test_recorded_program_comes_before_the_environment(self) -> None:
        prefix, environment = self.folder / "prefix" / "bin", self.places[0]
        self.install(prefix)
        self.install(environment)
        # `pip install --target` leaves records of files that it puts elsewhere.
        for recorded, expected in [("../../../bin/gage-host", prefix), ("../../bin/gage-host", environment)]:
            with self.subTest(recorded=recorded):
                self.record(recorded)
                ended = self.run_module()
                self.assertEqual(ended.stdout, f"{expected}/gage-host run a suite.yaml\n", ended.stderr)

    def test_missing_program_is_an_error(self) -> None:
        ended = self.run_module()
        self.assertEqual(ended.returncode, 1)
        self.assertIn("error: gage-host is not installed", ended.stderr)
        for place in self.places[:2]:
            self.assertIn(str(place), ended.stderr)


if __name__ == "__main__":
    unittest.main()
