"""The real Kueue as a child process: scenarios are sent as lines of JSON, and results are returned.

It is built on first use, from the Go program beside this file, into a folder that is not kept in version control.
"""

import json
import re
import select
import shutil
import subprocess
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from kohort.api.gates import Gate

Json = Any

SOURCES = Path(__file__).parent
PROGRAMS = SOURCES.parents[1] / ".cache" / "oracle"
"""Programs are named after a checksum of their sources, so that none is used with others."""
MODULES = (SOURCES / "go.mod", SOURCES / "go.sum")
MODULE = "sigs.k8s.io/kueue"

PATIENCE = 20
"""Seconds; a scenario takes milliseconds."""


class GoIsMissingError(Exception):
    """There is no Go to build the program with."""


class NoResultError(Exception):
    """The real Kueue did not come back."""


class Kueue:
    """One process; runs one scenario after the other."""

    def __init__(self) -> None:
        self._program = build()
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen([self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, scenario: Json, patience: float = PATIENCE) -> Json:
        """The whole result of one scenario, with every gate as ours are."""
        gates = {gate.name: gate.value.default for gate in Gate if not gate.value.locked}
        scenario = {**scenario, "gates": {**gates, **scenario.get("gates", {})}}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], patience)[0]:
            self._restart()
            raise NoResultError(f"no answer within {patience} s")
        line = self._process.stdout.readline()
        if not line:
            self._restart()
            raise NoResultError("it ended")
        return json.loads(line)

    def _restart(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._start()


def build() -> Path:
    """The program, built if it is missing."""
    return _built("oracle", ".", [*SOURCES.glob("*.go"), *SOURCES.glob("*.s"), *MODULES])


def build_manager() -> Path:
    """Kueue's own manager, of the version that is compared here."""
    return _built("kueue", f"{MODULE}/cmd/kueue", MODULES)


def manager_definitions() -> list[Json]:
    """The CustomResourceDefinitions that come with it."""
    files = sorted((_sources() / "config" / "components" / "crd" / "bases").glob("*.yaml"))
    return [yaml.safe_load(file.read_text()) for file in files]


def manager_webhooks() -> list[Json]:
    """The two configurations of its webhooks."""
    file = _sources() / "config" / "components" / "webhook" / "manifests.yaml"
    return list(yaml.safe_load_all(file.read_text()))


def manager_manifests() -> Path:
    """Everything that an installation of it consists of, for kustomize."""
    return _sources() / "config" / "default"


def manager_configuration() -> Json:
    """The Configuration in these manifests."""
    file = _sources() / "config" / "components" / "manager" / "controller_manager_config.yaml"
    return yaml.safe_load(file.read_text())


def gate_names() -> set[str]:
    """Its own feature gates; the libraries that it is built with add theirs to the same registry."""
    text = (_sources() / "pkg" / "features" / "kube_features.go").read_text()
    return set(re.findall(r'featuregate\.Feature = "(\w+)"', text))


def _sources() -> Path:
    return Path(_go("list", "-m", "-f", "{{.Dir}}", MODULE).strip())


def _built(name: str, package: str, sources: Iterable[Path]) -> Path:
    checksum = sha256(b"".join(each.name.encode() + each.read_bytes() for each in sorted(sources))).hexdigest()
    program = PROGRAMS / f"{name}-{checksum[:12]}"
    if not program.exists():
        _go("build", "-o", str(program), package)
    return program


def go_program() -> str:
    """The go command; raises GoIsMissingError."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise GoIsMissingError("the comparison with the real Kueue needs Go 1.26 or newer: https://go.dev/dl/")
    return go


def _go(*arguments: str) -> str:
    go = go_program()
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    return subprocess.run([go, *arguments], cwd=SOURCES, check=True, stdout=subprocess.PIPE, text=True).stdout
