"""Runs the tests of a task against a candidate, and names the outcome."""

import ast
import builtins
import importlib
import symtable
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


RESERVED_NAMES = frozenset(
    (
        "unittest pytest nose mock expect approx raises np numpy pd pandas scipy sp sympy torch tf plt "
        "isclose allclose array_equal "
        "assertEqual assertNotEqual assertAlmostEqual assertTrue assertFalse assertIn assertRaises "
        "assertListEqual assertDictEqual "
        "assert_equal assert_almost_equal assert_allclose assert_array_equal assert_array_almost_equal "
        "assert_raises assert_true assert_frame_equal assert_series_equal assert_that"
    ).split()
)
"""Names that frameworks and libraries for tests define. A program must not stand in for them."""


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
    setup, tests = _compiled(task.setup, "setup"), [_compiled(one, "tests") for one in task.tests]
    for code in (task.setup, *task.tests):
        _check_imports(code)
    session = Session(ask)
    try:
        names = session.load(program)
    except BaseException as error:
        return _failed(session, error, None)
    space = _test_space(task)
    read, builtins_read = _names_read([task.setup, *task.tests], space)
    number = 0
    try:
        if task.entry_point and task.entry_point not in names:
            return Verdict("missing_name", f"the program does not define {task.entry_point}")
        space.update(_values_of_program(session, task.entry_point, read, names))
        if not task.entry_point and not read:
            space.update(_tested_builtin(session, program, builtins_read.intersection(names)))
        candidate = space.get(task.entry_point)
        exec(setup, space)
        for number, test in enumerate(tests, 1):
            exec(test, space)
        check = space.get("check")
        # The entry point may have this name itself.
        if task.entry_point and callable(check) and check is not candidate:
            check(candidate if task.entry_point == "check" else space[task.entry_point])
    except BaseException as error:
        return _failed(session, error, number if len(tests) > 1 else None)
    if session.ended is not None:
        return Verdict("exit", session.ended)
    if session.uses > 0:
        return Verdict("passed")
    is_lacking = not task.entry_point and not (set(read) - RESERVED_NAMES).issubset(names)
    if session.looks > 0 or is_lacking:
        return Verdict("missing_name", "the tests used nothing of the program")
    raise PluginError("invalid_input", "the tests never use the candidate")


def _values_of_program(session: Session, entry_point: str, read: dict[str, bool], names: list[str]) -> dict[str, Any]:
    """Returns the values of the names that tests read: the entry point, or all names of the program if there is none."""
    values: dict[str, Any] = {}
    for name in sorted((set(read) | {entry_point}).intersection(names)):
        # A module that the program imported is that of this interpreter in the tests, so that the program cannot
        # replace `math.isclose`. A name that they call, compare or pass on is not that of a module.
        if name in sys.stdlib_module_names and name != entry_point and not read[name]:
            values[name] = importlib.import_module(name)
        elif name == entry_point or (not entry_point and name not in RESERVED_NAMES):
            values[name] = session.named(name)
    return values


def _tested_builtin(session: Session, program: str, names: set[str]) -> dict[str, Any]:
    """Returns the function of the program for tests whose function is named like a built-in one, such as `sum`.

    `names` are the built-in names that the tests read and the program replaces. Of several, one could be a helper.
    """
    if len(names) != 1:
        return {}
    functions = {one.name for one in ast.parse(program).body if isinstance(one, ast.FunctionDef)}
    return {name: session.named(name) for name in names.intersection(functions)}


def _check_imports(code: str) -> None:
    """Raises PluginError if a module that tests import in any case is not there."""
    for node in ast.parse(code).body:
        modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module]
        for module in modules:
            try:
                importlib.import_module(module)
            except ImportError:
                message = f"the tests of the sample import '{module}', which the component does not have"
                raise PluginError("unsupported", message) from None


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


def _names_read(programs: list[str], space: dict[str, Any]) -> tuple[dict[str, bool], set[str]]:
    """Returns the names that programs read but do not define: those of the candidate, and the built-in ones.

    The value is true if a program uses the name otherwise than to read an attribute of it.
    """
    read: set[str] = set()
    values: set[str] = set()
    bound = set(space)
    for program in programs:
        nodes = list(ast.walk(ast.parse(program)))
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        values |= {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in owners}
        tables = [symtable.symtable(program, "tests.py", "exec")]
        for table in tables:
            tables.extend(table.get_children())
            is_module = table.get_type() == "module"
            for symbol in table.get_symbols():
                if not is_module and not symbol.is_global():
                    continue
                if symbol.is_referenced():
                    read.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(symbol.get_name())
    of_python = set(vars(builtins))
    return {name: name in values for name in read - bound - of_python}, (read - bound) & of_python


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
