"""Farms of jobs on agents of this machine."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import tempfile
import time

import garland
from case import Case


class Farms(Case):
    """Jobs whose files are below the scratch folder."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.folder / "log"
        self.lists = pathlib.Path(tempfile.gettempdir())

    def farm(
        self, jobs: garland.Jobs, nodes: str | None = "local[1-2]", **more: str | int | bool
    ) -> garland.FarmResult:
        result = garland.farm(jobs, nodes, self.local(**more))
        self.assertEqual(list(self.lists.glob("garland-jobs-*")), [])
        return result

    def local(self, **more: str | int | bool) -> garland.FarmOptions:
        words = ("--local-root", str(self.roots))
        return garland.FarmOptions(more=words, **more)  # type: ignore[arg-type]

    def test_a_list_of_commands_and_what_became_of_each(self) -> None:
        words = garland.Job(["sh", "-c", 'printf "%s\\n" "$0" >>"$1"', "a\\b \x7f $HOME", self.log])
        result = self.farm([f"echo 1 | cat >>{self.log}", words])
        self.assertEqual(sorted(self.log.read_text().splitlines()), ["1", "a\\b \x7f $HOME"])
        self.assertEqual((result.jobs, result.done, result.open), (2, 2, 0))
        self.assertEqual([node.name for node in result.nodes], ["local1", "local2"])
        self.assertEqual(sum(node.done for node in result.nodes), 2)
        self.assertEqual([record.job for record in result.records], [1, 2])
        for record in result.records:
            self.assertTrue(record.ok)
            self.assertEqual((record.outcome, record.exit_code, record.tries), ("exit", 0, 1))
            assert record.started is not None and record.ended is not None
            # A node's clock is known to a fraction of a millisecond, less well on a busy machine: a
            # job that takes less may begin and end at the same time.
            self.assertLessEqual(record.started, record.ended)
        self.assertEqual(sum(phase.ns for phase in result.phases), result.elapsed_ns)

    def test_files_of_jobs_are_staged_whatever_their_names(self) -> None:
        odd = os.fsdecode(b'\xff \\ "')
        data = self.folder / odd
        data.write_text("b\na\n")
        job = garland.Job("sort {in} >{out}", [data], [self.folder / "sorted"], name="ö", cores=1)
        result = self.farm([job], data="stage")
        self.assertEqual((self.folder / "sorted").read_text(), "a\nb\n")
        self.assertEqual(result.records[0].name, "ö")
        with self.assertRaisesRegex(garland.UsageError, "output exists"):
            self.farm([job], data="stage")
        self.assertEqual(self.farm([job], data="stage", overwrite=True).done, 1)

    def test_a_command_is_run_for_each_input(self) -> None:
        inputs = []
        for name in ("a.txt", "::::"):
            inputs.append(self.folder / name)
            inputs[-1].write_text(name)
        each = garland.ForEach(inputs, ["cp", "{in}", "{out}"], out=f"{self.folder}/{{/}}.copy")
        self.assertEqual(self.farm(each, data="stage").done, 2)
        self.assertEqual((self.folder / "::::.copy").read_text(), "::::")
        self.farm(garland.ForEach(["x y", "::::"], ["sh", "-c", f"echo $0 >>{self.log}", "{}"]))
        self.assertEqual(sorted(self.log.read_text().splitlines()), ["::::", "x y"])
        for odd in ("a\nb", ""):
            with self.assertRaisesRegex(garland.UsageError, "cannot run a job for the input"):
                self.farm(garland.ForEach(["a", odd], ["true"]))
        with self.assertRaisesRegex(garland.UsageError, "a command is a list of words"):
            self.farm(garland.ForEach(["a"], "true"))

    def test_a_file_of_jobs_on_this_machine(self) -> None:
        jobs = self.folder / "jobs.txt"
        jobs.write_text(f"echo here >>{self.log}\n")
        result = garland.farm(jobs)
        self.assertEqual((result.done, self.log.read_text()), (1, "here\n"))
        with self.assertRaisesRegex(garland.UsageError, "no such file"):
            garland.farm(str(self.folder / "missing"))
        with self.assertRaisesRegex(garland.UsageError, "the list has no jobs"):
            self.farm([])

    def test_jobs_that_fail_are_an_exception_with_their_reasons(self) -> None:
        jobs: list[str | garland.Job] = [
            "true",
            garland.Job("echo why >&2; exit 3", name="bad"),
            garland.Job("kill -9 $$", name="killed"),
            garland.Job("sleep 60", name="late", timeout="1s"),
            garland.Job(["no-such-program"], name="absent"),
        ]
        with self.assertRaises(garland.JobsFailed) as caught:
            self.farm(jobs, retries=1)
        error = caught.exception
        self.assertEqual([job.name for job in error.failed], ["bad", "killed", "late", "absent"])
        bad = error.failed[0]
        self.assertEqual((bad.job, bad.reason, bad.tries), (2, "exit code 3", 2))
        self.assertEqual(bad.last_words, ("why",))
        self.assertRegex(str(error), r"job 2 \(bad\) on local[12]: exit code 3; job 3 \(killed\)")
        self.assertEqual((error.result.done, error.result.retries > 0), (1, True))
        ends = [(record.outcome, record.exit_code) for record in error.result.records]
        self.assertEqual(
            ends,
            [("exit", 0), ("exit", 3), ("signal", -9), ("timeout", None), ("failed", None)],
        )
        with self.assertRaises(garland.NothingDone) as nothing:
            self.farm(["exit 4"])
        self.assertEqual([job.reason for job in nothing.exception.failed], ["exit code 4"])

    def test_a_message_names_ten_and_counts_the_others(self) -> None:
        with self.assertRaises(garland.NothingDone) as caught:
            self.farm(["exit 1"] * 12)
        self.assertIn("job 10 (", str(caught.exception))
        self.assertNotIn("job 11 (", str(caught.exception))
        self.assertTrue(str(caught.exception).endswith("; and 2 more"), caught.exception)
        self.assertEqual(len(caught.exception.failed), 12)

    def test_what_was_given_up_is_resumed(self) -> None:
        go = self.folder / "go"
        jobs = [
            f"echo 1 >>{self.log}",
            f"echo 2 >>{self.log}; until test -e {go}; do sleep 0.1; done",
        ]
        with garland.Farm(jobs, "local[1-2]", self.local()) as farm:
            self.wait_for_lines(2)
            farm.cancel()
            with self.assertRaises(garland.Cancelled) as caught:
                farm.result()
        self.assertEqual(list(self.lists.glob("garland-jobs-*")), [])
        result = caught.exception.result
        assert isinstance(result, garland.FarmResult) and result.run is not None
        self.assertTrue(result.interrupted)
        self.assertEqual(str(caught.exception), "it was given up")
        self.assertEqual(result.done + result.open, 2)
        self.assertGreaterEqual(result.open, 1)
        go.touch()
        again = garland.farm(garland.Resume(result.run))
        self.assertEqual((again.run, again.done), (result.run, 2))

    def test_a_cancelled_farm_ends_also_where_ctrl_c_is_ignored(self) -> None:
        # As in a script that runs `python3 x.py &`.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with garland.Farm(["sleep 600"], "local[1-2]", self.local()) as farm:
                farm.cancel()
                with self.assertRaises(garland.Cancelled):
                    farm.result()
        finally:
            signal.signal(signal.SIGINT, before)

    def test_asyncio_runs_farms_and_a_cancelled_task_ends_its_jobs(self) -> None:
        async def both() -> list[garland.FarmResult]:
            each = garland.ForEach(["1", "2"], ["echo"])
            one = garland.afarm(each, "local1", self.local())
            return list(await asyncio.gather(one, garland.afarm(["true"])))

        self.assertEqual([result.done for result in asyncio.run(both())], [2, 1])

        async def cancel() -> None:
            line = f"echo $$ >>{self.log}; exec sleep 600"
            task = asyncio.ensure_future(garland.afarm([line], "local1", self.local()))
            await asyncio.to_thread(self.wait_for_lines, 1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        self.assertEqual(list(self.lists.glob("garland-jobs-*")), [])
        self.assert_ended(int(self.log.read_text()))

        async def fail() -> None:
            async with garland.AsyncFarm(["true", "false"]) as farm:
                await farm.result()

        with self.assertRaises(garland.JobsFailed):
            asyncio.run(fail())
        with self.assertRaises(garland.ProgramMissing):
            garland.farm(["true"], binary="/no/such/program")
        self.assertEqual(list(self.lists.glob("garland-jobs-*")), [])

    def wait_for_lines(self, count: int) -> None:
        """Waits until jobs have written as many lines."""
        for _ in range(6000):
            if self.log.exists() and self.log.read_text().count("\n") >= count:
                return
            time.sleep(0.01)
        self.fail(f"no {count} lines came")
