"""Copies files to many machines, and runs commands there, by the program `garland`."""

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
from .exec_results import ExecNode, ExecResult
from .executing import AsyncExecution, Execution, aexecute, execute
from .getting import AsyncGet, Get, aget, get
from .options import ExecOptions, GetOptions, Options
from .progress import NodeProgress, Progress
from .request import Input
from .results import Node, Phase, Result

__all__ = [
    "AsyncCopy",
    "AsyncExecution",
    "AsyncGet",
    "Cancelled",
    "Checksum",
    "Copy",
    "CopyNode",
    "CopyResult",
    "ExecNode",
    "ExecOptions",
    "ExecResult",
    "Execution",
    "GarlandError",
    "Get",
    "GetOptions",
    "Holder",
    "Input",
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
    "aexecute",
    "aget",
    "copy",
    "execute",
    "get",
]
