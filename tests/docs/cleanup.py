"""Stops what a page left running: clusters in the background, and pods, which outlive them."""

import asyncio
from pathlib import Path

from kohort.embedded.runtimes.process.shim.state import FILE
from kohort.embedded.runtimes.process.shim_client import ShimClient, reap_leftovers
from kohort.local.directories import ClusterDirectory
from kohort.local.stopping import stop


def end_clusters(folder: Path) -> None:
    """Stop every cluster that is kept somewhere below a folder; raises where one does not go."""
    for lock in sorted(folder.rglob(ClusterDirectory("any", Path()).lock.name)):
        outcome = stop(ClusterDirectory(lock.parent.name, lock.parent), lambda _: None)
        assert outcome.is_clean, f"{lock.parent}: {outcome.how.value}"


async def end_pods(folder: Path) -> None:
    """End every pod whose book is kept somewhere below a folder."""
    for book in sorted(folder.rglob(f"pods/*/{FILE}")):
        shim = ShimClient(book.parent, lambda _: None, lambda: None)
        if await shim.find():
            await shim.quit()
        else:
            await asyncio.to_thread(reap_leftovers, book.parent)
