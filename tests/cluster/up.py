"""`make cluster-up`: a control plane in the foreground until Ctrl-C, for manual tests."""

import asyncio
import signal
import sys
import time

from cluster.binaries import versions
from cluster.control_plane import ControlPlane
from cluster.go_builds import BuildError
from cluster.nodes import simulated, simulated_nodes
from kit.processes import ProcessStartError

_NODES = 3


async def _until_stopped(cluster: ControlPlane) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with simulated_nodes(cluster, *(simulated(f"node-{number}") for number in range(_NODES))):
        await stopped.wait()


def main() -> int:
    """Start, print the address, wait, stop."""
    started = time.monotonic()
    try:
        with ControlPlane() as cluster:
            took = time.monotonic() - started
            version = versions().kubernetes
            print(f"Kubernetes {version} with {_NODES} simulated nodes, up in {took:.1f} s. In another shell:")
            print(f"  export KUBECONFIG={cluster.kubeconfig}")
            print(f"  {cluster.kubectl} get nodes")
            print("Ctrl-C stops it and removes everything.", flush=True)
            asyncio.run(_until_stopped(cluster))
    except (BuildError, ProcessStartError) as error:
        print(f"cluster-up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
