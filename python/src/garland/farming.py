"""Many jobs on many nodes: `garland farm run`."""

from __future__ import annotations

import os
from typing import Sequence

from .async_running import AsyncRunning
from .errors import UsageError
from .farm_results import FarmResult
from .jobs import ForEach, Jobs, ListFile, Resume
from .options import FarmOptions
from .program import Path
from .request import Request
from .running import Running


def _request(jobs: Jobs, nodes: str | None, options: FarmOptions) -> Request[FarmResult]:
    words = ["farm", "run", "--json", *options.words()]
    if nodes is not None and nodes.startswith("-"):
        raise UsageError(f"cannot run jobs on {nodes!r}: it names no node")
    where = [] if nodes is None else [nodes]
    if isinstance(jobs, ForEach):
        out = [] if jobs.out is None else [f"--out={jobs.out}"]
        last = ["--", *_command(jobs.command), "::::", "-"]
        return Request([*words, *out, *where, *last], FarmResult.parse, _lines(jobs.inputs))
    if isinstance(jobs, Resume):
        return Request([*words, f"--resume={jobs.run}", *where], FarmResult.parse)
    if isinstance(jobs, (str, os.PathLike)):
        path = os.fspath(jobs)
        # A name that begins with a dash is no option.
        path = os.path.join(".", path) if path.startswith("-") else path
        return Request([*words, path, *where], FarmResult.parse)
    file = ListFile(jobs)
    return Request([*words, file.path, *where], FarmResult.parse, jobs=file)


def _command(words: Sequence[Path]) -> list[str]:
    if isinstance(words, str):
        raise UsageError(
            f"cannot run {words!r} for each input: a command is a list of words; for a shell, "
            '["sh", "-c", LINE, "sh", "{in}"]'
        )
    return [os.fspath(word) for word in words]


def _lines(inputs: Sequence[Path]) -> bytes:
    """One input a line, as the program reads them."""
    lines = [os.fsencode(name) for name in inputs]
    for line in lines:
        if not line or b"\n" in line:
            why = "has a line break" if line else "is empty"
            raise UsageError(f"cannot run a job for the input {os.fsdecode(line)!r}: it {why}")
    return b"\n".join(lines)


class Farm(Running[FarmResult]):
    """A farm whose jobs have been started. `with` ends them."""

    def __init__(
        self,
        jobs: Jobs,
        nodes: str | None = None,
        options: FarmOptions = FarmOptions(),
        *,
        binary: Path | None = None,
    ) -> None:
        """Starts it, as `farm` does. Raises ProgramMissing, and UsageError of odd inputs."""
        super().__init__(_request(jobs, nodes, options), binary)


class AsyncFarm(AsyncRunning[FarmResult]):
    """A farm: `async with` starts and ends its jobs."""

    def __init__(
        self,
        jobs: Jobs,
        nodes: str | None = None,
        options: FarmOptions = FarmOptions(),
        *,
        binary: Path | None = None,
    ) -> None:
        """Takes what `farm` does. Raises ProgramMissing, and UsageError of odd inputs."""
        super().__init__(_request(jobs, nodes, options), binary)


def farm(
    jobs: Jobs,
    nodes: str | None = None,
    options: FarmOptions = FarmOptions(),
    *,
    binary: Path | None = None,
) -> FarmResult:
    """Runs jobs on nodes, or without nodes on this machine, and waits until all have ended.

    Raises JobsFailed if some failed: `result` has the records of all jobs then, too.
    """
    with Farm(jobs, nodes, options, binary=binary) as running:
        return running.result()


async def afarm(
    jobs: Jobs,
    nodes: str | None = None,
    options: FarmOptions = FarmOptions(),
    *,
    binary: Path | None = None,
) -> FarmResult:
    """As `farm`; ends the jobs if the task is cancelled."""
    async with AsyncFarm(jobs, nodes, options, binary=binary) as running:
        return await running.result()
