"""What tests of the client share: a scratch folder, and agents of this machine."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
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

    def program(self, *words: str) -> None:
        """Runs a command that the client doesn't have."""
        subprocess.run([os.environ["GARLAND"], *words], check=True, capture_output=True)

    def assert_ended(self, process: int) -> None:
        """A process of a node has ended; one that nobody has waited for yet has, too."""
        try:
            state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        self.assertEqual(state, "Z", f"process {process} runs")
