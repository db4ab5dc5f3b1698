"""Pods that run on when their cluster has stopped, which is what they are meant to do, and not in a test."""

import asyncio
from pathlib import Path

from kohort.embedded.runtimes.process.link import Link, reap_leftovers
from kohort.embedded.runtimes.process.shim.book import FILE


async def end_pods(folder: Path) -> None:
    """End every pod whose book is kept somewhere below a folder."""
    for book in sorted(folder.rglob(f"pods/*/{FILE}")):
        shim = Link(book.parent, lambda _: None, lambda: None)
        if await shim.find():
            await shim.quit()
        else:
            await asyncio.to_thread(reap_leftovers, book.parent)
