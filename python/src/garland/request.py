"""A command for the program: its words, what it reads, and what it prints."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from typing import IO, Any, Callable, Generic, Mapping, Sequence, TypeVar, Union

from .errors import GarlandError, error_of
from .jobs import ListFile
from .results import Result

R = TypeVar("R", bound=Result)

Input = Union[str, bytes, IO[bytes]]
"""Standard input: text, bytes, or an open file that the program itself reads on."""


@dataclass(frozen=True)
class Request(Generic[R]):
    """What the program is to do."""

    words: Sequence[str]
    """Those after the program's name."""
    parse: Callable[[Mapping[str, Any]], R]
    """Reads the object that it prints."""
    input: Input | None = None
    """None is an empty one, never that of this process."""
    jobs: ListFile | None = None
    """The file of jobs that the words name, to be removed when the program has ended."""

    def open_input(self) -> IO[bytes]:
        """The program's standard input, to be closed when the program has been started."""
        if self.input is None:
            return open(os.devnull, "rb")
        if isinstance(self.input, (str, bytes)):
            data = self.input.encode() if isinstance(self.input, str) else self.input
            # Whole before the program starts: nothing has to write while it runs.
            file = _unnamed_file()
            file.write(data)
            file.seek(0)
            return file
        return os.fdopen(os.dup(self.input.fileno()), "rb", buffering=0)

    def close(self) -> None:
        """Removes what was for the program only."""
        if self.jobs is not None:
            self.jobs.remove()

    def outcome(self, code: int, printed: str, said: str) -> R:
        """What the ended program did. Raises what `error_of` makes of the code."""
        try:
            raw = json.loads(printed) if printed.strip() else None
            result = self.parse(raw) if raw is not None else None
        except (ValueError, KeyError, TypeError) as error:
            raise GarlandError(f"its result can't be read: {error!r}") from error
        failure = error_of(code, said, result)
        if failure is not None:
            raise failure
        if result is None:
            raise GarlandError("it ended well and said nothing")
        return result


def _unnamed_file() -> IO[bytes]:
    """In memory, since it may be a password; where Python can't, a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("garland-input"), "w+b")
    return tempfile.TemporaryFile()
