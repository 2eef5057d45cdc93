"""The program gage-host, which this package installs."""

from .program import find_gage_host_bin

__all__ = ["find_gage_host_bin"]
