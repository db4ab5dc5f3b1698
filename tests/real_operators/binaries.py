"""The real operators, built from their published Go modules into a cache outside git.

`catalog` pins the versions. A module is built inside a copy of its content, because only there its own `replace`
lines hold; the definitions of its kinds are kept beside the programs, so that tests need no Go.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from cluster.go_builds import BuildError, go_build, require_go
from real_operators.catalog import OPERATORS, OperatorModule

CACHE: Final = Path(__file__).parents[2] / ".cache" / "operators"
_DOWNLOAD_SECONDS: Final = 600


def folder_of(name: str) -> Path:
    """Where an operator is after it was built; another version, program or manifest is another folder."""
    operator = OPERATORS[name]
    facts = json.dumps([operator.module, operator.version, dict(operator.programs), operator.manifests])
    return CACHE / f"{name}-{operator.version}-{sha256(facts.encode()).hexdigest()[:8]}"


def built(name: str) -> Path:
    """The folder of an operator; raises with the command that builds it where it is missing."""
    folder = folder_of(name)
    if not folder.is_dir():
        raise BuildError(f"{folder} is missing: run `make operators ARGS={name}` (needs Go)")
    return folder


def build(name: str) -> Path:
    """Build an operator unless that was done, and report progress."""
    folder = folder_of(name)
    if folder.is_dir():
        return folder
    require_go("operators")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        fresh, source = Path(scratch) / "fresh", Path(scratch) / "source"
        _copy(_download(OPERATORS[name]), source)
        _compile(OPERATORS[name], source, fresh / "bin")
        for each in OPERATORS[name].manifests:
            _copy(source / each, fresh / "manifests" / each)
        if not folder.is_dir():
            # The whole folder appears at once, so that an interrupted build leaves nothing half made.
            fresh.rename(folder)
    return folder


def _download(operator: OperatorModule) -> Path:
    """The module's folder in Go's cache."""
    wanted = f"{operator.module}@{operator.version}"
    command = ["go", "mod", "download", "-json", wanted]
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=_DOWNLOAD_SECONDS, cwd="/"
    )
    if done.returncode:
        raise BuildError(f"{wanted} can't be downloaded: {(done.stdout + done.stderr).strip()}")
    return Path(json.loads(done.stdout)["Dir"])


def _copy(source: Path, target: Path) -> None:
    """A copy that can be written; Go's cache is read-only."""
    shutil.copytree(source, target, copy_function=shutil.copyfile, symlinks=True)
    for each in (target, *target.rglob("*")):
        if each.is_dir():
            each.chmod(0o755)


def _compile(operator: OperatorModule, source: Path, target: Path) -> None:
    _print(f"building {operator.module} {operator.version}: minutes at first, seconds with Go's cache")
    for program, package in operator.programs.items():
        options = ["-mod=mod", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", f"{target / program}"]
        go_build([*options, package], source, _print)


def _print(text: str) -> None:
    print(f"operators: {text}", flush=True)


def _checked(names: Sequence[str]) -> Sequence[str]:
    unknown = [each for each in names if each not in OPERATORS]
    if unknown:
        raise BuildError(f"unknown operator {', '.join(unknown)}; known: {', '.join(OPERATORS)}")
    return names or list(OPERATORS)


def main(names: Sequence[str]) -> int:
    """`make operators ARGS="jobset ray"`; without names, all."""
    try:
        for each in _checked(names):
            began = time.monotonic()
            folder = build(each)
            _print(f"{each}: {folder} ({time.monotonic() - began:.0f} s)")
    except BuildError as error:
        print(f"operators: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
