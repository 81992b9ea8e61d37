"""What all results have: docs/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Protocol


@dataclass(frozen=True)
class Phase:
    """A stretch of the command's time, in nanoseconds."""

    name: str
    ns: int


@dataclass(frozen=True)
class Node:
    """What became of one node; `reason` says why it isn't ok."""

    name: str
    verdict: str
    reason: str | None

    @property
    def ok(self) -> bool:
        """Whether it did all that it was to do."""
        return self.verdict == "ok"


class Failed(Protocol):
    """What failed, a node or a job of a farm, and why."""

    @property
    def name(self) -> str: ...

    @property
    def reason(self) -> str | None: ...


@dataclass(frozen=True)
class Result:
    """What a command did. `raw` is the object as it was printed."""

    run: str | None
    elapsed_ns: int
    phases: tuple[Phase, ...]
    nodes: tuple[Node, ...]
    raw: Mapping[str, Any]

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The nodes that aren't ok, or of a farm the jobs."""
        return tuple(node for node in self.nodes if not node.ok)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why not all is done, one by one."""
        return tuple(f"{one.name}: {one.reason}" for one in self.failed)


def phases(raw: Mapping[str, Any]) -> tuple[Phase, ...]:
    """Reads the phases of an object."""
    return tuple(Phase(phase["name"], phase["ns"]) for phase in raw["phases"])
