"""Files and modules that stay available in a component, which has no file system.

While a component is built, Python can read the project and its packages. Afterwards nothing can be
read. `keep` therefore copies the files of packages, and those that gage-plugin.toml lists in `files`,
into the memory of the component, and makes `open`, `pathlib`, `os` and `importlib` find them there.
It also imports what functions import, since no module can be loaded from a file later.
"""

import builtins
import errno
import importlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType, TracebackType
from typing import IO, Any

MAX_TOTAL_BYTES = 32 << 20
"""Maximum size of all files that a component keeps."""

_SKIPPED_ENDINGS = (".pyc", ".pyi")
_SKIPPED_FOLDERS = ("__pycache__", "bin")
_AST_ONLY = 0x400
"""The flag of `compile` that returns the syntax tree, as in the module ast."""

_files: dict[str, bytes] = {}
_total_bytes = 0
_folders: dict[str, set[str]] = {}
_roots: list[str] = []


def keep_project(plugin: ModuleType) -> None:
    """Keeps the packages and the listed files of the project that is built now.

    Outside a component, everything stays in its place.
    """
    if sys.platform != "wasi":
        return
    project = os.path.dirname(plugin.__file__ or "")
    sdk = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # componentize-py calls the folders of a build /0, /1, and so on.
    folders = [path for path in sys.path if path[1:].isdecimal() and path not in (project, sdk)]
    keep(project, listed_files(project), folders)


def listed_files(project: str) -> list[str]:
    """Returns `files` of gage-plugin.toml: files and folders, relative to the project."""
    path = f"{project}/gage-plugin.toml"
    if not os.path.exists(path):
        return []
    # Few plugins list files, and the module stays in the component.
    with open(path, encoding="utf-8") as settings:
        text = settings.read()
    if "files" not in text:
        return []
    tomllib = importlib.import_module("tomllib")
    files: list[str] = tomllib.loads(text).get("files", [])
    return files


def keep(project: str, files: list[str], packages: list[str]) -> None:
    """Copies files of a project and folders of packages into memory, and makes Python read them there.
    """
    for name in files:
        path = os.path.normpath(f"{project}/{name}")
        if os.path.isdir(path):
            _add_folder(path)
        else:
            _add_file(path)
    for folder in packages:
        _add_folder(folder)
    _import_later_ones([project, *packages])
    if _files:
        _roots.extend(packages)
        _import_helpers()
        _replace_functions()


def _add_folder(folder: str) -> None:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            if not name.endswith(_SKIPPED_ENDINGS):
                _add_file(f"{parent}/{name}")


def _add_file(path: str) -> None:
    global _total_bytes
    with open(path, "rb") as file:
        content = file.read()
    _total_bytes += len(content) - len(_files.get(path, b""))
    _files[path] = content
    if _total_bytes > MAX_TOTAL_BYTES:
        largest = max(_files, key=lambda one: len(_files[one]))
        raise ValueError(
            f"the files of the plugin and its packages have more than {MAX_TOTAL_BYTES >> 20} MiB; "
            f"the largest is {largest}"
        )
    parent, _, name = path.rpartition("/")
    while parent and name not in _folders.get(parent, ()):
        _folders.setdefault(parent, set()).add(name)
        parent, _, name = parent.rpartition("/")


def _import_later_ones(folders: list[str]) -> None:
    """Imports what the functions of loaded modules import, and what those modules import in turn."""
    seen: set[str] = set()
    while new := [name for name in sys.modules if name not in seen]:
        seen.update(new)
        for name in new:
            module = sys.modules.get(name)
            path = getattr(module, "__file__", None) or ""
            if module is not None and any(path.startswith(f"{one}/") for one in folders):
                for wanted in _imports_of(module, path):
                    _try_import(wanted)


def _imports_of(module: ModuleType, path: str) -> Iterator[str]:
    """Yields the absolute names of the modules that any statement of a module imports."""
    if not path.endswith(".py"):
        return
    with open(path, "rb") as file:
        tree = compile(file.read(), path, "exec", _AST_ONLY)
    open_nodes: list[Any] = [tree]
    while open_nodes:
        node = open_nodes.pop()
        kind = type(node).__name__
        if kind == "If" and _is_name(getattr(node.test, "left", None)):
            continue  # What runs as a program never runs in a component.
        if kind == "Import":
            yield from (alias.name for alias in node.names)
        elif kind == "ImportFrom":
            package = module.__package__ if node.level else ""
            base = _absolute(node.module or "", node.level, package or "")
            if base:
                yield base
                # A name may be a submodule.
                loaded = sys.modules.get(base)
                names = [alias.name for alias in node.names if not hasattr(loaded, alias.name)]
                yield from (f"{base}.{one}" for one in names if one != "*")
        for field in getattr(node, "_fields", ()):
            value = getattr(node, field, None)
            open_nodes.extend(value if isinstance(value, list) else [value])


