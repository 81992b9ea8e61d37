"""What can go wrong."""

from __future__ import annotations

from .results import CopyResult, Node


class GarlandError(Exception):
    """Anything. `result` says what was done, if anything was."""

    def __init__(self, message: str, result: CopyResult | None = None) -> None:
        super().__init__(message)
        self.result = result

    @property
    def failed(self) -> tuple[Node, ...]:
        """The nodes that failed, each with its reason."""
        return self.result.failed if self.result else ()


class NodesFailed(GarlandError):
    """Some nodes failed, or some of a tree couldn't be copied; the rest is done."""


class NothingDone(GarlandError):
    """No node has what was to be copied."""


class UsageError(GarlandError):
    """The words make no sense."""


class Cancelled(GarlandError):
    """It was given up."""


class ProgramMissing(GarlandError):
    """There is no program `garland`."""


def error_of(code: int, said: str, result: CopyResult | None) -> GarlandError | None:
    """What the program's exit code means (README, "Exit codes"); none if all is done."""
    if code == 0:
        return None
    kinds = {1: NodesFailed, 2: UsageError, 3: NothingDone, 130: Cancelled, -2: Cancelled}
    kind: type[GarlandError] = kinds.get(code, GarlandError)
    return kind(_message(said, result) or f"garland ended with {code}", result)


def _message(said: str, result: CopyResult | None) -> str:
    if result is None:
        return said.strip()
    nodes = [f"{node.name}: {node.reason}" for node in result.failed]
    left = result.tree.left_out if result.tree else ()
    return "; ".join(nodes + [f"{one.path}: {one.reason}" for one in left if one.missed])
