#!/usr/bin/env python3
"""Write docs/reference/messages.md: every error and warning that the tests of bad input cause.

    tools/messages.py FOLDER > docs/reference/messages.md

FOLDER holds what the program printed to the standard error stream, a file for each test. `make reference` makes it.
"""

import json
import re
import sys
from pathlib import Path

# The sections of the page: title, and the modules of the tests.
SECTIONS = [
    ("Suites and the command line", ["bad_input", "suites", "redacted_values", "secrets", "secret_texts", "files", "unusable_places"]),
    ("Data", ["answers", "data", "data_commands", "dataset_faults", "changed_files", "references"]),
    ("Models over HTTP", ["http_faults", "server", "batches", "barrier_server", "caching", "budgets"]),
    ("Local models", ["model_files", "model_kinds", "model_programs", "processes", "tiny_suite", "vision", "measuring", "embedding", "perplexity"]),
    ("Plugins", ["plugins", "plugin_commands", "components", "code_execution", "languages", "scripted_backend", "support_steps", "fences"]),
    ("Judges and scoring", ["judging", "judged_runs", "figures", "tasks"]),
    ("Run folders and resume", ["run_folders", "storage", "killed_runs", "interruption", "shards", "repair", "observing", "foreign_folders"]),
    ("Locks and verification", ["locks", "verifying"]),
    ("Comparing, reports and history", ["comparing", "history", "exporting", "viewing", "planning"]),
]
INTRODUCTION = """\
<!-- Generated from the program: see CONTRIBUTING.md. Do not edit. -->

# Messages

The errors and warnings of gage-host, as the tests of bad input cause them. An error ends with the place, if it has one, and with what to do.
Numbers, names and paths are examples. The exit code of a command is not part of the message: see [exit codes](exit-codes.md).
"""
REPOSITORY = Path(__file__).resolve().parent.parent
# A line of the log in tests of crates: its level, and its message after the spans and the target.
LOG = re.compile(r"^\s*(?:\S+T\S+ +)?(WARN|ERROR) +(?:\w+(?:\{[^}]*\})?: )*(?:(?:gage_\w+(?:::\w+)*|plugin): )?(.*)$")
FIRST = re.compile(r"^(?:error|warning|note)(?:\[\w+\])?: ")


def normal(line: str) -> str:
    line = re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip())
    line = re.sub(r"(?:/[\w.+-]+)*/\.tmp\w+", "/suites", line)
    line = line.replace(str(REPOSITORY), "/repository")
    line = re.sub(r"(?:/[\w.+-]+)+/target/(?:tmp|debug)(?=/)", "/target", line)
    line = re.sub(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}\b", r"\1:8000", line)
    line = re.sub(r"\b20\d{6}-\d{6}-\w+", "20260102-030405-abcd", line)
    line = re.sub(r"\b20\d\d-\d\d-\d\dT[\d:.]+Z?", "2026-01-02T03:04:05Z", line)
    line = re.sub(r"sha256:[0-9a-f]{64}", "sha256:0123…", line)
    line = re.sub(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b", "0123…", line)
    line = re.sub(r"\b(\d+-of-\d+)/[0-9a-f]{16}\b", r"\1/0123…", line)
    return re.sub(r"(expected one of: (?:[^,]+, ){5})[^;]{80,}", r"\1…", line)


def log_line(line: str):
    """The message of a line of the log, as an error or a warning; None for other lines."""
    if line.startswith("{"):
        try:
            record = json.loads(line)
            level, text = record["level"], record["fields"]["message"]
        except (ValueError, KeyError, TypeError):
            return None
    elif log := LOG.match(line):
        level, text = log.groups()
    else:
        return None
    return {"WARN": f"warning: {text}", "ERROR": f"error: {text}"}.get(level)


def messages(text: str):
    """Each message with its first line and the lines of help below it."""
    current = None
    for raw in text.splitlines():
        line = normal(raw)
        log = log_line(line)
        if FIRST.match(line) or log:
            if current:
                yield current
            current = [log or line]
        elif current and (help_text := re.match(r"\s*= (help|note): (.*)", line)):
            current.append(f"  {help_text.group(1)}: {help_text.group(2)}")
        elif current and re.match(r"  +\S", line) and not re.match(r"\s*(-->|\d* *\|)", line):
            current.append(line)
        # A line of another kind, such as a note of `import`.
        elif current and (not line.strip() or re.match(r"[a-z]+: ", line)):
            yield current
            current = None
    if current:
        yield current


def shape(message) -> str:
    """The first line without what differs from case to case."""
    line = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "`", message[0])
    return re.sub(r"\d+(?:[.,]\d+)*", "0", re.sub(r"/[\w./+-]+", "/", line))


def main() -> int:
    found = {}
    for file in sorted(Path(sys.argv[1]).iterdir()):
        module = file.name.split(".")[0]
        for message in messages(file.read_text(encoding="utf-8", errors="replace")):
            found.setdefault(module, []).append(message)
    print(INTRODUCTION)
    known = {module for _, modules in SECTIONS for module in modules}
    seen = set()
    for title, modules in [*SECTIONS, ("Others", sorted(set(found) - known))]:
        texts = {}
        for module in modules:
            for message in found.get(module, []):
                if shape(message) not in seen:
                    seen.add(shape(message))
                    texts[message[0]] = "\n".join(message)
        if texts:
            body = "\n\n".join(texts[first] for first in sorted(texts))
            print(f"## {title}\n\n```text\n{body}\n```\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
