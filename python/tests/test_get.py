"""Contents by their names, from standing agents of this machine."""

from __future__ import annotations

import asyncio

import garland
from case import Case


class Gets(Case):
    """Three nodes stand, and the first one has `model` by the name `model:1`."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.program, "down", "--lose-names", "local[1-3]")
        self.program("up", "local[1-3]")
        self.source = self.folder / "model"
        self.data = self.fill(3_000_000)
        # Agents that stand have their roots in the state.
        garland.copy(self.source, "local1:/d/")
        self.program("publish", "local1:/d/model", "--as", "model:1")
        self.source.unlink()

    def files(self) -> list[str]:
        """The nodes with the whole content."""
        copies = self.folder.glob("state/*/local/*/x/model")
        whole = [copy for copy in copies if copy.read_bytes() == self.data]
        return sorted(copy.parts[-3] for copy in whole)

    def test_nodes_get_it_and_the_result_says_from_whom(self) -> None:
        told: list[garland.Progress] = []
        result = garland.get("model:1", "local[2-3]:/x/", progress=told.append)
        self.assertEqual(self.files(), ["local2", "local3"])
        self.assertEqual([node.name for node in result.nodes if node.ok], ["local2", "local3"])
        holders = [(holder.node, holder.bytes, holder.reason) for holder in result.holders]
        self.assertEqual(holders, [("local1", len(self.data), None)])
        self.assertEqual(told[-1].share, 1.0)

    def test_asyncio_gets_it_also_to_a_path_here(self) -> None:
        here = self.folder / "here"
        here.mkdir()

        async def both() -> garland.CopyResult:
            await garland.aget("model:1", f"{here}/")
            return await garland.aget("model:1", "local3:/x/", garland.GetOptions(bwlimit="1GB/s"))

        result = asyncio.run(both())
        self.assertEqual((here / "model").read_bytes(), self.data)
        self.assertEqual([node.name for node in result.nodes], ["local3"])
        self.assertEqual(self.files(), ["local3"])

    def test_it_is_given_up_as_a_copy_is(self) -> None:
        options = garland.GetOptions(bwlimit="1MB/s")
        with garland.Get("model:1", "local2:/x/", options) as get:
            for now in get:
                if now.bytes:
                    get.cancel()
            with self.assertRaises(garland.Cancelled) as caught:
                get.result()
        assert isinstance(caught.exception.result, garland.CopyResult)
        self.assertTrue(caught.exception.result.interrupted)

        async def leave() -> None:
            async with garland.AsyncGet("model:1", "local3:/x/", options) as get:
                await get.__aiter__().__anext__()

        asyncio.run(leave())
        self.assertEqual(self.files(), [])

    def test_a_name_that_nobody_has_is_nothing_done(self) -> None:
        with self.assertRaisesRegex(garland.NothingDone, "there is no name other"):
            garland.get("other", "local2:/x/")
