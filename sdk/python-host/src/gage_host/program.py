"""Finds the installed program."""

import os
import shutil
import sysconfig


def find_gage_host_bin() -> str:
    """Returns the path of the program `gage-host`.

    The program of this environment comes first, then that of the user's installation, then one on the PATH.

    Raises:
        FileNotFoundError: If there is none.
    """
    name = "gage-host" + (sysconfig.get_config_var("EXE") or "")
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
