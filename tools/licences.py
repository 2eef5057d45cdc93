#!/usr/bin/env python3
"""Prints the licences of everything that the programs contain: crates, the C and C++ code in them, shared libraries, and Python if
python_tests is installed.

Each text appears once, after the names of those that it covers. The crates of the bundled plugins are included. A crate without a
text has that of another crate of its repository, or the standard text of its licence.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
NATIVE = "x86_64-unknown-linux-gnu"
WASM = "wasm32-unknown-unknown"

# Packages of this project whose dependencies are in the programs, by manifest. Without a list: all of them.
MANIFESTS = [("Cargo.toml", NATIVE, ["gage-host", "gage-llama"]), ("plugins/Cargo.toml", WASM, None)]

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
SOURCE_SUFFIXES = {".cmake", ".rs", ".c", ".h", ".py", ".json"}

MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished
to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""

BSD_2 = """Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following
conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in
the documentation and/or other materials provided with the distribution.

THIS SOFTWARE IS PROVIDED BY THE AUTHOR AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO,
THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE AUTHOR OR
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED
TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY
THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE
USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."""

ZLIB = """This software is provided 'as-is', without any express or implied warranty. In no event will the authors be held liable for any
damages arising from the use of this software.

Permission is granted to anyone to use this software for any purpose, including commercial applications, and to alter it and
redistribute it freely, subject to the following restrictions:

1. The origin of this software must not be misrepresented; you must not claim that you wrote the original software. If you use this
software in a product, an acknowledgment in the product documentation would be appreciated but is not required.

2. Altered source versions must be plainly marked as such, and must not be misrepresented as being the original software.

3. This notice may not be removed or altered from any source distribution."""

LLVM_EXCEPTION = "Apache-2.0 WITH LLVM-exception"

PYTHON_TESTS = "python_tests.wasm"

# Libraries in python_tests: the name with the licence, the holders of rights, and the text.
PYTHON_LIBRARIES = [
    ("Expat (MIT)", "1998-2000 Thai Open Source Software Center Ltd and Clark Cooper, 2001-2025 Expat maintainers", MIT),
    ("HACL* (MIT)", "2016-2022 INRIA, CMU and Microsoft Corporation, 2022-2025 HACL* Contributors", MIT),
    ("mimalloc (MIT)", "2018-2025 Microsoft Corporation, Daan Leijen", MIT),
    ("musl, in wasi-libc (MIT)", "2005-2020 Rich Felker and others", MIT),
    ("libmpdec (BSD-2-Clause)", "2008-2024 Stefan Krah", BSD_2),
    ("zlib (Zlib)", "1995-2024 Jean-loup Gailly and Mark Adler", ZLIB),
]

GCC_LIBRARIES = ["libgomp", "libstdc++", "libgcc_s"]

# Files of Debian with the licences of gcc's libraries.
GPL = Path("/usr/share/common-licenses/GPL-3")
GCC_COPYRIGHT = "/usr/share/doc/gcc-*-base/copyright"


def packages(manifest, platform, names):
    """Returns the packages of others that are linked into those of this project."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", platform]
    output = subprocess.run(
        [*command, "--manifest-path", str(REPOSITORY / manifest)], check=True, stdout=subprocess.PIPE
    ).stdout
    metadata = json.loads(output)
    by_id = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    is_root = lambda package: package["source"] is None and (names is None or package["name"] in names)
    waiting = [package["id"] for package in metadata["packages"] if is_root(package)]
    seen = set()
    while waiting:
        package = waiting.pop()
        if package not in seen:
            seen.add(package)
            linked = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
            waiting.extend(dep["pkg"] for dep in nodes[package]["deps"] if linked(dep))
    return [by_id[package] for package in seen if by_id[package]["source"]]


