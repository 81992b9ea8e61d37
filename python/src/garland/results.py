"""What became of a copy: `garland.cp/2` of docs/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping


@dataclass(frozen=True)
class Phase:
    """A stretch of the command's time, in nanoseconds."""

    name: str
    ns: int


@dataclass(frozen=True)
class Checksum:
    """The digest of a file, in hexadecimal."""

    kind: str
    digest: str
    path: str


@dataclass(frozen=True)
class Node:
    """What became of one node. `rate` is in bytes per second; `reason` says why it isn't ok."""

    name: str
    verdict: str
    reason: str | None
    bytes: int
    rate: int | None
    verified: bool
    checksum: Checksum | None

    @property
    def ok(self) -> bool:
        """Whether it did all that it was to do."""
        return self.verdict == "ok"


@dataclass(frozen=True)
class LeftOut:
    """What of a tree wasn't copied; `missed` is what should have been."""

    path: str
    reason: str
    missed: bool


@dataclass(frozen=True)
class Tree:
    """The tree of a copy."""

    files: int
    directories: int
    links: int
    missed: int
    skipped: int
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class CopyResult:
    """All of it. Rates are in bytes per second; `raw` is the object as it was printed."""

    run: str | None
    bytes: int
    elapsed_ns: int
    rate: int | None
    stream_rate: int | None
    phases: tuple[Phase, ...]
    nodes: tuple[Node, ...]
    tree: Tree | None
    interrupted: bool
    raw: Mapping[str, Any]

    @property
    def failed(self) -> tuple[Node, ...]:
        """The nodes that aren't ok."""
        return tuple(node for node in self.nodes if not node.ok)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> CopyResult:
        """Reads the object; fields that a later version adds are in `raw` only."""
        return cls(
            run=raw["run"],
            bytes=raw["bytes"],
            elapsed_ns=raw["elapsed_ns"],
            rate=raw["rate"],
            stream_rate=raw["stream_rate"],
            phases=tuple(Phase(phase["name"], phase["ns"]) for phase in raw["phases"]),
            nodes=tuple(_node(node) for node in raw["nodes"]),
            tree=_tree(raw["tree"]) if raw["tree"] else None,
            interrupted=raw["interrupted"],
            raw=raw,
        )


def _node(raw: Mapping[str, Any]) -> Node:
    checksum = raw.get("checksum")
    return Node(
        name=raw["name"],
        verdict=raw["verdict"],
        reason=raw["reason"],
        bytes=raw["bytes"],
        rate=raw["rate"],
        verified=raw.get("verified", False),
        checksum=(
            Checksum(checksum["kind"], checksum["digest"], checksum["path"]) if checksum else None
        ),
    )


def _tree(raw: Mapping[str, Any]) -> Tree:
    left = raw["left_out"]
    return Tree(
        files=raw["files"],
        directories=raw["directories"],
        links=raw["links"],
        missed=raw["missed"],
        skipped=raw["skipped"],
        left_out=tuple(LeftOut(one["path"], one["reason"], one["missed"]) for one in left),
    )
