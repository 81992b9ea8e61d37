"""What tests of the client share: a scratch folder, and agents of this machine."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import unittest

import garland


class Case(unittest.TestCase):
    """Copies between folders of one scratch folder; GARLAND names the program."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="garland-python-"))
        self.addCleanup(shutil.rmtree, self.folder)
        os.environ["GARLAND_STATE"] = str(self.folder / "state")
        self.roots = self.folder / "roots"
        self.source = self.folder / "source"

    def options(self, **more: object) -> garland.Options:
        words = ("--local-root", str(self.roots))
        return garland.Options(more=words, **more)  # type: ignore[arg-type]

    def fill(self, length: int) -> bytes:
        data = os.urandom(length)
        self.source.write_bytes(data)
        return data
