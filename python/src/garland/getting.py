"""Contents by their names: `garland get`."""

from __future__ import annotations

import os
from typing import Callable

from .async_running import AsyncRunningCopy
from .copy_results import CopyResult
from .options import GetOptions
from .program import Path
from .progress import Progress
from .request import Request
from .running import RunningCopy


def _request(name: str, destination: Path, options: GetOptions) -> Request[CopyResult]:
    last = ["--", name, os.fspath(destination)]
    return Request(["get", "--json", "--progress=json", *options.words(), *last], CopyResult.parse)


class Get(RunningCopy):
    """A `get` that has been started. Iterating over it gives its progress until it ends."""

    def __init__(
        self,
        name: str,
        destination: Path,
        options: GetOptions = GetOptions(),
        *,
        binary: Path | None = None,
    ) -> None:
        """Starts it; the destination is NODES:PATH, or a path here. Raises ProgramMissing."""
        super().__init__(_request(name, destination, options), binary)


class AsyncGet(AsyncRunningCopy):
    """A `get`: `async with` starts it, `async for` gives its progress until it ends."""

    def __init__(
        self,
        name: str,
        destination: Path,
        options: GetOptions = GetOptions(),
        *,
        binary: Path | None = None,
    ) -> None:
        """The destination is NODES:PATH, or a path here. Raises ProgramMissing."""
        super().__init__(_request(name, destination, options), binary)


def get(
    name: str,
    destination: Path,
    options: GetOptions = GetOptions(),
    *,
    progress: Callable[[Progress], None] | None = None,
    binary: Path | None = None,
) -> CopyResult:
    """Copies the content of a name from all that have it; otherwise as `copy`."""
    with Get(name, destination, options, binary=binary) as running:
        return running.watched_result(progress)


async def aget(
    name: str,
    destination: Path,
    options: GetOptions = GetOptions(),
    *,
    progress: Callable[[Progress], None] | None = None,
    binary: Path | None = None,
) -> CopyResult:
    """Copies the content of a name from all that have it; otherwise as `acopy`."""
    async with AsyncGet(name, destination, options, binary=binary) as running:
        return await running.watched_result(progress)