def text_of(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(line.rstrip() for line in text.replace("\f", "\n").splitlines()).strip("\n")


def own_texts(package):
    """Returns the licence texts in the package. Those of a crate with native code are looked for in all folders."""
    folder = Path(package["manifest_path"]).parent
    files = folder.rglob("*") if package["links"] else folder.glob("*")
    is_text = lambda path: LICENCE_FILE.match(path.name) and path.suffix not in SOURCE_SUFFIXES and path.is_file()
    return sorted({text_of(path) for path in files if is_text(path)})


def standard_text(package, found):
    expression = package["license"] or ""
    # Its text names no holder of rights.
    if expression == LLVM_EXCEPTION:
        return next(text for other in found if other["license"] == LLVM_EXCEPTION for text in own_texts(other))
    if "Apache-2.0" in expression and "WITH" not in expression:
        return text_of(REPOSITORY / "LICENSE")
    if re.search(r"\bMIT\b", expression):
        return f"Copyright (c) {', '.join(package['authors']) or 'the authors of ' + package['name']}\n\n{MIT}"
    sys.exit(f"error: {package['name']} {package['version']} ({expression}) has no text of its licence")


def texts_of(found):
    """Returns the packages' texts, by name, version and licence."""
    own = {package["id"]: own_texts(package) for package in found}
    of_repository = {}
    for package in found:
        if own[package["id"]] and package["repository"]:
            of_repository.setdefault(package["repository"].removesuffix(".git"), own[package["id"]])
    texts = {}
    for package in found:
        repository = (package["repository"] or "").removesuffix(".git")
        name = f"{package['name']} {package['version']} ({package['license']})"
        texts[name] = own[package["id"]] or of_repository.get(repository) or [standard_text(package, found)]
    return texts


def gcc_texts():
    """Returns the licence of gcc's libraries: the GPL, version 3, and the exception that lets any program use them."""
    copyrights = sorted(Path("/").glob(GCC_COPYRIGHT.lstrip("/")))
    if not GPL.is_file() or not copyrights:
        sys.exit(f"error: the licence of gcc is missing; on Debian it is in {GPL} and {GCC_COPYRIGHT}")
    text = text_of(copyrights[-1])
    start = text.index("GCC RUNTIME LIBRARY EXCEPTION")
    end = text.index("requirements of the license of GCC.", start) + len("requirements of the license of GCC.")
    return [text[start:end], text_of(GPL)]


def python_texts():
    """Returns the texts for python_tests, by name. That of Python is one of the interpreter that builds, which has the same licence."""
    cache = os.environ.get("GAGE_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "gage-host")
    pattern = "tools/python-runner/lib/python3*/site-packages/componentize_py-*.dist-info/licenses/LICENSE"
    builder = sorted(Path(cache).glob(pattern))
    python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    for path, remedy in [(builder[-1] if builder else None, "run `make python-runner`"), (python, "install the whole Python")]:
        if path is None or not path.is_file():
            sys.exit(f"error: a licence of {PYTHON_TESTS} is missing ({path or pattern}); {remedy}")
    texts = {
        "CPython with its standard library, in python_tests (PSF-2.0)": [text_of(python)],
        f"componentize-py, libc++ and compiler-rt, in python_tests ({LLVM_EXCEPTION})": [text_of(builder[-1])],
        "PyO3 and other crates of componentize-py, in python_tests (MIT OR Apache-2.0)": [text_of(REPOSITORY / "LICENSE")],
        "SQLite, in python_tests": ["SQLite is in the public domain."],
    }
    for name, holders, text in PYTHON_LIBRARIES:
        texts[f"{name}, in python_tests"] = [f"Copyright (c) {holders}\n\n{text}"]
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the installed programs, in which shared libraries of gcc and python_tests are looked for")
    arguments = parser.parse_args()
    found = {}
    for manifest, platform, names in MANIFESTS:
        found.update({package["id"]: package for package in packages(manifest, platform, names)})
    texts = texts_of(sorted(found.values(), key=lambda package: (package["name"], package["version"])))
    texts["the standard library of Rust (MIT OR Apache-2.0)"] = [text_of(REPOSITORY / "LICENSE")]
    for library in GCC_LIBRARIES:
        if any(arguments.folder.rglob(f"{library}.so*")):
            texts[f"{library}, of gcc (GPL-3.0-or-later WITH GCC-exception-3.1)"] = gcc_texts()
    if any(arguments.folder.rglob(PYTHON_TESTS)):
        texts.update(python_texts())
    names = defaultdict(list)
    for name, own in texts.items():
        for text in own:
            names[text].append(name)
    print("The programs of gage-host contain the following. Each text is the licence of what is listed before it.")
    for text, covered in sorted(names.items(), key=lambda item: (item[1][0].lower(), item[0])):
        print(f"\n{'=' * 100}\n" + "\n".join(covered) + f"\n{'-' * 100}\n\n{text}")


if __name__ == "__main__":
    main()
