"""Puts a component into another one twice: the first instance runs the candidate, the second one the tests.

    compose.py INTERPRETER.wasm OUTPUT.wasm [text|bytes]

The interpreter exports `answer` and imports `ask`, both functions of a text (or of bytes) that return the same. The `ask` of the second
instance is the `answer` of the first; that of the first traps. Each instance has a memory of its own, which the other cannot
reach. The result has the other imports of the interpreter, and exports `gage:plugin/metric`.
"""

import sys
from pathlib import Path

# Sections of a component.
CUSTOM, CORE_MODULE, CORE_INSTANCE, COMPONENT, INSTANCE, ALIAS, TYPE, CANON, IMPORT, EXPORT = 0, 1, 2, 4, 5, 6, 7, 8, 10, 11
# Sorts of definitions.
FUNC, SORT_INSTANCE = 0x01, 0x05
HEADER = b"\0asm\x0d\0\x01\0"
METRIC = "gage:plugin/metric@0.1.1"

# (module (memory (export "m") 1)
#   (func (export "r") (param i32 i32 i32 i32) (result i32) unreachable)
#   (func (export "f") (param i32 i32) (result i32) unreachable))
TRAP_MODULE = bytes.fromhex(
    "0061736d01000000" "010f02" "60047f7f7f7f017f" "60027f7f017f" "0303020001"
    "0503010001" "070d03" "016d0200" "01720000" "01660001" "0a09020300000b0300000b"
)


def unsigned(value: int) -> bytes:
    """Encodes a number in LEB128."""
    parts = bytearray()
    while True:
        value, part = value >> 7, value & 0x7F
        parts.append(part | (0x80 if value else 0))
        if not value:
            return bytes(parts)


def text(value: str) -> bytes:
    data = value.encode()
    return unsigned(len(data)) + data


def section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + unsigned(len(content)) + content


def read_unsigned(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        part = data[place]
        place += 1
        value |= (part & 0x7F) << shift
        shift += 7
        if part < 0x80:
            return value, place


def sections(component: bytes) -> list[tuple[int, bytes]]:
    """Returns the kind and the content of each section."""
    if component[:8] != HEADER:
        raise SystemExit("compose.py: the file is not a component")
    found, place = [], 8
    while place < len(component):
        size, start = read_unsigned(component, place + 1)
        found.append((component[place], component[start : start + size]))
        place = start + size
    return found


def imports_of(content: bytes) -> list[tuple[str, int, bytes]]:
    """Returns the name, the sort and the bytes of each import of a section."""
    count, place = read_unsigned(content, 0)
    found = []
    for _ in range(count):
        start = place
        size, place = read_unsigned(content, place + 1)
        name = content[place : place + size].decode()
        place += size
        sort = content[place]
        place += 1
        if sort not in (FUNC, SORT_INSTANCE):
            raise SystemExit(f"compose.py: the import '{name}' is neither a function nor an instance")
        _, place = read_unsigned(content, place)
        found.append((name, sort, content[start:place]))
    return found


# Types by the last argument: definitions before that of the function, the type of the request, and the function's index.
TYPES = {"text": (b"", b"\x73", 0), "bytes": (b"\x70\x7d", b"\x00", 1)}


def trap_component(kind: str) -> bytes:
    """Returns a component that exports `f`, a function of a request that returns a reply, which traps."""
    before, value, index = TYPES[kind]
    function_type = bytes([index + 1]) + before + b"\x40\x01" + text("request") + value + b"\x00" + value
    parts = [
        section(CORE_MODULE, TRAP_MODULE),
        section(CORE_INSTANCE, b"\x01\x00\x00\x00"),
        section(TYPE, function_type),
        # The memory, the allocator, and the function.
        section(ALIAS, b"\x03" + b"\x00\x02\x01\x00" + text("m") + b"\x00\x00\x01\x00" + text("r") + b"\x00\x00\x01\x00" + text("f")),
        # (canon lift (core func 1) string-encoding=utf8 (memory 0) (realloc 0)) (type index)
        section(CANON, b"\x01\x00\x00\x01\x03\x00\x03\x00\x04\x00" + bytes([index])),
        section(EXPORT, b"\x01\x00" + text("f") + b"\x01\x00\x00"),
    ]
    return HEADER + b"".join(parts)


def compose(interpreter: bytes, request_kind: str) -> bytes:
    """Returns the component with two instances of the interpreter."""
    prefix, instances, has_ask = [], [], False
    for kind, content in sections(interpreter):
        if kind == IMPORT:
            kept = []
            for name, sort, data in imports_of(content):
                if sort == SORT_INSTANCE:
                    instances.append(name)
                    kept.append(data)
                elif name == "ask":
                    has_ask = True
                else:
                    raise SystemExit(f"compose.py: the interpreter imports the function '{name}'")
            if kept:
                prefix.append(section(IMPORT, unsigned(len(kept)) + b"".join(kept)))
        elif kind in (TYPE, ALIAS):
            # The indices stay the same, because each definition before these is here too, except for a function.
            prefix.append(section(kind, content))
        else:
            break
    if not has_ask:
        raise SystemExit("compose.py: the interpreter does not import `ask`")
    given = [text(name) + b"\x05" + unsigned(index) for index, name in enumerate(instances)]
    count = len(instances)

    def instance(ask: int) -> bytes:
        arguments = [*given, text("ask") + b"\x01" + unsigned(ask)]
        return b"\x00\x01" + unsigned(len(arguments)) + b"".join(arguments)

    def exported(sort: int, of: int, name: str) -> bytes:
        return section(ALIAS, b"\x01" + bytes([sort, 0x00]) + unsigned(of) + text(name))

    trap, candidate, tests, metric = count, count + 1, count + 2, count + 3
    parts = [
        *prefix,
        section(COMPONENT, trap_component(request_kind)),
        section(COMPONENT, interpreter),
        section(INSTANCE, b"\x01\x00\x00\x00"),
        exported(FUNC, trap, "f"),
        section(INSTANCE, b"\x01" + instance(0)),
        exported(FUNC, candidate, "answer"),
        section(INSTANCE, b"\x01" + instance(1)),
        exported(SORT_INSTANCE, tests, METRIC),
        section(EXPORT, b"\x01\x00" + text(METRIC) + b"\x05" + unsigned(metric) + b"\x00"),
    ]
    return HEADER + b"".join(parts)


if __name__ == "__main__":
    source, output, *kinds = sys.argv[1:]
    Path(output).write_bytes(compose(Path(source).read_bytes(), kinds[0] if kinds else "text"))
