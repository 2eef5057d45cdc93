#!/usr/bin/env python3
"""Check the project's English.

    tools/prose.py count [--list] [--max N] [PATH...]   count long sentences and phrases to avoid
    tools/prose.py facts OLD NEW                        list numbers and backticked tokens that NEW lost

`count` reads messages (string literals of Rust code outside tests), docs (Markdown), headers (`//!`),
item docs (`///`) and comments (`//`). `--list` prints each hit. With `--max` it fails if there are more hits.
OLD and NEW are files, folders, or `REVISION:PATH` in git; commas join several.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

MAX_WORDS = 25
KINDS = ("messages", "docs", "headers", "item docs", "comments")
SKIPPED_FOLDERS = {"target", ".git", "node_modules", "snapshots"}
# Files that hold other people's words, or generated text that is counted where it is written.
SKIPPED_FILES = {"Cargo.lock", "docs/contributing/moved.md"}

PHRASES = {
    "what is no": r"\b(?:what|that|which|it|and) (?:is|are) no\b(?! (?:longer|more|less|fewer|greater|later|better|worse)\b)",
    "is none": r"(?<!there )\b(?:is|are) none\b(?! of)",
    "is another than": r"\banother\b[^.`]{0,40}\bthan\b",
    "anew": r"\banew\b",
    "so many": r"\bso (?:many|few)\b",
    "for so long": r"\bfor so long\b|\bso long as\b",
    "nobody": r"\bnobody\b",
    "whoever": r"\b(?:whoever|whatever|who else|what else)\b",
    "told": r"\btold\b",
    "lies in": r"\b(?:lies|lie|lay|lain) (?:in|on|at|behind|beside|beneath|under|there|where|below|above)\b",
    "stands in": r"\b(?:stands|stand|stood) (?:in|on|at|behind|beside|there|where|before|below|above|alone)\b",
    "behind": r"\bbehind\b(?! (?:a |an |the )?(?:reverse |same )?(?:proxy|proxies|load balancer|gateway|firewall|flag))",
    "goes on": r"\b(?:goes|go|went|gone|going) on (?:with|where|from|at|as)\b",
    "come to its end": r"\b(?:came|come|comes|coming) to (?:its|an|their|the) end\b",
    "begun": r"\bbegun\b",
    "written down": r"\bwr(?:ites?|itten|ote) (?:it |them )?down\b",
    "that of": r"\b(?:That|Those) of\b",
    "of which": r"\bof (?:which|whom|whose)\b",
    "where conditional": r"(?:^|[.;:] )Where\b(?! to\b| it is\?| they are| is\b| are\b| does\b| do\b)|, where (?:there is none|it has none|there are none|none is|that is known|they are known)",
    "free relative": r"(?:^|(?<=[.;:] ))(?:What|Whether|Whose|Whom|Who|Why|How|From where|Which)\b(?![^.]*\?)",
    "once more": r"\bonce more\b",
    "save where": r"\b(?:save|but) (?:where|for what)\b",
    "all the same": r"\ball the same\b",
}
# An item doc that begins with a pronoun or a question word names no subject.
OPENINGS = re.compile(
    r"^(?:What|How|Which|From|Where|Whether|Why|Who|Whose|Whom|Its|The same|Those|That|They|It|Of|By|As|So|Nor|Nothing|None)\b"
)
WORD = re.compile(r"[^\s]*\w[^\s]*")


def git_root() -> Path:
    return Path(__file__).resolve().parent.parent


# --- Reading -------------------------------------------------------------------------------------


def markdown_blocks(text: str):
    """The paragraphs, list items, headings and cells of a Markdown text, each with its first line."""
    block, start, fenced = [], 0, None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        fence = re.match(r"(```+|~~~+)", stripped)
        if fenced:
            if stripped.startswith(fenced):
                fenced = None
            continue
        flush = fence or not stripped or re.match(r"([-*+]|\d+\.) |#+ |\||<|>", stripped)
        if flush and block:
            yield start, " ".join(block)
            block = []
        if fence:
            fenced = fence.group(1)
            continue
        if not stripped or (line.startswith("    ") and not block and not re.match(r"([-*+]|\d+\.) ", stripped)):
            continue
        if stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if re.search(r"\w", cell):
                    yield number, cell.strip()
            continue
        if stripped.startswith("<"):
            continue
        if not block:
            start = number
        block.append(re.sub(r"^([-*+]|\d+\.|#+|>) ", "", stripped))
    if block:
        yield start, " ".join(block)


def string_literal(text: str, at: int):
    """The string literal that begins at `at`, and where it ends."""
    raw = re.match(r'b?r(#*)"', text[at:])
    if raw:
        end = text.find('"' + raw.group(1), at + raw.end())
        return text[at + raw.end() : end], end + 1 + len(raw.group(1))
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    body = re.sub(r"\\\n\s*", "", text[at + 1 : end])
    return body.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\"), end + 1


def rust_texts(text: str):
    """The texts of a Rust file: (kind, line, text)."""
    at, line, length = 0, 1, len(text)
    block, kind, start = [], None, 0
    while at < length:
        char = text[at]
        if text.startswith("//", at):
            end = text.find("\n", at)
            end = length if end < 0 else end
            comment = text[at:end]
            this = "headers" if comment.startswith("//!") else "item docs" if re.match(r"///(?!/)", comment) else "comments"
            if kind != this or start + len(block) != line:
                if block:
                    yield kind, start, "\n".join(block)
                block, kind, start = [], this, line
            block.append(re.sub(r"^//[/!]? ?", "", comment))
            at = end
            continue
        if text.startswith("/*", at):
            end = text.find("*/", at) + 2
            line += text.count("\n", at, end)
            at = max(end, at + 2)
            continue
        raw = re.match(r'b?r#*"', text[at : at + 12]) if char in "br" and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")) else None
        if char == '"' or raw:
            body, end = string_literal(text, at)
            yield "messages", line, body
            line += text.count("\n", at, end)
            at = max(end, at + 1)
            continue
        if char == "'" and re.match(r"'(\\.[^']*|[^\\'])'", text[at : at + 12]):
            at += re.match(r"'(\\.[^']*|[^\\'])'", text[at : at + 12]).end()
            continue
        if char == "\n":
            line += 1
        at += 1
    if block:
        yield kind, start, "\n".join(block)


def without_tests(text: str) -> str:
    """Rust code up to its test module."""
    found = re.search(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, re.M)
    return text[: found.start()] if found else text


def is_test(path: str) -> bool:
    return bool(re.search(r"(^|/)(tests?|testing|benches|examples|fuzz)(/|\.rs$)", path)) or "_tests.rs" in path


def sentences(text: str):
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[(`[^`]*`)\]", r"\1", text)
    text = re.sub(r"`[^`]*`", "`x`", text)
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|cf)\.", r"\1", text)
    yield from (part for part in re.split(r"(?<=[.!?;:])[)\"*_]*\s+", text) if re.search(r"\w", part))


def texts_of(root: Path, files):
    for path in files:
        name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        if name in SKIPPED_FILES or SKIPPED_FOLDERS & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".md":
            for line, block in markdown_blocks(text):
                yield "docs", name, line, block
        elif path.suffix == ".rs":
            for kind, line, body in rust_texts(without_tests(text)):
                if kind == "messages":
                    words = WORD.findall(body)
                    prose = len(words) >= 3 and re.search(r"[a-z]{2,} [a-z]{2,}", body)
                    if is_test(name) or not prose:
                        continue
                    for part in body.split("\n"):
                        yield kind, name, line, part
                elif kind == "comments":
                    yield kind, name, line, " ".join(body.split())
                else:
                    first = True
                    for offset, block in markdown_blocks(body):
                        yield kind + ("" if first else " "), name, line + offset - 1, block
                        first = False


# --- Counting ------------------------------------------------------------------------------------


def count(arguments) -> int:
    root = git_root()
    paths = [Path(path).resolve() for path in arguments.paths] or [
        root / "README.md", root / "ARCHITECTURE.md", root / "CONTRIBUTING.md", root / "SECURITY.md",
        root / "docs", root / "host", root / "plugins", root / "sdk", root / "wit",
    ]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))
             if file.is_file() and file.suffix in {".rs", ".md"}]
    words, long, hits, per_phrase = Counter(), Counter(), Counter(), Counter()
    for kind, name, line, text in texts_of(root, files):
        opening, kind = not kind.endswith(" "), kind.strip()
        words[kind] += len(WORD.findall(re.sub(r"`[^`]*`", "x", text)))
        found = []
        for sentence in sentences(text):
            length = len(WORD.findall(sentence))
            if length > MAX_WORDS:
                long[kind] += 1
                found.append(f"{length} words")
        plain = re.sub(r"`[^`]*`", "`x`", text)
        for phrase, pattern in PHRASES.items():
            if phrase == "free relative" and kind in ("headers", "item docs") and OPENINGS.match(plain):
                continue
            number = len(re.findall(pattern, plain))
            if number:
                hits[kind] += number
                per_phrase[phrase] += number
                found.append(phrase)
        if opening and kind in ("headers", "item docs") and OPENINGS.match(plain):
            hits[kind] += 1
            per_phrase["opening"] += 1
            found.append("opening")
        if found and arguments.list:
            print(f"{name}:{line}: {kind}: {', '.join(found)}: {text[:160]}")
    print(f"{'':<10} {'words':>8} {'>25 words':>10} {'phrases':>8}")
    for kind in KINDS:
        print(f"{kind:<10} {words[kind]:>8} {long[kind]:>10} {hits[kind]:>8}")
    total = sum(long.values()) + sum(hits.values())
    print(f"{'all':<10} {sum(words.values()):>8} {sum(long.values()):>10} {sum(hits.values()):>8}")
    if arguments.phrases:
        for phrase, number in per_phrase.most_common():
            print(f"  {number:>5} {phrase}")
    if arguments.max is not None and total > arguments.max:
        print(f"error: {total} hits, up to {arguments.max} allowed; list them with --list", file=sys.stderr)
        return 1
    return 0


# --- Facts ---------------------------------------------------------------------------------------


def text_of(place: str) -> str:
    texts = []
    for part in place.split(","):
        path = Path(part)
        if path.is_dir():
            texts += [file.read_text(encoding="utf-8", errors="replace") for file in sorted(path.rglob("*.md"))]
        elif path.exists():
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
        elif ":" in part:
            texts.append(subprocess.run(["git", "show", part], cwd=git_root(), check=True, capture_output=True, text=True).stdout)
        else:
            sys.exit(f"error: {part} is not a file, a folder or REVISION:PATH")
    return "\n".join(texts)


def facts_of(text: str) -> Counter:
    tokens = Counter(re.findall(r"`([^`\n]+)`", text))
    plain = re.sub(r"`[^`\n]+`", " ", text)
    tokens.update(number.replace(",", "").rstrip(".") for number in re.findall(r"(?<![\w.])\d[\d,.]*", plain))
    return tokens


def facts(arguments) -> int:
    old, new = text_of(arguments.old), text_of(arguments.new)
    kept = facts_of(new)
    lost = [fact for fact in facts_of(old) if fact not in kept and fact not in new]
    for fact in lost:
        print(fact)
    print(f"{len(facts_of(old))} facts before, {len(lost)} of them are not in the new text", file=sys.stderr)
    return 1 if lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    counting = commands.add_parser("count", help="count long sentences and phrases to avoid")
    counting.add_argument("paths", nargs="*")
    counting.add_argument("--list", action="store_true", help="print each hit")
    counting.add_argument("--phrases", action="store_true", help="print the hits of each phrase")
    counting.add_argument("--max", type=int, help="fail if there are more hits than this")
    comparing = commands.add_parser("facts", help="list numbers and backticked tokens that a rewrite lost")
    comparing.add_argument("old")
    comparing.add_argument("new")
    arguments = parser.parse_args()
    return count(arguments) if arguments.command == "count" else facts(arguments)


if __name__ == "__main__":
    sys.exit(main())
