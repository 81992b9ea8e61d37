"""The examples of README.md and docs/scripts.md do what they say, on agents of this machine."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import pathlib
import re
import textwrap

from case import Case

ROOT = pathlib.Path(__file__).parents[2]

HERE = {
    "n[1-20]": "local[1-3]",
    "n[3-20]": "local[2-3]",
    "n7": "local3",
    # Commands on nodes of this machine see its own files.
    "avail /scratch": "avail /",
    "/scratch/hosts": "hosts",
}
"""Nodes and paths of the README, and what stands for them on this machine."""


def examples(page: str) -> list[str]:
    """The indented examples of a page that are Python."""
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE)
    texts = [textwrap.dedent(block).strip() for block in blocks]
    return [text for text in texts if text and not re.match("make|pip", text)]


class Examples(Case):
    """They run in a folder with the files that they name, and three nodes stand for twenty."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for name in ("model.bin", "a.txt", "b.txt", "data/a.o", "data/b", "code/c"):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{name}\n")

    def run_all(self, texts: list[str], names: dict[str, object]) -> str:
        """What they print, one after the other, each with the names of those before."""
        printed = io.StringIO()
        for text in texts:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            with contextlib.redirect_stdout(printed):
                done = eval(compile(text, text, "exec", flags=flags), names)
                if inspect.iscoroutine(done):
                    asyncio.run(done)
        return printed.getvalue()

    def test_those_of_the_readme_run(self) -> None:
        self.addCleanup(self.program, "down", "--lose-names", "local[1-3]")
        self.program("up", "local[1-3]")
        self.program("publish", "model.bin", "--as", "llama-70b:v3")
        page = (ROOT / "python" / "README.md").read_text()
        for there, here in HERE.items():
            page = page.replace(there, here)
        texts = examples(page)
        self.assertGreater(len(texts), 8)
        printed = self.run_all(texts, {"too_late": lambda: False})
        self.assertIn("100%", printed)
        self.assertIn("local3 1", printed, "the file that isn't there")
        self.assertEqual((self.folder / "a.txt.sorted").read_text(), "a.txt\n")
        self.assertEqual((self.folder / "b.txt2").read_text(), "b.txt\n")

    def test_those_of_the_page_on_scripts_print_what_it_says(self) -> None:
        page = (ROOT / "docs" / "scripts.md").read_text()
        found = re.findall(r"^\$ python3 -c '\n(import garland\n.*?)^'\n(.*?)^```", page, re.M | re.S)
        self.assertTrue(found)
        for text, printed in found:
            self.assertEqual(figures(self.run_all([text], {})), figures(printed))


def figures(printed: str) -> str:
    """The lines with other numbers than a node's left out."""
    return re.sub(r"\b\d[\d.]*", "N", printed)
