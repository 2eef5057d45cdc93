"""The program of a candidate, taken from the answer of a model."""

import re

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\2|\Z)", re.MULTILINE | re.DOTALL)

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
    code = code_of(answer, entry_point)
    whole_prompt = complete(prompt)
    if form == "whole" or not whole_prompt:
        return code
    if defines(code, entry_point):
        future = "".join(f"{line}\n" for line in _FUTURE.findall(code))
        return f"{future}{whole_prompt}\n\n{_FUTURE.sub('', code)}"
    # The host removes the last line break of a prompt that became a message.
    is_open = not prompt.endswith("\n") and not code.startswith("\n")
    return f"{prompt}\n{code}" if is_open else prompt + code


def code_of(answer: str, entry_point: str) -> str:
    """Returns the first fenced block that defines the entry point, or the first one, or the whole answer if it has none."""
    blocks = [_without_indent(code, indent) for indent, _, code in _FENCE.findall(answer)]
    if not blocks:
        return answer
    return next((one for one in blocks if entry_point and defines(one, entry_point)), blocks[0])


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
