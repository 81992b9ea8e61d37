"""What became of a copy or a `get`: `garland.cp/2` of docs/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from .results import Node, Result, phases


@dataclass(frozen=True)
class Checksum:
    """The digest of a file, in hexadecimal."""

    kind: str
    digest: str
    path: str


@dataclass(frozen=True)
class CopyNode(Node):
    """What became of one node. `rate` is in bytes per second."""

    bytes: int
    rate: int | None
    verified: bool
    checksum: Checksum | None


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
class Holder:
    """Who had the content of a name: the verified `bytes` of it, and why it was left alone."""

    node: str
    bytes: int
    reason: str | None


@dataclass(frozen=True)
class CopyResult(Result):
    """What a copy did. Rates are in bytes per second; only a `get` has holders."""

    nodes: tuple[CopyNode, ...]
    bytes: int
    rate: int | None
    stream_rate: int | None
    tree: Tree | None
    holders: tuple[Holder, ...]
    interrupted: bool

    @property
    def failed(self) -> tuple[CopyNode, ...]:
        """The nodes that aren't ok."""
        return tuple(node for node in self.nodes if not node.ok)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why not all is copied, one by one."""
        left = self.tree.left_out if self.tree else ()
        return super().reasons + tuple(f"{one.path}: {one.reason}" for one in left if one.missed)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> CopyResult:
        """Reads the object; fields that a later version adds are in `raw` only."""
        return cls(
            run=raw["run"],
            elapsed_ns=raw["elapsed_ns"],
            phases=phases(raw),
            nodes=tuple(_node(node) for node in raw["nodes"]),
            raw=raw,
            bytes=raw["bytes"],
            rate=raw["rate"],
            stream_rate=raw["stream_rate"],
            tree=_tree(raw["tree"]) if raw["tree"] else None,
            holders=tuple(_holder(holder) for holder in raw.get("holders") or ()),
            interrupted=raw["interrupted"],
        )


def _node(raw: Mapping[str, Any]) -> CopyNode:
    checksum = raw.get("checksum")
    return CopyNode(
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


def _holder(raw: Mapping[str, Any]) -> Holder:
    return Holder(node=raw["node"], bytes=raw["bytes"], reason=raw["reason"])


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
