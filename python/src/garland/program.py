"""The program `garland`: where it is, and what its end means."""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
from typing import Sequence, Union

from .errors import GarlandError, ProgramMissing, error_of
from .options import Options
from .results import CopyResult

Path = Union[str, "os.PathLike[str]"]

PATIENCE = 15.0
"""Seconds that a copy may take to end once it was given up."""

SAID_MAX = 200
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


def words(
    sources: Path | Sequence[Path], destination: Path, options: Options, binary: Path | None
) -> list[str]:
    """The command of a copy, which prints its progress and its result as JSON."""
    many = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    paths = [os.fspath(path) for path in [*many, destination]]
    return [find(binary), "cp", "--json", "--progress=json", *options.words(), "--", *paths]


def missing(program: str, error: OSError) -> ProgramMissing:
    """The error of a program that can't be started."""
    return ProgramMissing(f"{program}: {error.strerror}")


def result_of(code: int, printed: str, said: str) -> CopyResult:
    """What an ended copy printed. Raises NodesFailed, NothingDone, UsageError or Cancelled."""
    try:
        raw = json.loads(printed) if printed.strip() else None
        result = CopyResult.of(raw) if raw is not None else None
    except (ValueError, KeyError, TypeError) as error:
        raise GarlandError(f"its result can't be read: {error!r}") from error
    failure = error_of(code, said, result)
    if failure is not None:
        raise failure
    if result is None:
        raise GarlandError("it ended well and said nothing")
    return result
