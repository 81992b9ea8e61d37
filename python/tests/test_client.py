"""The client against real agents of this machine: GARLAND names the program."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
import time
import unittest

import garland


class Copies(unittest.TestCase):
    """Copies between folders of one scratch folder."""

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

    def test_a_file_arrives_and_the_result_is_typed(self) -> None:
        data = self.fill(3_000_000)
        told: list[garland.Progress] = []
        options = self.options(digest="sha256", verify=True)
        result = garland.copy(self.source, "local[1-3]:/x", options, progress=told.append)
        for number in (1, 2, 3):
            self.assertEqual((self.roots / f"local{number}" / "x").read_bytes(), data)
        self.assertEqual([node.name for node in result.nodes], ["local1", "local2", "local3"])
        self.assertTrue(all(node.ok and node.verified for node in result.nodes))
        checksum = result.nodes[0].checksum
        assert checksum is not None
        self.assertEqual(checksum.digest, hashlib.sha256(data).hexdigest())
        self.assertEqual(result.bytes, len(data))
        self.assertEqual(sum(phase.ns for phase in result.phases), result.elapsed_ns)
        self.assertTrue(told, "there is one line at the end at least")
        self.assertEqual(told[-1].share, 1.0)
        self.assertEqual(set(told[-1].state_of.values()), {"done"})

    def test_progress_comes_while_it_runs(self) -> None:
        self.fill(8_000_000)
        shares = []
        with garland.Copy(self.source, "local1:/x", self.options(bwlimit="8MB/s")) as copy:
            for now in copy:
                shares.append(now.share)
            copy.result()
        self.assertEqual(shares, sorted(shares))
        self.assertTrue(any(0 < share < 1 for share in shares), shares)

    def test_a_failed_node_is_an_exception_with_its_verdict(self) -> None:
        data = self.fill(100_000)
        (self.roots / "local2" / "x").mkdir(parents=True)
        (self.roots / "local2" / "x" / "source").mkdir()
        with self.assertRaises(garland.NodesFailed) as caught:
            garland.copy(self.source, "local[1-3]:/x", self.options())
        (node,) = caught.exception.failed
        self.assertEqual((node.name, node.verdict), ("local2", "failed"))
        self.assertIn("it is a directory", node.reason or "")
        self.assertIn("local2: cannot replace", str(caught.exception))
        assert caught.exception.result is not None
        self.assertEqual(len(caught.exception.result.nodes), 3)
        self.assertEqual((self.roots / "local3" / "x").read_bytes(), data)

    def test_a_tree_says_what_it_left_out(self) -> None:
        tree = self.folder / "tree"
        (tree / "d").mkdir(parents=True)
        (tree / "d" / "f").write_text("here")
        os.mkfifo(tree / "pipe")
        result = garland.copy([tree], "local1:/w", self.options(recursive=True, exclude=["*.o"]))
        assert result.tree is not None
        self.assertEqual((result.tree.files, result.tree.skipped), (1, 1))
        self.assertEqual(result.tree.left_out[0].reason, "a pipe")

    def test_nothing_usage_and_no_program(self) -> None:
        with self.assertRaises(garland.NothingDone) as nothing:
            garland.copy(self.folder / "missing", "local1:/x", self.options())
        self.assertIn("missing", str(nothing.exception))
        self.assertIsNone(nothing.exception.result)
        with self.assertRaises(garland.UsageError):
            garland.copy(self.source, "/no/nodes", self.options())
        with self.assertRaises(garland.ProgramMissing):
            garland.copy(self.source, "local1:/x", binary="/no/such/program")

    def test_who_leaves_early_ends_it(self) -> None:
        self.fill(20_000_000)
        began = time.monotonic()
        with garland.Copy(self.source, "local1:/x", self.options(bwlimit="1MB/s")) as copy:
            next(iter(copy))
        self.assertLess(time.monotonic() - began, 15)
        self.assertFalse((self.roots / "local1" / "x").exists())

    def test_a_cancelled_copy_says_so(self) -> None:
        self.fill(20_000_000)
        with garland.Copy(self.source, "local1:/x", self.options(bwlimit="1MB/s")) as copy:
            for _ in copy:
                copy.cancel()
            with self.assertRaises(garland.Cancelled) as caught:
                copy.result()
        assert caught.exception.result is not None
        self.assertTrue(caught.exception.result.interrupted)


if __name__ == "__main__":
    unittest.main()
