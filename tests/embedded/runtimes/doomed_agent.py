"""An agent in a process of its own, to be killed: runs the pods that it reads as lines of JSON until then."""

import asyncio
import json
import sys
from pathlib import Path

from embedded.runtimes.worlds import running_world


async def main(data: Path) -> None:
    async with running_world(data) as world:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            run = world.run(json.loads(line))
            await run.started()
            print("started", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
