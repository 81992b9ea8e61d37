"""Copies files to many machines, by the program `garland`."""

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
    "copy",
]
