"""Ends the pods of an agent that was killed and that no other one will follow."""

import asyncio
import os
from pathlib import Path

from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.shim.state import Facts
from kohort.embedded.runtimes.process.shim_client import ShimClient, reap_leftovers


async def end_pods(data: Path) -> None:
    """End all pods of a data directory and remove what they had; no agent uses the directory."""
    if not (data / "pods").is_dir():
        return
    places = [PodDirectories(data, name) for name in sorted(os.listdir(data / "pods"))]
    await asyncio.gather(*(_end(each) for each in places))


async def _end(places: PodDirectories) -> None:
    link = ShimClient(places.ours, _ignore_book, _ignore_loss)
    if await link.find():
        await link.quit()
    else:
        await asyncio.to_thread(reap_leftovers, places.ours)
    await asyncio.to_thread(places.remove)


def _ignore_book(_book: Facts) -> None:
    return


def _ignore_loss() -> None:
    return
