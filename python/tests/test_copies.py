"""Copies to real agents of this machine."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import sysconfig
import time
import unittest
from unittest import mock

import garland
from case import Case


class Copies(Case):
    """Copies that are waited for."""

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
        result = caught.exception.result
        assert isinstance(result, garland.CopyResult)
        self.assertTrue(result.interrupted)

    def test_the_program_of_the_environment_goes_before_that_on_the_path(self) -> None:
        scripts, folder = self.folder / "scripts", self.folder / "bin"
        for place in (folder, scripts):
            place.mkdir()
        none = {"PATH": str(folder)}
        scripts_are = mock.patch.object(sysconfig, "get_path", lambda name: str(scripts))
        with mock.patch.dict(os.environ, none, clear=True), scripts_are:
            with self.assertRaises(garland.ProgramMissing) as missing:
                garland.copy(self.source, "local1:/x")
            self.assertIn("set GARLAND", str(missing.exception))
            for place in (folder, scripts):
                program = place / "garland"
                program.write_text(f"#!/bin/sh\necho this is {place.name} >&2; exit 2\n")
                program.chmod(0o755)
                with self.assertRaisesRegex(garland.UsageError, f"this is {place.name}"):
                    garland.copy(self.source, "local1:/x")
            os.environ["GARLAND"] = "/no/such/garland"
            with self.assertRaisesRegex(garland.ProgramMissing, "/no/such/garland"):
                garland.copy(self.source, "local1:/x")
            with self.assertRaisesRegex(garland.UsageError, "this is bin"):
                garland.copy(self.source, "local1:/x", binary=folder / "garland")

    def test_the_module_is_the_program(self) -> None:
        said = subprocess.run(
            [sys.executable, "-m", "garland", "--version"], capture_output=True, text=True
        )
        self.assertTrue(said.stdout.startswith("garland "), said)


class AsyncCopies(Case):
    """Copies of asyncio."""

    def test_a_copy_is_awaited(self) -> None:
        data = self.fill(3_000_000)
        told: list[garland.Progress] = []
        options = self.options(verify=True)

        async def both() -> tuple[garland.CopyResult, garland.CopyResult]:
            one = garland.acopy(self.source, "local[1-2]:/x", options, progress=told.append)
            return await asyncio.gather(one, garland.acopy(self.source, "local3:/x", options))

        many, one = asyncio.run(both())
        self.assertEqual([node.name for node in many.nodes], ["local1", "local2"])
        self.assertTrue(all(node.ok and node.verified for node in (*many.nodes, *one.nodes)))
        for number in (1, 2, 3):
            self.assertEqual((self.roots / f"local{number}" / "x").read_bytes(), data)
        self.assertEqual(told[-1].share, 1.0)

    def test_progress_is_iterated_over_and_a_copy_given_up(self) -> None:
        self.fill(20_000_000)
        shares = []

        async def give_up() -> garland.Cancelled:
            options = self.options(bwlimit="8MB/s")
            async with garland.AsyncCopy(self.source, "local1:/x", options) as copy:
                async for now in copy:
                    shares.append(now.share)
                    if now.share > 0:
                        copy.cancel()
                with self.assertRaises(garland.Cancelled) as caught:
                    await copy.result()
                return caught.exception

        error = asyncio.run(give_up())
        assert isinstance(error.result, garland.CopyResult)
        self.assertTrue(error.result.interrupted)
        self.assertTrue(any(0 < share < 1 for share in shares), shares)

    def test_a_cancelled_task_ends_the_program(self) -> None:
        self.fill(20_000_000)
        programs: list[asyncio.subprocess.Process] = []

        async def cancel() -> None:
            begun = asyncio.Event()
            options = self.options(bwlimit="1MB/s")
            copy = garland.acopy(
                self.source, "local1:/x", options, progress=lambda now: begun.set()
            )
            start = asyncio.create_subprocess_exec

            async def kept(*words: str, **more: object) -> asyncio.subprocess.Process:
                programs.append(await start(*words, **more))  # type: ignore[arg-type]
                return programs[-1]

            with mock.patch.object(asyncio, "create_subprocess_exec", kept):
                task = asyncio.create_task(copy)
                await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        # As an interrupted command exits; it wasn't killed.
        self.assertEqual([program.returncode for program in programs], [130])
        self.assertFalse((self.roots / "local1" / "x").exists())

    def test_failures_are_exceptions(self) -> None:
        self.fill(100_000)
        (self.roots / "local2" / "x" / "source").mkdir(parents=True)
        with self.assertRaises(garland.NodesFailed) as caught:
            asyncio.run(garland.acopy(self.source, "local[1-2]:/x", self.options()))
        self.assertEqual([node.name for node in caught.exception.failed], ["local2"])
        with self.assertRaises(garland.ProgramMissing):
            asyncio.run(garland.acopy(self.source, "local1:/x", binary="/no/such/program"))
