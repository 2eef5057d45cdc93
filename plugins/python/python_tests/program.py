"""The program of a candidate, taken from the answer of a model."""

import ast
import re
import warnings
from collections.abc import Iterator

_FENCE = re.compile(r"^([ \t]*)(`{3,})[^\n`]*\n(.*?)(?:^[ \t]*\2|(\Z))", re.MULTILINE | re.DOTALL)
_TILDES = re.compile(r"^([ \t]*)(~{3,})[^\n`~]*\n", re.MULTILINE)

_FUTURE = re.compile(r"^from __future__ import [^(\n]*$", re.MULTILINE)

_FIRST_WORDS = ("def ", "async def ", "class ", "import ", "from ")
"""Beginnings of lines, one of which a prompt has if it is code."""


def program_of(answer: str, prompt: str, entry_point: str, form: str) -> str:
    """Returns the program that the tests call.

    `completion` continues the prompt with the answer as it is. `whole` is the code of the answer alone. `auto` puts the prompt
    before a whole function, for its imports and helpers, and continues the prompt with anything else. Imports of
    `__future__` come before the prompt. A prompt that is not code is left out.
    """
    if form == "completion":
        return prompt + answer
    code, indented = code_of(answer, entry_point)
    whole_prompt = complete(prompt)
    if form == "whole" or not whole_prompt:
        return code
    if defines(code, entry_point):
        future = "".join(f"{line}\n" for line in _FUTURE.findall(code))
        return f"{future}{whole_prompt}\n\n{_FUTURE.sub('', code)}"
    program, other = _continued(prompt, code), _continued(prompt, indented)
    # The indent of a fence is that of the body of the function, or that of an item of a list.
    return other if other != program and not _is_python(program) and _is_python(other) else program


def entry_point_of(prompt: str) -> str:
    """Returns the name of the last function or class that a prompt defines: that which the candidate continues."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [one.name for one in ast.parse(complete(prompt)).body if isinstance(one, kinds)]
    return names[-1] if names else ""


def _continued(prompt: str, code: str) -> str:
    # The host removes the last line break of a prompt that became a message.
    is_open = not prompt.endswith("\n") and not code.startswith("\n")
    return f"{prompt}\n{code}" if is_open else prompt + code


def _is_python(program: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(program, "program.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def code_of(answer: str, entry_point: str) -> tuple[str, str]:
    """Returns the first fenced block that defines the entry point, or the first one, or the whole answer if it has none.

    The second text is the block with the indent of its fence.
    """
    blocks = [(_without_indent(code, indent), code) for indent, code in _blocks(answer, entry_point)]
    if not blocks:
        return answer, answer
    return next((one for one in blocks if entry_point and defines(one[0], entry_point)), blocks[0])


def _blocks(answer: str, entry_point: str) -> list[tuple[str, str]]:
    """Returns the indents and codes of fenced blocks. One that has others in it counts only if none of them is a program."""
    tildes = list(_tilde_blocks(answer, entry_point))
    fences = list(_FENCE.finditer(answer))
    # Lines of tildes also underline titles, in a program or around it.
    if all(any(start < fence.start() < end for start, end, *_ in tildes) for fence in fences):
        blocks = [(indent, code) for *_, indent, code in tildes]
    else:
        blocks = [(fence[1], fence[3]) for fence in fences]
    found = []
    for indent, code in blocks:
        closed = [(one[1], one[3]) for one in _FENCE.finditer(code) if one[4] is None]
        inner = [one for one in closed if defines(_without_indent(one[1], one[0]), entry_point)]
        found.extend(inner or [(indent, code)])
    return found


def _tilde_blocks(answer: str, entry_point: str) -> Iterator[tuple[int, int, str, str]]:
    """Yields start, end, indent and code of the blocks between lines of tildes that are programs."""
    start = _TILDES.search(answer)
    if start is None or _is_python(answer):
        return
    while start is not None:
        end = re.compile(rf"^{start[1]}{start[2]}~*[ \t\r]*$", re.MULTILINE).search(answer, start.end())
        if end is None:
            return
        code = answer[start.end() : end.start()]
        if defines(_without_indent(code, start[1]), entry_point):
            yield start.start(), end.start(), start[1], code
        start = _TILDES.search(answer, end.end())


def _without_indent(code: str, indent: str) -> str:
    """Returns the code of a block in an item of a list, whose lines have the indent of the item."""
    lines = code.split("\n")
    has_indent = all(line.startswith(indent) or not line.strip() for line in lines)
    return "\n".join(line[len(indent) :] for line in lines) if has_indent else code


def defines(code: str, name: str) -> bool:
    """Returns whether a line of the code defines a global name; any function or class if no name is given."""
    for line in code.splitlines():
        head = line.removeprefix("async ")
        for word in ("def ", "class "):
            if head.startswith(word):
                found = head[len(word) :].replace(":", "(").replace("[", "(").partition("(")[0].strip()
                if found == name or not name:
                    return True
        target, equals, value = line.partition("=")
        if name and equals and target.rstrip() == name and not value.startswith("="):
            return True
    return False


def complete(prompt: str) -> str:
    """Returns a prompt as a program of its own: one that ends with a signature gets a body. An empty text if it is not code."""
    if not any(line.startswith(_FIRST_WORDS) for line in prompt.splitlines()):
        return ""
    for program in (prompt, f"{prompt.rstrip()}\n    pass\n"):
        try:
            compile(program, "prompt.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        return program
    return ""