def _is_name(node: Any) -> bool:
    """Returns whether an expression is `__name__`."""
    return getattr(node, "id", None) == "__name__"


def _absolute(name: str, level: int, package: str) -> str:
    """Returns the absolute name of a module that is named relative to a package."""
    parts = package.split(".")
    if level > len(parts):
        return ""
    start = parts[: len(parts) - level + 1] if level else []
    return ".".join([*start, name] if name else start)


def _try_import(name: str) -> None:
    """Imports a module, if it can be. A function may import one that is optional."""
    if name in sys.modules:
        return
    try:
        importlib.import_module(name)
    except (Exception, SystemExit):  # The function reports this, if it is ever called.
        return


def _import_helpers() -> None:
    """Imports the modules through which packages read their files and their own version."""
    for name in ("importlib.readers", "importlib.resources", "importlib.metadata", "email.parser"):
        importlib.import_module(name)
    # Functions of these modules import them. Not every version of Python has each.
    for name in ("importlib.resources._adapters", "importlib.resources.readers", "importlib.metadata._adapters"):
        _try_import(name)
    metadata = importlib.import_module("importlib.metadata")
    # A first call imports what later calls need.
    for distribution in metadata.distributions():
        _ = distribution.version


def _replace_functions() -> None:
    for module, name, function in (
        (builtins, "open", _open),
        (io, "open", _open),
        (os, "stat", _stat),
        (os, "lstat", _stat),
        (os, "listdir", _listdir),
        (os, "scandir", _scandir),
        (SourceFileLoader, "get_data", _get_data),
    ):
        setattr(module, name, function)
    sys.meta_path.append(_Finder)


_real_open, _real_stat = io.open, os.stat
_real_listdir, _real_scandir = os.listdir, os.scandir
_real_get_data = SourceFileLoader.get_data


def _key(path: Any) -> str:
    """Returns a path in the form in which files are kept."""
    if isinstance(path, int):
        return ""
    text = os.fsdecode(path)
    plain = "//" not in text and "/." not in text and not text.endswith("/")
    return text if plain else os.path.normpath(text)


def _open(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> IO[Any]:
    path = _key(file)
    content = _files.get(path)
    if content is None:
        return _real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    if set(mode) & set("wax+"):
        raise OSError(errno.EROFS, "the files of a plugin cannot be changed", path)
    stream = io.BytesIO(content)
    if "b" in mode:
        return stream
    return io.TextIOWrapper(stream, encoding or "utf-8", errors, newline)


def _stat(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    key = _key(path)
    if key in _files:
        return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, len(_files[key]), 0, 0, 0))
    if key in _folders:
        return os.stat_result((stat.S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    return _real_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


def _listdir(path: Any = ".") -> Any:
    names = _folders.get(_key(path))
    return _real_listdir(path) if names is None else sorted(names)


class _Entry:
    """An entry of a kept folder, with the methods of os.DirEntry."""

    def __init__(self, folder: str, name: str) -> None:
        self.name, self.path = name, f"{folder}/{name}"

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return _key(self.path) in _folders

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return _key(self.path) in _files

    def is_symlink(self) -> bool:
        return False

    def is_junction(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return _stat(self.path)


class _Entries:
    """The entries of a kept folder, as os.scandir returns them."""

    def __init__(self, entries: list[_Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[_Entry]:
        return self._entries

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> "_Entries":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter([])


def _scandir(path: Any = ".") -> Any:
    key = _key(path)
    names = _folders.get(key)
    if names is None:
        return _real_scandir(path)
    # Paths keep the spelling of the caller.
    folder = os.fspath(path) if isinstance(path, (str, os.PathLike)) else key
    return _Entries([_Entry(str(folder).rstrip("/"), name) for name in sorted(names)])


def _get_data(loader: SourceFileLoader, path: str) -> bytes:
    content = _files.get(_key(path))
    return _real_get_data(loader, path) if content is None else content


class _Finder:
    """Finds modules of packages that are imported only when a function runs."""

    @staticmethod
    def find_spec(
        name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        last = name.rpartition(".")[2]
        for folder in _roots if path is None else path:
            base = f"{folder}/{last}"
            if f"{base}/__init__.py" in _files:
                init = f"{base}/__init__.py"
                return spec_from_file_location(name, init, submodule_search_locations=[base])
            if f"{base}.py" in _files:
                return spec_from_file_location(name, f"{base}.py")
        return None
