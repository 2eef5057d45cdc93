"""Finds the installed program."""

import importlib.metadata
import os
import shutil
import sysconfig


def find_gage_host_bin() -> str:
    """Returns the path of the program `gage-host`.

    The program that was installed with this package comes first, then that of this environment, that of
    the user's installation, and one on the PATH.

    Raises:
        FileNotFoundError: If there is none.
    """
    name = "gage-host" + (sysconfig.get_config_var("EXE") or "")
    installed = _installed_with_package(name)
    if installed is not None:
        return installed
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    on_path = shutil.which(name)
    if on_path is None:
        searched = ", ".join(folders)
        raise FileNotFoundError(
            f"gage-host is not installed: it is neither in {searched} nor on the PATH; "
            "install the wheel again, or add the program's folder to the PATH"
        )
    return on_path


def _installed_with_package(name: str) -> str | None:
    """Returns the program that the installer recorded: `--prefix` puts it outside of this environment."""
    try:
        files = importlib.metadata.files("gage-host") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        path = os.path.normpath(file.locate())
        if file.name == name and os.path.isfile(path):
            return path
    return None
