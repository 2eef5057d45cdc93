#!/usr/bin/env python3
"""Checks which symbols and libraries the programs and libraries below a folder need, and prints a table.

    tools/check-elf.py FOLDER
    tools/check-elf.py FILE      # only its symbols: the libraries of kernels for GPUs are elsewhere

They must run on every system with glibc 2.34: no symbol may be newer than the tag `manylinux_2_34` allows, and every needed
library must be one of such a system, or be in the folder. `gage-host` itself needs less. Uses `readelf`, which comes with gcc.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# The newest versions of symbols that `manylinux_2_34` allows.
MAX_VERSIONS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}

# Libraries that `gage-host` may need.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}

# Libraries of the system that the other files may need as well.
FURTHER_LIBRARIES = {"libstdc++.so.6"}


def readelf(path):
    command = ["readelf", "--wide", "--dynamic", "--version-info", str(path)]
    # Its headings are translated in other languages.
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def needed_versions(text):
    return text[text.find("Version needs section") :] if "Version needs section" in text else ""


def newest_versions(text):
    """Returns the newest needed version of each kind of symbol. Versions that the file itself defines do not count."""
    newest = {}
    for kind, version in re.findall(r"Name: ([A-Z]+)_(\d[\d.]*)", needed_versions(text)):
        numbers = tuple(int(part) for part in version.split("."))
        newest[kind] = max(newest.get(kind, numbers), numbers)
    return newest


def version_name(kind, numbers):
    return f"{kind}_{'.'.join(map(str, numbers))}"


def check(path, shipped):
    """Returns the newest versions of symbols, the needed libraries, and the problems of a file.

    Any library is allowed if it is not known which ones are shipped.
    """
    text = readelf(path)
    versions = newest_versions(text)
    libraries = re.findall(r"\(NEEDED\).*\[(.+)\]", text)
    allowed = LIBRARIES
    if path.name != "gage-host":
        allowed = LIBRARIES | FURTHER_LIBRARIES | set(libraries if shipped is None else shipped)
    problems = [f"needs {library}" for library in libraries if library not in allowed]
    for kind, most in MAX_VERSIONS.items():
        if versions.get(kind, most) > most:
            problems.append(f"needs {version_name(kind, versions[kind])}")
    # Abilities of the dynamic linker, such as GLIBC_ABI_DT_RELR of glibc 2.36. glibc 2.34 has none of them.
    abilities = sorted(set(re.findall(r"Name: (GLIBC_ABI_\w+)", needed_versions(text))))
    problems += [f"needs {name}, which glibc 2.34 lacks" for name in abilities]
    return versions, libraries, problems


def find_files(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in files if path.open("rb").read(4) == b"\x7fELF"]
    if not any(path.name == "gage-host" for path in files):
        sys.exit(f"error: there is no program gage-host below {folder}")
    return files


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/check-elf.py FOLDER|FILE")
    folder = Path(sys.argv[1])
    if folder.is_file():
        folder, files, shipped = folder.parent, [folder], None
    else:
        files = find_files(folder)
        shipped = {path.name for path in folder.rglob("*.so*")}
    has_problem = False
    for path in files:
        versions, libraries, problems = check(path, shipped)
        has_problem |= bool(problems)
        newest = [version_name(kind, versions[kind]) for kind in MAX_VERSIONS if kind in versions]
        print(path.relative_to(folder))
        print(f"    {' '.join([*newest, *libraries])}".rstrip())
        print(f"    {'; '.join(problems) or 'ok'}")
    sys.exit(1 if has_problem else 0)


if __name__ == "__main__":
    main()
