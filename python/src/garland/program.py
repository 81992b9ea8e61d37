"""The program `garland`: where it is, and what of it is kept."""

from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Union

from .errors import ProgramMissing

Path = Union[str, "os.PathLike[str]"]

END_TIMEOUT = 15.0
"""Seconds that the program may take to end once it was given up."""

MAX_LINES_KEPT = 200
"""Lines for people that are kept."""


def find(binary: Path | None = None) -> str:
    """The program: `binary`, that of GARLAND, of this Python environment, or on the PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "garland")
    named = binary or os.environ.get("GARLAND") or shutil.which(own) or shutil.which("garland")
    if not named:
        raise ProgramMissing(
            f"there is no program `garland`, neither {own} nor on the PATH: install a wheel that "
            "contains it (`make wheel`) or a package, or set GARLAND to its path"
        )
    return os.fspath(named)


def missing(program: str, error: OSError) -> ProgramMissing:
    """The error of a program that can't be started."""
    return ProgramMissing(f"{program}: {error.strerror}")
