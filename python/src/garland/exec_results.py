"""What became of a command on nodes: `garland.exec/2` of docs/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from .results import Node, Result, phases


@dataclass(frozen=True)
class ExecNode(Node):
    """What the command did on one node."""

    exit_code: int | None
    """A signal's number is negative; None if the command didn't run to its end."""
    stdout: str
    stderr: str


@dataclass(frozen=True)
class ExecResult(Result):
    """What a command did on all nodes."""

    nodes: tuple[ExecNode, ...]

    @property
    def failed(self) -> tuple[ExecNode, ...]:
        """The nodes on which it didn't end with 0."""
        return tuple(node for node in self.nodes if not node.ok)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> ExecResult:
        """Reads the object; fields that a later version adds are in `raw` only."""
        return cls(
            run=raw["run"],
            elapsed_ns=raw["elapsed_ns"],
            phases=phases(raw),
            nodes=tuple(_node(node) for node in raw["nodes"]),
            raw=raw,
        )


def _node(raw: Mapping[str, Any]) -> ExecNode:
    return ExecNode(
        name=raw["name"],
        verdict=raw["verdict"],
        reason=raw["reason"],
        exit_code=raw["exit_code"],
        stdout=raw["stdout"],
        stderr=raw["stderr"],
    )
