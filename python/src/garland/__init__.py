"""Copies files to many machines, by the program `garland`."""

from .copy_results import Checksum, CopyNode, CopyResult, LeftOut, Tree
from .copying import AsyncCopy, Copy, acopy, copy
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
from .results import Node, Phase, Result

__all__ = [
    "AsyncCopy",
    "Cancelled",
    "Checksum",
    "Copy",
    "CopyNode",
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
    "Result",
    "Tree",
    "UsageError",
    "acopy",
    "copy",
]
