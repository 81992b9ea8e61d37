"""How far a copy is: the lines of `garland cp --progress json`."""

from __future__ import annotations

import json
from dataclasses import dataclass

SCHEMA = "garland.progress/2"


@dataclass(frozen=True)
class NodeProgress:
    """How far one node is: `starting`, `receiving`, `finishing`, `done`, `failed` or `dead`."""

    name: str
    state: str
    bytes: int


@dataclass(frozen=True)
class Progress:
    """How far all are; of a broadcast `bytes` is what every node has."""

    elapsed_ns: int
    bytes: int
    length: int | None
    """None of a stream, while nobody knows it."""
    nodes: tuple[NodeProgress, ...]
    waiting: tuple[str, ...]
    """The nodes that are busy with other copies, while this one waits for them."""

    @property
    def share(self) -> float:
        """From 0 to 1; 0 of a stream."""
        if self.length is None:
            return 0.0
        return self.bytes / self.length if self.length else 1.0

    @property
    def state_of(self) -> dict[str, str]:
        """The nodes' states by their names."""
        return {node.name: node.state for node in self.nodes}

    @classmethod
    def parse(cls, line: str) -> Progress | None:
        """Reads a line; none if it is one for people."""
        if not line.startswith("{"):
            return None
        try:
            raw = json.loads(line)
        except ValueError:
            return None
        if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
            return None
        return cls(
            elapsed_ns=raw["elapsed_ns"],
            bytes=raw["bytes"],
            length=raw["length"],
            nodes=tuple(
                NodeProgress(node["name"], node["state"], node["bytes"]) for node in raw["nodes"]
            ),
            waiting=tuple(raw["waiting"]),
        )
