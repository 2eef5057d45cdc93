"""Files and modules that a component keeps, after their folders are gone."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent / "src"

PACKAGE = {
    "tables/__init__.py": "from pathlib import Path\n__version__ = '2'\n",
    "tables/late.py": "VALUE = 7\n",
    "tables/dynamic.py": "VALUE = 8\n",
    "tables/data/words.txt": "naïve\nwords\n",
    "tables/data/raw.bin": "raw",
    "tables-2.dist-info/METADATA": "Metadata-Version: 2.1\nName: tables\nVersion: 2\n",
}
PLUGIN = {
    "plugin.py": "import tables\ndef late():\n    from tables import late\n    import colorsys\n    return late.VALUE\n"
    "if __name__ == '__main__':\n    import fractions\n",
    "gage-plugin.toml": "name = 'p'\nfiles = ['./own.json', 'more/']\n",
    "own.json": '{"a": 1}',
    "more/deep/one.csv": "a,b\n",
    "secret.txt": "not listed",
}

# Runs in an interpreter of its own, since it replaces functions of the standard library.
CHECKS = r'''
import builtins, importlib, importlib.metadata, importlib.resources, json, os, pathlib, pkgutil, sys
folder, sdk = sys.argv[1:]
project, packages = folder + "/project", folder + "/packages"
sys.path[:0] = [project, packages, sdk]
import gage_sdk
# The package of the glue needs bindings, which exist only in a component.
spec = importlib.util.spec_from_file_location("embedded", sdk + "/gage_sdk/components/embedded.py")
embedded = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embedded)
import plugin, tables
embedded.keep(project, embedded.listed_files(project), [packages])
assert {"tables.late", "colorsys"} <= set(sys.modules), "imports of functions"
assert not {"tables.dynamic", "fractions"} & set(sys.modules)
os.rename(folder, folder + "-gone")

assert plugin.late() == 7
assert importlib.import_module("tables.dynamic").VALUE == 8
data = pathlib.Path(tables.__file__).with_name("data")
assert (data / "words.txt").read_text() == "naïve\nwords\n"
assert (data / "raw.bin").read_bytes() == b"raw"
assert open(f"{data}/../data/raw.bin", "rb").read() == b"raw"
assert importlib.resources.files("tables").joinpath("data/words.txt").read_text("utf-8") == "naïve\nwords\n"
assert pkgutil.get_data("tables", "data/raw.bin") == b"raw"
assert importlib.metadata.version("tables") == "2"
assert sorted(one.name for one in data.iterdir()) == ["raw.bin", "words.txt"]
# In Python 3.13, pathlib keeps its own reference to os.scandir. Components have 3.14.
assert sys.version_info[:2] == (3, 13) or [one.name for one in data.glob("*.txt")] == ["words.txt"]
assert os.listdir(data) == ["raw.bin", "words.txt"] and os.path.isdir(data)
assert [names for _, _, names in os.walk(data)] == [["raw.bin", "words.txt"]]
assert data.exists() and not (data / "other").exists() and (data / "raw.bin").stat().st_size == 3
assert json.load(open(project + "/own.json")) == {"a": 1}
assert pathlib.Path(project, "more", "deep", "one.csv").read_text() == "a,b\n"
for path, mode, error in [
    (project + "/secret.txt", "r", FileNotFoundError),
    (project + "/own.json", "w", OSError),
    (project + "/own.json", "r+", OSError),
]:
    try:
        open(path, mode)
    except error:
        continue
    raise AssertionError(path)
print("passed")
'''


@unittest.skipIf(sys.version_info < (3, 11), "reads gage-plugin.toml with a module of Python 3.11")
class Embedded(unittest.TestCase):
    def run_checks(self, package: dict[str, str], checks: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "build")
            for name, files in (("packages", package), ("project", PLUGIN)):
                for path, text in files.items():
                    file = folder / name / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
            command = [sys.executable, "-X", "utf8", "-I", "-B", "-c", checks, str(folder), str(SDK)]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_files_and_modules_stay(self) -> None:
        ended = self.run_checks(PACKAGE, CHECKS)
        self.assertEqual((ended.stdout, ended.stderr), ("passed\n", ""))

    def test_too_many_bytes_are_an_error(self) -> None:
        checks = CHECKS.replace("import plugin, tables", "embedded.MAX_TOTAL_BYTES = 1 << 20\nimport plugin, tables")
        ended = self.run_checks({**PACKAGE, "tables/big.bin": "x" * (1 << 20)}, checks)
        self.assertIn("more than 1 MiB; the largest is ", ended.stderr)
        self.assertIn("tables/big.bin", ended.stderr)


if __name__ == "__main__":
    unittest.main()
