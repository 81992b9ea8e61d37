"""A command under way, for asyncio."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import PIPE
from collections import deque
from types import TracebackType
from typing import Any, AsyncIterator, Callable, Generic, TypeVar

from .copy_results import CopyResult
from .program import END_TIMEOUT, MAX_LINES_KEPT, Path, find, missing
from .progress import Progress
from .request import R, Request

_MAX_LINE = 64 << 20
"""Bytes of a line of progress, which names all nodes."""

Self = TypeVar("Self", bound="AsyncRunning[Any]")


class AsyncRunning(Generic[R]):
    """A command: `async with` starts and ends it."""

    def __init__(self, request: Request[R], binary: Path | None) -> None:
        """Raises ProgramMissing."""
        self._program = find(binary)
        self._request = request
        self._said: deque[str] = deque(maxlen=MAX_LINES_KEPT)

    async def __aenter__(self: Self) -> Self:
        """Starts it. Raises ProgramMissing."""
        with self._request.open_input() as standard_input:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    self._program,
                    *self._request.words,
                    stdin=standard_input,
                    stdout=PIPE,
                    stderr=PIPE,
                    limit=_MAX_LINE,
                )
            except OSError as error:
                raise missing(self._program, error) from error
        assert self._process.stdout is not None
        self._printed = asyncio.ensure_future(self._process.stdout.read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it, if it hasn't ended: also if the task is cancelled."""
        self.cancel()
        try:
            await asyncio.wait_for(self._finish(), END_TIMEOUT)
        except asyncio.TimeoutError:
            pass
        finally:
            self._request.close()
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    def cancel(self) -> None:
        """Gives up, as Ctrl-C does: within about a second all nodes have cleaned up."""
        if self._process.returncode is None:
            # It ends the program as Ctrl-C does, also where that is ignored (`python3 x.py &`).
            self._process.send_signal(signal.SIGTERM)

    async def result(self) -> R:
        """Waits for the end. Raises NodesFailed or another GarlandError."""
        code = await self._finish()
        printed = (await self._printed).decode(errors="replace")
        return self._request.outcome(code, printed, "".join(self._said))

    async def _watch(self) -> AsyncIterator[Progress]:
        """Its progress until it ends; what it says to people is kept."""
        stderr = self._process.stderr
        assert stderr is not None
        while line := (await stderr.readline()).decode(errors="replace"):
            progress = Progress.parse(line)
            if progress is not None:
                yield progress
            else:
                self._said.append(line)

    async def _finish(self) -> int:
        """Waits until all that it prints is read and it has ended; its exit code."""
        async for _ in self._watch():
            pass
        await self._printed
        return await self._process.wait()


class AsyncRunningCopy(AsyncRunning[CopyResult]):
    """A command that copies. Iterating over it gives its progress until it ends."""

    def __aiter__(self) -> AsyncIterator[Progress]:
        return self._watch()

    async def watched_result(self, progress: Callable[[Progress], None] | None) -> CopyResult:
        """Waits for the end as `result` does, and tells `progress` how far it is."""
        async for now in self:
            if progress is not None:
                progress(now)
        return await self.result()
