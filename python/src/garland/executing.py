"""Commands on nodes: `garland exec`.

The function is `execute`, since `exec` is Python's own: after `from garland import *`, or in a line
that says `exec(..)`, nobody must have to ask which one is meant.
"""

from __future__ import annotations

import os
from typing import Sequence

from .async_running import AsyncRunning
from .exec_results import ExecResult
from .options import ExecOptions
from .program import Path
from .request import Input, Request
from .running import Running


def _request(
    nodes: str, command: str | Sequence[Path], options: ExecOptions, standard_input: Input | None
) -> Request[ExecResult]:
    is_line = isinstance(command, str)
    words = ["exec", "--json", *(["--shell"] if is_line else []), *options.words(), "--", nodes]
    words += [command] if isinstance(command, str) else [os.fspath(word) for word in command]
    return Request(words, ExecResult.parse, standard_input)


class Execution(Running[ExecResult]):
    """A command that has been started on all nodes. `with` ends it."""

    def __init__(
        self,
        nodes: str,
        command: str | Sequence[Path],
        options: ExecOptions = ExecOptions(),
        *,
        input: Input | None = None,
        binary: Path | None = None,
    ) -> None:
        """Starts it, as `execute` does. Raises ProgramMissing."""
        super().__init__(_request(nodes, command, options, input), binary)


class AsyncExecution(AsyncRunning[ExecResult]):
    """A command on all nodes: `async with` starts and ends it."""

    def __init__(
        self,
        nodes: str,
        command: str | Sequence[Path],
        options: ExecOptions = ExecOptions(),
        *,
        input: Input | None = None,
        binary: Path | None = None,
    ) -> None:
        """Takes what `execute` does. Raises ProgramMissing."""
        super().__init__(_request(nodes, command, options, input), binary)


def execute(
    nodes: str,
    command: str | Sequence[Path],
    options: ExecOptions = ExecOptions(),
    *,
    input: Input | None = None,
    binary: Path | None = None,
) -> ExecResult:
    """Runs a command on all nodes, which all get `input`, and waits for it.

    Text is a line for the shell of each node; a list of words needs no shell. Raises NodesFailed if
    it didn't end with 0 everywhere: `result` has the output of all nodes then, too.
    """
    with Execution(nodes, command, options, input=input, binary=binary) as running:
        return running.result()


async def aexecute(
    nodes: str,
    command: str | Sequence[Path],
    options: ExecOptions = ExecOptions(),
    *,
    input: Input | None = None,
    binary: Path | None = None,
) -> ExecResult:
    """As `execute`; ends the command if the task is cancelled."""
    async with AsyncExecution(nodes, command, options, input=input, binary=binary) as running:
        return await running.result()
