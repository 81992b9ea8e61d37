"""How a copy is made: the words of `garland cp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


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
        words = [flag for flag, wanted in flags.items() if wanted]
        words += [f"{name}={value}" for name, value in values.items() if value is not None]
        words += [f"--exclude={pattern}" for pattern in self.exclude]
        return words + list(self.more)
