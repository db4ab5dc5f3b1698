"""Stops the pods left by a killed agent that no other agent will adopt."""

import asyncio
import os
from pathlib import Path

from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.shim.state import ShimFacts
from kohort.embedded.runtimes.process.shim_client import ShimClient, reap_leftovers


async def end_pods(data: Path) -> None:
    """Stops all pods of an unused data directory and removes their resources."""
    if not (data / "pods").is_dir():
        return
    directories = [PodDirectories(data, name) for name in sorted(os.listdir(data / "pods"))]
    await asyncio.gather(*(_end(each) for each in directories))


async def _end(directories: PodDirectories) -> None:
    shim_client = ShimClient(directories.ours, _ignore_state, _ignore_loss)
    if await shim_client.find():
        await shim_client.quit()
    else:
        await asyncio.to_thread(reap_leftovers, directories.ours)
    await asyncio.to_thread(directories.remove)


def _ignore_state(_state: ShimFacts) -> None:
    return


def _ignore_loss() -> None:
    return
