"""A copy under way: the program, what it prints, and its end."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import deque
from types import TracebackType
from typing import Callable, Iterator, Sequence

from .options import Options
from .program import PATIENCE, SAID_MAX, Path, missing, result_of, words
from .progress import Progress
from .results import CopyResult


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
        command = words(sources, destination, options, binary)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise missing(command[0], error) from error
        self._said: deque[str] = deque(maxlen=SAID_MAX)
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
        return result_of(self._process.returncode, self._printed, "".join(self._said))

    def _finish(self) -> None:
        """Waits until the program has ended and all that it printed is read."""
        drain = threading.Thread(target=lambda: deque(self, maxlen=0), daemon=True)
        if self._process.stderr is not None and not self._process.stderr.closed:
            drain.start()
        try:
            self._process.wait(PATIENCE)
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
