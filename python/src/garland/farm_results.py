"""What became of a farm's jobs: `garland.farm/2` of docs/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from .results import Node, Result, phases


@dataclass(frozen=True)
class FarmNode(Node):
    """What one node did: the number of jobs done, and their processor time in seconds."""

    cores: int
    done: int
    cpu: float


@dataclass(frozen=True)
class FailedJob:
    """A job that failed in all tries. `last_words` are the last lines of its standard error."""

    job: int
    """Its number in the list, from 1."""
    name: str
    node: str | None
    reason: str
    tries: int
    last_words: tuple[str, ...]


@dataclass(frozen=True)
class JobRecord:
    """The record of a job that has ended. Times are seconds since the start of the run."""

    job: int
    """Its number in the list, from 1."""
    name: str
    node: str | None
    outcome: str
    """`exit`, `signal`, `timeout`, `node_lost` or `failed`."""
    exit_code: int | None
    """A signal's number is negative; None if the command didn't run to its end."""
    tries: int
    queued: float | None
    started: float | None
    ended: float | None
    cpu: float | None
    """Seconds on a processor."""
    memory: int | None
    """Bytes of its largest process."""
    raw: Mapping[str, Any]
    """The record as it was printed: it also has the stages of its files, and its moves."""

    @property
    def ok(self) -> bool:
        """Whether the job is done."""
        return self.exit_code == 0


@dataclass(frozen=True)
class FarmResult(Result):
    """What a farm did. `total` are the seconds until the last job ended."""

    nodes: tuple[FarmNode, ...]
    jobs: int
    done: int
    open: int
    """Jobs that hadn't ended when the run was given up."""
    retries: int
    total: float
    failures: tuple[FailedJob, ...]
    """The first thousand."""
    records: tuple[JobRecord, ...]
    interrupted: bool

    @property
    def failed(self) -> tuple[FailedJob, ...]:
        """The jobs that failed in all tries, the first thousand."""
        return self.failures

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why not all is done, one by one."""
        return tuple(_reason(job) for job in self.failures)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> FarmResult:
        """Reads the object; fields that a later version adds are in `raw` only."""
        return cls(
            run=raw["run"],
            elapsed_ns=raw["elapsed_ns"],
            phases=phases(raw),
            nodes=tuple(_node(node) for node in raw["nodes"]),
            raw=raw,
            jobs=raw["jobs"],
            done=raw["done"],
            open=raw["open"],
            retries=raw["retries"],
            total=raw["total"],
            failures=tuple(_failed(job) for job in raw["failures"]),
            records=tuple(_record(record) for record in raw["records"]),
            interrupted=raw["interrupted"],
        )


def _reason(job: FailedJob) -> str:
    place = f" on {job.node}" if job.node else ""
    return f"job {job.job} ({job.name}){place}: {job.reason}"


def _node(raw: Mapping[str, Any]) -> FarmNode:
    return FarmNode(
        name=raw["name"],
        verdict=raw["verdict"],
        reason=raw["reason"],
        cores=raw["cores"],
        done=raw["done"],
        cpu=raw["cpu"],
    )


def _failed(raw: Mapping[str, Any]) -> FailedJob:
    return FailedJob(
        job=raw["job"],
        name=raw["name"],
        node=raw["node"],
        reason=raw["reason"],
        tries=raw["tries"],
        last_words=tuple(raw.get("last_words") or ()),
    )


def _record(raw: Mapping[str, Any]) -> JobRecord:
    # An object with a value, such as {"exit": 0}, or a word.
    outcome = raw["outcome"]
    values: Mapping[str, Any] = outcome if isinstance(outcome, dict) else {outcome: None}
    kind = next(iter(values))
    exit_code = -values["signal"] if kind == "signal" else values.get("exit")
    return JobRecord(
        job=raw["job"],
        name=raw["name"],
        node=raw["node"],
        outcome=kind,
        exit_code=exit_code,
        tries=raw["tries"],
        queued=raw["queued"],
        started=raw["started"],
        ended=raw["ended"],
        cpu=raw["cpu"],
        memory=raw["memory"],
        raw=raw,
    )
