"""Copies files to many machines, by the program `garland`."""

from .async_copying import AsyncCopy, acopy
from .copying import Copy, copy
from .errors import (
    Cancelled,
    GarlandError,
    NodesFailed,
    NothingDone,
    ProgramMissing,
    UsageError,
)
from .options import Options
from .progress import NodeProgress, Progress
from .results import Checksum, CopyResult, LeftOut, Node, Phase, Tree

__all__ = [
    "AsyncCopy",
    "Cancelled",
    "Checksum",
    "Copy",
    "CopyResult",
    "GarlandError",
    "LeftOut",
    "Node",
    "NodeProgress",
    "NodesFailed",
    "NothingDone",
    "Options",
    "Phase",
    "ProgramMissing",
    "Progress",
    "Tree",
    "UsageError",
    "acopy",
    "copy",
]
