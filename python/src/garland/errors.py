"""What can go wrong."""

from __future__ import annotations

from .farm_results import FailedJob, FarmResult
from .results import Failed, Node, Result

_MAX_REASONS = 10
"""Nodes or jobs that a message names; `failed` has all."""


class GarlandError(Exception):
    """Anything. `result` says what was done, if anything was."""

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The nodes, or of a farm the jobs, that failed, each with its reason."""
        return self.result.failed if self.result else ()


class NodesFailed(GarlandError):
    """Some nodes failed, or some of a tree couldn't be copied; the rest is done."""

    @property
    def failed(self) -> tuple[Node, ...]:
        """The nodes that failed, each with its reason."""
        return tuple(one for one in super().failed if isinstance(one, Node))


class JobsFailed(GarlandError):
    """Some jobs of a farm failed; the others are done."""

    result: FarmResult

    @property
    def failed(self) -> tuple[FailedJob, ...]:
        """The jobs that failed, each with its reason."""
        return tuple(one for one in super().failed if isinstance(one, FailedJob))


class NothingDone(GarlandError):
    """No node did what was to be done, or no job."""


class UsageError(GarlandError):
    """The words make no sense."""


class Cancelled(GarlandError):
    """It was given up."""


class ProgramMissing(GarlandError):
    """There is no program `garland`."""


def error_of(code: int, said: str, result: Result | None) -> GarlandError | None:
    """What the program's exit code means (docs/scripts.md, "Exit codes"); none if all is done."""
    if code == 0:
        return None
    some = JobsFailed if isinstance(result, FarmResult) else NodesFailed
    kinds = {1: some, 2: UsageError, 3: NothingDone, 130: Cancelled, -2: Cancelled, -15: Cancelled}
    kind: type[GarlandError] = kinds.get(code, GarlandError)
    unsaid = "it was given up" if kind is Cancelled else f"garland ended with {code}"
    return kind(_reasons(result) or said.strip() or unsaid, result)


def _reasons(result: Result | None) -> str:
    reasons = result.reasons if result else ()
    more = len(reasons) - _MAX_REASONS
    return "; ".join(reasons[:_MAX_REASONS]) + (f"; and {more} more" if more > 0 else "")
