"""A command under way: the program, what it prints, and its end."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import deque
from types import TracebackType
from typing import Any, Callable, Generic, Iterator, TypeVar

from .copy_results import CopyResult
from .program import END_TIMEOUT, MAX_LINES_KEPT, Path, find, missing
from .progress import Progress
from .request import R, Request

Self = TypeVar("Self", bound="Running[Any]")


class Running(Generic[R]):
    """A command that has been started. `with` ends it."""

    def __init__(self, request: Request[R], binary: Path | None) -> None:
        """Starts it. Raises ProgramMissing."""
        program = find(binary)
        self._request = request
        with request.open_input() as standard_input:
            try:
                self._process = subprocess.Popen(
                    [program, *request.words],
                    stdin=standard_input,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise missing(program, error) from error
        self._said: deque[str] = deque(maxlen=MAX_LINES_KEPT)
        self._printed = ""
        self._reader = threading.Thread(target=self._read_result, daemon=True)
        self._reader.start()

    def __enter__(self: Self) -> Self:
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

    def cancel(self) -> None:
        """Gives up, as Ctrl-C does: within about a second all nodes have cleaned up."""
        if self._process.poll() is None:
            # It ends the program as Ctrl-C does, also where that is ignored (`python3 x.py &`).
            self._process.send_signal(signal.SIGTERM)

    def result(self) -> R:
        """Waits for the end. Raises NodesFailed or another GarlandError."""
        for _ in self._watch():
            pass
        self._finish()
        said = "".join(self._said)
        return self._request.outcome(self._process.returncode, self._printed, said)

    def _watch(self) -> Iterator[Progress]:
        """Its progress until it ends; what it says to people is kept."""
        stderr = self._process.stderr
        assert stderr is not None
        if stderr.closed:
            return
        for line in iter(stderr.readline, ""):
            progress = Progress.parse(line)
            if progress is not None:
                yield progress
            else:
                self._said.append(line)

    def _finish(self) -> None:
        """Waits until the program has ended and all that it printed is read."""
        drain = threading.Thread(target=lambda: deque(self._watch(), maxlen=0), daemon=True)
        if self._process.stderr is not None and not self._process.stderr.closed:
            drain.start()
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if drain.ident is not None:
            drain.join()
        self._request.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _read_result(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        self._printed = stdout.read()


class RunningCopy(Running[CopyResult]):
    """A command that copies. Iterating over it gives its progress until it ends."""

    def __iter__(self) -> Iterator[Progress]:
        return self._watch()

    def watched_result(self, progress: Callable[[Progress], None] | None) -> CopyResult:
        """Waits for the end as `result` does, and tells `progress` how far it is."""
        for now in self:
            if progress is not None:
                progress(now)
        return self.result()
