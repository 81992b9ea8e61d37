"""What the jobs of a farm are, and the file in which the program reads them (docs/jobs.md)."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import weakref
from dataclasses import dataclass
from typing import Sequence, Union

from .program import Path


@dataclass(frozen=True)
class Job:
    """A job; what isn't given is as the options of the farm say."""

    command: str | Sequence[Path]
    """A line for a shell, or words that need none; {in} and {out} are its first files."""
    inputs: Sequence[Path] = ()
    outputs: Sequence[Path] = ()
    name: str | None = None
    """In results; the first input otherwise, or the command."""
    cores: int | None = None
    memory: str | None = None
    """Such as "2GB": the node must have as much free."""
    timeout: str | None = None
    """Such as "90s"."""
    checkpoint: str | None = None
    """A command that saves the running job's work; `restore` goes on from it."""
    restore: str | None = None
    state: Sequence[Path] = ()
    """The files with the saved work."""


@dataclass(frozen=True)
class ForEach:
    """A job for each input: {in} in the command's words is the input file, {} is any word."""

    inputs: Sequence[Path]
    command: Sequence[Path]
    out: str | None = None
    """The name of each output, which is {out}: "{.}.mp3" is the input with another ending."""


@dataclass(frozen=True)
class Resume:
    """What is left of a run that was given up or whose controller has died."""

    run: str = "last"


Jobs = Union[Path, Sequence[Union[str, Job]], ForEach, Resume]
"""The path of a file of jobs, a list of them in which text is a line for a shell, or as named."""


class ListFile:
    """A file of jobs, which exists until it's removed or nobody has this object any more."""

    def __init__(self, jobs: Sequence[str | Job]) -> None:
        tables = [_table(Job(job) if isinstance(job, str) else job) for job in jobs]
        handle, self.path = tempfile.mkstemp(prefix="garland-jobs-", suffix=".toml")
        self.remove = weakref.finalize(self, _remove, self.path)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(tables))


def _remove(path: str) -> None:
    # Whoever cleans up temporary files may have been first.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _table(job: Job) -> str:
    """A job in TOML."""
    command = _text(job.command) if isinstance(job.command, str) else _names(job.command)
    values = {
        "command": command,
        "inputs": _names(job.inputs),
        "outputs": _names(job.outputs),
        "name": _text(job.name),
        "cores": None if job.cores is None else str(job.cores),
        "memory": _text(job.memory),
        "timeout": _text(job.timeout),
        "checkpoint": _name(job.checkpoint),
        "restore": _name(job.restore),
        "state": _names(job.state),
    }
    lines = [f"{key} = {value}\n" for key, value in values.items() if value is not None]
    return "".join(["[[job]]\n", *lines])


def _text(text: str | None) -> str | None:
    """A string of TOML: that of JSON, but TOML also refuses DEL."""
    if text is None:
        return None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(name: Path | None) -> str | None:
    """A name of any bytes: those that are no text are `\\xHH`, and a backslash is doubled."""
    if name is None:
        return None
    doubled = os.fsencode(name).replace(b"\\", b"\\\\")
    return _text(doubled.decode("utf-8", "backslashreplace"))


def _names(names: Sequence[Path]) -> str:
    return "[" + ", ".join(str(_name(name)) for name in names) + "]"
