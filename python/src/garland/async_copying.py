"""A copy under way, for asyncio."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from types import TracebackType
from typing import AsyncIterator, Callable, Sequence

from .options import Options
from .program import PATIENCE, SAID_MAX, Path, missing, result_of, words
from .progress import Progress
from .results import CopyResult

_LINE_MAX = 64 << 20
"""Bytes of a line of progress, which names all nodes."""


class AsyncCopy:
    """A copy: `async with` starts it, `async for` gives its progress until it ends."""

    def __init__(
        self,
        sources: Path | Sequence[Path],
        destination: Path,
        options: Options = Options(),
        *,
        binary: Path | None = None,
    ) -> None:
        """NODES:PATH is a source or the destination. Raises ProgramMissing."""
        self._words = words(sources, destination, options, binary)
        self._said: deque[str] = deque(maxlen=SAID_MAX)

    async def __aenter__(self) -> AsyncCopy:
        """Starts it. Raises ProgramMissing."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._words, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, limit=_LINE_MAX
            )
        except OSError as error:
            raise missing(self._words[0], error) from error
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
            await asyncio.wait_for(self._finish(), PATIENCE)
        except asyncio.TimeoutError:
            pass
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()

    async def __aiter__(self) -> AsyncIterator[Progress]:
        stderr = self._process.stderr
        assert stderr is not None
        while line := (await stderr.readline()).decode(errors="replace"):
            progress = Progress.of(line)
            if progress is not None:
                yield progress
            else:
                self._said.append(line)

    def cancel(self) -> None:
        """Gives up, as Ctrl-C does: within about a second all nodes have cleaned up."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)

    async def result(self) -> CopyResult:
        """Waits for the end. Raises NodesFailed, NothingDone, UsageError or Cancelled."""
        printed, code = await self._finish()
        return result_of(code, printed.decode(errors="replace"), "".join(self._said))

    async def _finish(self) -> tuple[bytes, int]:
        """Waits until all that it prints is read and it has ended."""
        async for _ in self:
            pass
        return await self._printed, await self._process.wait()


async def acopy(
    sources: Path | Sequence[Path],
    destination: Path,
    options: Options = Options(),
    *,
    progress: Callable[[Progress], None] | None = None,
    binary: Path | None = None,
) -> CopyResult:
    """Copies, and tells `progress` how far it is; ends the copy if the task is cancelled."""
    async with AsyncCopy(sources, destination, options, binary=binary) as running:
        async for now in running:
            if progress is not None:
                progress(now)
        return await running.result()
