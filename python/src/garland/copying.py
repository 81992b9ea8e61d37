"""A copy under way: the program, what it prints, and its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from types import TracebackType
from typing import Callable, Iterator, Sequence, Union

from .errors import GarlandError, ProgramMissing, error_of
from .options import Options
from .progress import Progress
from .results import CopyResult

Path = Union[str, "os.PathLike[str]"]

_PATIENCE = 15.0
"""Seconds that a copy may take to end once it was given up."""

_SAID_MAX = 200
"""Lines for people that are kept."""


class Copy:
    """A copy that has been started. Iterating over it gives its progress until it ends."""

    def __init__(
        self,
        sources: Path | Sequence[Path],
        destination: Path,
        options: Options = Options(),
        *,
        binary: Path | None = None,
    ) -> None:
        """Starts it; NODES:PATH is a source or the destination. Raises ProgramMissing."""
        many = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
        words = [_program(binary), "cp", "--json", "--progress=json", *options.words(), "--"]
        words += [os.fspath(path) for path in [*many, destination]]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise ProgramMissing(f"{words[0]}: {error.strerror}") from error
        self._said: deque[str] = deque(maxlen=_SAID_MAX)
        self._printed = ""
        self._reader = threading.Thread(target=self._read_result, daemon=True)
        self._reader.start()

    def __enter__(self) -> Copy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it, if it hasn't ended."""
        if self._process.poll() is None:
            self.cancel()
        self._finish()

    def __iter__(self) -> Iterator[Progress]:
        stderr = self._process.stderr
        assert stderr is not None
        for line in iter(stderr.readline, ""):
            progress = Progress.of(line)
            if progress is not None:
                yield progress
            else:
                self._said.append(line)

    def cancel(self) -> None:
        """Gives up, as Ctrl-C does: within about a second all nodes have cleaned up."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def result(self) -> CopyResult:
        """Waits for the end. Raises NodesFailed, NothingDone, UsageError or Cancelled."""
        for _ in self:
            pass
        self._finish()
        try:
            raw = json.loads(self._printed) if self._printed.strip() else None
            result = CopyResult.of(raw) if raw is not None else None
        except (ValueError, KeyError, TypeError) as error:
            raise GarlandError(f"its result can't be read: {error!r}") from error
        failure = error_of(self._process.returncode, "".join(self._said), result)
        if failure is not None:
            raise failure
        if result is None:
            raise GarlandError("it ended well and said nothing")
        return result

    def _finish(self) -> None:
        """Waits until the program has ended and all that it printed is read."""
        drain = threading.Thread(target=lambda: deque(self, maxlen=0), daemon=True)
        if self._process.stderr is not None and not self._process.stderr.closed:
            drain.start()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if drain.ident is not None:
            drain.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _read_result(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        self._printed = stdout.read()


def copy(
    sources: Path | Sequence[Path],
    destination: Path,
    options: Options = Options(),
    *,
    progress: Callable[[Progress], None] | None = None,
    binary: Path | None = None,
) -> CopyResult:
    """Copies, and tells `progress` how far it is; ends the copy if that raises anything."""
    with Copy(sources, destination, options, binary=binary) as running:
        for now in running:
            if progress is not None:
                progress(now)
        return running.result()


def _program(binary: Path | None) -> str:
    if binary is not None:
        return os.fspath(binary)
    named = os.environ.get("GARLAND") or shutil.which("garland")
    if named is None:
        raise ProgramMissing("no program `garland` on the PATH; GARLAND may say where it is")
    return named
