"""How commands do their work: the options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence


@dataclass(frozen=True)
class Options:
    """What `garland cp --help` explains; what isn't given is as there."""

    recursive: bool = False
    exclude: Sequence[str] = ()
    delete: bool = False
    """Remove on nodes what isn't in the one source folder."""
    xattrs: bool = False
    preserve: bool = False
    fsync: bool = True
    encrypt: bool = True
    stripe: str | bool = False
    """True for the default unit, or bytes such as "1MiB"."""
    order: str | None = None
    rails: int | None = None
    block_size: str | None = None
    bwlimit: str | None = None
    verify: bool = False
    checksum: bool = False
    """Compare trees by contents, not by size and time."""
    digest: str | None = None
    """"sha256" or "b3"."""
    min_ok: int | None = None
    launcher: str | None = None
    more: Sequence[str] = ()
    """Further words, as they are."""

    def words(self) -> list[str]:
        """The words of the command line."""
        flags = {
            "--recursive": self.recursive,
            "--delete": self.delete,
            "--xattrs": self.xattrs,
            "--preserve": self.preserve,
            "--no-fsync": not self.fsync,
            "--no-encrypt": not self.encrypt,
            "--stripe": self.stripe is True,
            "--verify": self.verify,
            "--checksum": self.checksum,
        }
        values = {
            "--stripe": self.stripe if isinstance(self.stripe, str) else None,
            "--order": self.order,
            "--rails": self.rails,
            "--block-size": self.block_size,
            "--bwlimit": self.bwlimit,
            "--digest": self.digest,
            "--min-ok": self.min_ok,
            "--launcher": self.launcher,
        }
        excluded = [f"--exclude={pattern}" for pattern in self.exclude]
        return [*_words(flags, values), *excluded, *self.more]


@dataclass(frozen=True)
class GetOptions:
    """What `garland get --help` explains; what isn't given is as there."""

    bwlimit: str | None = None
    launcher: str | None = None
    more: Sequence[str] = ()
    """Further words, as they are."""

    def words(self) -> list[str]:
        """The words of the command line."""
        values = {"--bwlimit": self.bwlimit, "--launcher": self.launcher}
        return [*_words({}, values), *self.more]


@dataclass(frozen=True)
class ExecOptions:
    """What `garland exec --help` explains; what isn't given is as there."""

    exclude: str | None = None
    """A node list."""
    timeout: str | None = None
    """Such as "90s"; what runs for longer is ended, and has failed."""
    launcher: str | None = None
    more: Sequence[str] = ()
    """Further words, as they are."""

    def words(self) -> list[str]:
        """The words of the command line."""
        values = {
            "--exclude": self.exclude,
            "--timeout": self.timeout,
            "--launcher": self.launcher,
        }
        return [*_words({}, values), *self.more]


@dataclass(frozen=True)
class FarmOptions:
    """What `garland farm run --help` explains; what isn't given is as there."""

    engine: str | None = None
    """"local", "agents" or "slurm"."""
    placement: str | None = None
    """"pull", "turns" or "mosix"."""
    data: str | None = None
    """"there", "stage" or "mount"."""
    all_at_once: bool = False
    overwrite: bool = False
    """Replace outputs that exist."""
    slots: int | None = None
    """Cores of each node for jobs."""
    retries: int | None = None
    timeout: str | None = None
    """Such as "90s", of jobs that have none of their own."""
    migrate: bool = False
    checkpoint: str | None = None
    restore: str | None = None
    state: Sequence[str] = ()
    slurm_dir: str | None = None
    unit: str | None = None
    base: str | None = None
    price: str | None = None
    launcher: str | None = None
    more: Sequence[str] = ()
    """Further words, as they are."""

    def words(self) -> list[str]:
        """The words of the command line."""
        flags = {
            "--all-at-once": self.all_at_once,
            "--overwrite": self.overwrite,
            "--migrate": self.migrate,
        }
        values = {
            "--engine": self.engine,
            "--placement": self.placement,
            "--data": self.data,
            "--slots": self.slots,
            "--retries": self.retries,
            "--timeout": self.timeout,
            "--checkpoint": self.checkpoint,
            "--restore": self.restore,
            "--slurm-dir": self.slurm_dir,
            "--unit": self.unit,
            "--base": self.base,
            "--price": self.price,
            "--launcher": self.launcher,
        }
        states = [f"--state={file}" for file in self.state]
        return [*_words(flags, values), *states, *self.more]


def _words(flags: Mapping[str, bool], values: Mapping[str, str | int | None]) -> list[str]:
    """The flags that are wanted, and the options that have a value."""
    words = [flag for flag, wanted in flags.items() if wanted]
    return words + [f"{name}={value}" for name, value in values.items() if value is not None]
