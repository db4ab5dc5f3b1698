"""`python -m kohort.embedded`: runs API server and garbage collector, and prints the path of the kubeconfig."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from kohort.api.errors import ApiError
from kohort.embedded.auth.certificates import CertificateFileError
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.embedded.memory import freeze_startup_objects, tune_allocator
from kohort.embedded.server.server import running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.embedded.storage import StoreError
from kohort.kube.client import Client

CONTROLLERS = User("system:kube-controller-manager", (MASTERS, AUTHENTICATED))


def _settings(arguments: list[str]) -> ServerSettings:
    parser = argparse.ArgumentParser(prog="python -m kohort.embedded", description=__doc__)
    kept = parser.add_mutually_exclusive_group(required=True)
    kept.add_argument("--data", type=Path, help="folder of the store and the keys")
    kept.add_argument("--ephemeral", action="store_true", help="keep everything in memory")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=_port, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--kubeconfig", type=Path, help="where to write the kubeconfig")
    given = parser.parse_args(arguments)
    return ServerSettings(data=given.data, host=given.host, port=given.port, kubeconfig=given.kubeconfig)


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")


async def serve(settings: ServerSettings) -> None:
    """Serves until a signal arrives."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_api_server(settings) as server, running_cleanup(Client(server.core.transport(CONTROLLERS))):
        sys.stdout.write(f"{server.url}\nKUBECONFIG={server.kubeconfig}\n")
        sys.stdout.flush()
        freeze_startup_objects()
        await stop.wait()


def main(arguments: list[str]) -> int:
    """Runs the server; reports a failed start in one line."""
    settings = _settings(arguments)
    tune_allocator()
    try:
        asyncio.run(serve(settings))
    except (ApiError, CertificateFileError, StoreError) as error:
        problem = str(error)
    except OSError as error:
        place = error.filename or f"can't serve on {settings.host} port {settings.port}"
        problem = f"{place}: {error.strerror or error}"
    else:
        return 0
    sys.stderr.write(f"error: {problem}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
