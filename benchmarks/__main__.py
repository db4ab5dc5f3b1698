"""`make bench`: prints every figure with the machine and versions it was taken on."""

import importlib
import platform
import sys
from importlib.metadata import version

from benchmarks.measure import HEADER

SUITES = (
    *("cli", "client", "codec", "engine", "frameworks", "kube", "kueue"),
    *("pod_lifecycle", "pods", "store", "topology", "wire"),
)


def main(names: list[str]) -> int:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("kohort", "msgspec", "orjson"))
    print(f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {libraries}")
    print("command: python -m benchmarks", *names)
    print(HEADER)
    missed = 0
    for name in names or SUITES:
        for figure in importlib.import_module(f"benchmarks.{name}").figures():
            print(figure.line(), flush=True)
            missed += figure.goal is not None and figure.ratio > figure.goal
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
