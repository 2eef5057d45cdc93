"""Runs the tests of a task against a candidate, and names the outcome."""

import ast
import builtins
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gage_sdk import PluginError

from program import complete
from session import CandidateEnded, Session

MAX_EXPLANATION_CHARS = 2_000
"""Maximum length of an explanation. A candidate chooses parts of it, and a card that is too large has no score."""

OUTCOMES_BY_EXCEPTION = {"RecursionError": "recursion", "MemoryError": "out_of_memory", "SyntaxError": "syntax_error"}


@dataclass(frozen=True, slots=True)
class Task:
    """What a candidate is tested with."""

    tests: list[str]
    """Programs that run one after the other."""
    setup: str
    """Code that runs before the tests."""
    prompt: str
    """Code that the candidate continues; an empty text if it is not code."""
    entry_point: str
    """Function for `check`; an empty text if the tests name what they call."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a candidate."""

    outcome: str
    explain: str | None = None
    line: int | None = None
    """Line of the program that raised the exception."""
    test: int | None = None
    """Number of the test that failed, from 1."""


def judge(ask: Callable[[str], str], program: str, task: Task) -> Verdict:
    """Loads a program into the candidate's interpreter, and runs the tests in this one."""
    tests = [_compiled(one, "tests") for one in task.tests]
    session = Session(ask)
    try:
        names = session.load(program)
    except BaseException as error:
        return _failed(session, error, None)
    space = _test_space(task)
    read = _names_read([task.setup, *task.tests], space)
    wanted = set(read) | ({task.entry_point} - {""})
    number = 0
    try:
        for name in sorted(wanted.intersection(names)):
            # A module that the program imported is that of this interpreter in the tests, so that the program cannot
            # replace `math.isclose`. A name that they call, compare or pass on is not that of a module.
            is_module = name in sys.stdlib_module_names and name != task.entry_point and not read[name]
            space[name] = importlib.import_module(name) if is_module else session.named(name)
        if task.entry_point and task.entry_point not in names:
            return Verdict("missing_name", f"the program does not define {task.entry_point}")
        exec(_compiled(task.setup, "setup"), space)
        for number, test in enumerate(tests, 1):
            exec(test, space)
        check = space.get("check")
        if task.entry_point and callable(check):
            check(space[task.entry_point])
    except BaseException as error:
        return _failed(session, error, number if len(tests) > 1 else None)
    if session.ended is not None:
        return Verdict("exit", session.ended)
    if session.uses == 0:
        raise PluginError("invalid_input", "the tests never use the candidate")
    return Verdict("passed")


def _compiled(code: str, name: str) -> Any:
    try:
        return compile(code, f"{name}.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise PluginError("invalid_input", f"the {name} of the sample are not Python: {error}") from None


def _test_space(task: Task) -> dict[str, Any]:
    """Returns the global names of the tests: those that the prompt defines, except for the entry point.

    So the candidate cannot replace a helper of the prompt that the tests use.
    """
    space: dict[str, Any] = {"__name__": "tests", "__builtins__": builtins}
    try:
        exec(compile(complete(task.prompt), "prompt.py", "exec", dont_inherit=True), space)
    except Exception as error:
        raise PluginError("invalid_input", f"the prompt of the sample fails: {type(error).__name__}: {error}") from None
    space.pop(task.entry_point, None)
    return space


def _names_read(programs: list[str], space: dict[str, Any]) -> dict[str, bool]:
    """Returns the names that programs read but do not define: those of the candidate.

    The value is true if a program uses the name otherwise than to read an attribute of it.
    """
    read: dict[str, bool] = {}
    bound = set(space) | set(vars(builtins))
    for program in programs:
        nodes = list(ast.walk(ast.parse(program)))
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read[node.id] = read.get(node.id, False) or id(node) not in owners
            elif isinstance(node, ast.Name):
                bound.add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).split(".")[0])
    return {name: is_value for name, is_value in read.items() if name not in bound}


def _message_of(error: BaseException) -> str:
    """Returns the text of an exception; an empty one if an object of the candidate is part of it and has no text."""
    try:
        return str(error)
    except BaseException:
        return ""


def _shortened(text: str) -> str:
    """Returns a text for a card: without lone surrogates, and not longer than an explanation may be."""
    start = text[:MAX_EXPLANATION_CHARS].encode("utf-8", "backslashreplace").decode()
    return start + "…" if len(text) > MAX_EXPLANATION_CHARS else start


def _failed(session: Session, error: BaseException, test: int | None) -> Verdict:
    if session.ended is not None or isinstance(error, CandidateEnded):
        return Verdict("exit", session.ended, test=test)
    kind = type(error).__name__
    message = _message_of(error)
    text = _shortened(f"{kind}: {message}" if message else kind)
    if any(error is one for one in session.raised):
        names = [one.__name__ for one in type(error).__mro__]
        outcome = next((OUTCOMES_BY_EXCEPTION[name] for name in names if name in OUTCOMES_BY_EXCEPTION), "exception")
        return Verdict(outcome, text, getattr(error, "candidate_line", None), test)
    if isinstance(error, AssertionError):
        return Verdict("wrong_answer", text, test=test)
    if isinstance(error, NameError):
        return Verdict("missing_name", text, test=test)
    return Verdict("exception", f"in the tests: {text}", test=test)
