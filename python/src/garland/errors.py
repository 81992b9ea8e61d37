"""What can go wrong."""

from __future__ import annotations

from .results import Node, Result

_MAX_REASONS = 10
"""Nodes that a message names; `failed` has all."""


class GarlandError(Exception):
    """Anything. `result` says what was done, if anything was."""

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result

    @property
    def failed(self) -> tuple[Node, ...]:
        """The nodes that failed, each with its reason."""
        return self.result.failed if self.result else ()


class NodesFailed(GarlandError):
    """Some nodes failed, or some of a tree couldn't be copied; the rest is done."""


class NothingDone(GarlandError):
    """No node did what was to be done."""


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
    kinds = {1: NodesFailed, 2: UsageError, 3: NothingDone, 130: Cancelled, -2: Cancelled}
    kind: type[GarlandError] = kinds.get(code, GarlandError)
    return kind(_message(said, result) or f"garland ended with {code}", result)


def _message(said: str, result: Result | None) -> str:
    if result is None:
        return said.strip()
    reasons = result.reasons
    more = len(reasons) - _MAX_REASONS
    return "; ".join(reasons[:_MAX_REASONS]) + (f"; and {more} more" if more > 0 else "")
