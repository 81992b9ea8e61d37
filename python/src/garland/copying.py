"""Copies to nodes and from them: `garland cp`."""

from __future__ import annotations

import os
from typing import Callable, Sequence

from .async_running import AsyncRunningCopy
from .copy_results import CopyResult
from .options import Options
from .program import Path
from .progress import Progress
from .request import Request
from .running import RunningCopy


def _request(
    sources: Path | Sequence[Path], destination: Path, options: Options
) -> Request[CopyResult]:
    many = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    paths = [os.fspath(path) for path in [*many, destination]]
    words = ["cp", "--json", "--progress=json", *options.words(), "--", *paths]
    return Request(words, CopyResult.parse)


class Copy(RunningCopy):
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
        super().__init__(_request(sources, destination, options), binary)


class AsyncCopy(AsyncRunningCopy):
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
        super().__init__(_request(sources, destination, options), binary)


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
        return running.watched_result(progress)


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
        return await running.watched_result(progress)
