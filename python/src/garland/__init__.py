"""Copies files to many machines, and gets them by name, by the program `garland`."""

from .copy_results import Checksum, CopyNode, CopyResult, Holder, LeftOut, Tree
from .copying import AsyncCopy, Copy, acopy, copy
from .errors import (
    Cancelled,
    GarlandError,
    NodesFailed,
    NothingDone,
    ProgramMissing,
    UsageError,
)
from .getting import AsyncGet, Get, aget, get
from .options import GetOptions, Options
from .progress import NodeProgress, Progress
from .results import Node, Phase, Result

__all__ = [
    "AsyncCopy",
    "AsyncGet",
    "Cancelled",
    "Checksum",
    "Copy",
    "CopyNode",
    "CopyResult",
    "GarlandError",
    "Get",
    "GetOptions",
    "Holder",
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
    "aget",
    "copy",
    "get",
]
