"""Commands on agents of this machine."""

from __future__ import annotations

import asyncio
import time

import garland
from case import Case


class Executions(Case):
    """Commands that are waited for."""

    def local(self, **more: str) -> garland.ExecOptions:
        words = ("--local-root", str(self.roots))
        return garland.ExecOptions(more=words, **more)

    def test_words_need_no_shell_and_a_line_is_for_the_shell(self) -> None:
        words = ["printf", "%s", "$HOME; *"]
        result = garland.execute("local[1-2]", words, self.local())
        self.assertEqual([node.stdout for node in result.nodes], ["$HOME; *"] * 2)
        result = garland.execute("local[1-3]", "echo b a | wc -w; echo no >&2", self.local())
        self.assertEqual([node.name for node in result.nodes], ["local1", "local2", "local3"])
        for node in result.nodes:
            self.assertTrue(node.ok)
            self.assertEqual((node.exit_code, node.stdout.strip(), node.stderr), (0, "2", "no\n"))
        self.assertEqual(sum(phase.ns for phase in result.phases), result.elapsed_ns)

    def test_all_nodes_get_the_input(self) -> None:
        def outputs(standard_input: garland.Input | None) -> list[str]:
            result = garland.execute("local[1-2]", ["cat"], self.local(), input=standard_input)
            return [node.stdout for node in result.nodes]

        self.assertEqual(outputs("ü\n"), ["ü\n"] * 2)
        self.assertEqual(outputs(b"bytes"), ["bytes"] * 2)
        self.assertEqual(outputs(None), [""] * 2)
        self.source.write_text("of a file")
        with self.source.open("rb") as file:
            file.seek(3)
            self.assertEqual(outputs(file), ["a file"] * 2)
            self.assertFalse(file.closed)
        # More than a pipe holds, and read by nobody.
        result = garland.execute("local1", ["true"], self.local(), input=bytes(3_000_000))
        self.assertEqual(result.nodes[0].exit_code, 0)

    def test_what_fails_is_an_exception_with_the_output_of_all(self) -> None:
        line = 'case "$PWD" in *local2*) echo bad >&2; exit 3;; esac; echo good'
        with self.assertRaises(garland.NodesFailed) as caught:
            garland.execute("local[1-3]", line, self.local())
        self.assertEqual(str(caught.exception), "local2: exit code 3")
        result = caught.exception.result
        assert isinstance(result, garland.ExecResult)
        self.assertEqual([node.stdout for node in result.nodes], ["good\n", "", "good\n"])
        (failed,) = result.failed
        self.assertEqual((failed.name, failed.exit_code, failed.stderr), ("local2", 3, "bad\n"))
        with self.assertRaisesRegex(garland.NodesFailed, "local1: killed by signal 9"):
            garland.execute("local1", "kill -9 $$", self.local())

    def test_what_ran_nowhere_and_what_cannot_be_meant(self) -> None:
        with self.assertRaisesRegex(garland.NothingDone, "cannot start no-such-program"):
            garland.execute("local1", ["no-such-program"], self.local())
        with self.assertRaisesRegex(garland.NothingDone, "it did not end within 1 s"):
            garland.execute("local1", ["sleep", "60"], self.local(timeout="1s"))
        with self.assertRaisesRegex(garland.UsageError, "is missing after this"):
            garland.execute("local[", ["true"], self.local())
        # What looks like an option is none.
        with self.assertRaisesRegex(garland.UsageError, "a node name must begin with"):
            garland.execute("--help", ["true"], self.local())
        with self.assertRaises(garland.ProgramMissing):
            garland.execute("local1", ["true"], binary="/no/such/program")

    def test_nodes_may_be_left_out(self) -> None:
        result = garland.execute("local[1-3]", "pwd", self.local(exclude="local2"))
        self.assertEqual([node.name for node in result.nodes], ["local1", "local3"])

    def test_who_leaves_early_ends_it_on_the_nodes(self) -> None:
        started = self.roots / "local1" / "started"
        line = "echo $$ > started; exec sleep 600"
        with garland.Execution("local1", line, self.local()) as running:
            process = wait_for_number(str(started))
        self.assert_ended(process)
        with self.assertRaises(garland.Cancelled) as caught:
            running.result()
        self.assertEqual([node.reason for node in caught.exception.failed], ["interrupted"])

    def test_asyncio_runs_several_and_a_cancelled_task_ends_its_own(self) -> None:
        started = self.roots / "local1" / "started"

        async def both() -> list[garland.ExecResult]:
            one = garland.aexecute("local1", ["cat"], self.local(), input="1")
            two = garland.aexecute("local2", ["cat"], self.local(), input="2")
            return list(await asyncio.gather(one, two))

        results = asyncio.run(both())
        self.assertEqual([result.nodes[0].stdout for result in results], ["1", "2"])

        async def cancel() -> int:
            line = "echo $$ > started; exec sleep 600"
            task = asyncio.ensure_future(garland.aexecute("local1", line, self.local()))
            process = await asyncio.to_thread(wait_for_number, str(started))
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return process

        self.assert_ended(asyncio.run(cancel()))

        async def fail() -> None:
            async with garland.AsyncExecution("local1", "exit 5", self.local()) as running:
                await running.result()

        with self.assertRaisesRegex(garland.NodesFailed, "exit code 5"):
            asyncio.run(fail())


def wait_for_number(path: str) -> int:
    """Waits until a line with a number is in the file, for a minute at most."""
    for _ in range(6000):
        try:
            with open(path) as file:
                text = file.read()
            if text.endswith("\n"):
                return int(text)
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    raise AssertionError(f"{path} wasn't written")
