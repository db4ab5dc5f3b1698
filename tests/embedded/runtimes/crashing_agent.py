"""A program that a test kills: a runtime that runs the pods it reads from standard input as lines of JSON."""

import asyncio
import json
import sys
from pathlib import Path

from embedded.runtimes.harness import running_process_runtime


async def main(data: Path) -> None:
    async with running_process_runtime(data) as harness:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            run = harness.run(json.loads(line))
            await run.wait_started()
            print("started", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
