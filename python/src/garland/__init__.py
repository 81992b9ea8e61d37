"""Copies files to many machines, and runs commands and jobs there, by the program `garland`."""

from .copy_results import Checksum, CopyNode, CopyResult, Holder, LeftOut, Tree
from .copying import AsyncCopy, Copy, acopy, copy
from .errors import (
    Cancelled,
    GarlandError,
    JobsFailed,
    NodesFailed,
    NothingDone,
    ProgramMissing,
    UsageError,
)
from .exec_results import ExecNode, ExecResult
from .executing import AsyncExecution, Execution, aexecute, execute
from .farm_results import FailedJob, FarmNode, FarmResult, JobRecord
from .farming import AsyncFarm, Farm, afarm, farm
from .getting import AsyncGet, Get, aget, get
from .jobs import ForEach, Job, Jobs, Resume
from .options import ExecOptions, FarmOptions, GetOptions, Options
from .progress import NodeProgress, Progress
from .request import Input
from .results import Failed, Node, Phase, Result

__all__ = [
    "AsyncCopy",
    "AsyncExecution",
    "AsyncFarm",
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
    "Failed",
    "FailedJob",
    "Farm",
    "FarmNode",
    "FarmOptions",
    "FarmResult",
    "ForEach",
    "GarlandError",
    "Get",
    "GetOptions",
    "Holder",
    "Input",
    "Job",
    "JobRecord",
    "Jobs",
    "JobsFailed",
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
    "Resume",
    "Tree",
    "UsageError",
    "acopy",
    "aexecute",
    "afarm",
    "aget",
    "copy",
    "execute",
    "farm",
    "get",
]
