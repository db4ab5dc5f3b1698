"""The real Kueue as a child process: scenarios are sent as lines of JSON, and results are returned.

It is built on first use, from the Go program beside this file, into a folder that is not kept in version control.
"""

import json
import re
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from kohort.api.gates import Gate

Json = Any

SOURCES = Path(__file__).parent
PROGRAM = SOURCES.parents[1] / ".cache" / "oracle" / "oracle"
MANAGER = PROGRAM.with_name("kueue")
"""The real Kueue as it is usually run, for benchmarks beside it."""
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
        build()
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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


def build() -> None:
    """Bring the program up to date; cheap when it is."""
    sources = [*SOURCES.glob("*.go"), *SOURCES.glob("*.s"), SOURCES / "go.mod", SOURCES / "go.sum"]
    if not _is_newer(PROGRAM, sources):
        _go("build", "-o", str(PROGRAM), ".")


def build_manager() -> Path:
    """Kueue's own manager, of the version that is compared here."""
    if not _is_newer(MANAGER, [SOURCES / "go.mod", SOURCES / "go.sum"]):
        _go("build", "-o", str(MANAGER), f"{MODULE}/cmd/kueue")
    return MANAGER


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


def gate_names() -> set[str]:
    """Its own feature gates; the libraries that it is built with add theirs to the same registry."""
    text = (_sources() / "pkg" / "features" / "kube_features.go").read_text()
    return set(re.findall(r'featuregate\.Feature = "(\w+)"', text))


def _sources() -> Path:
    return Path(_go("list", "-m", "-f", "{{.Dir}}", MODULE).strip())


def _is_newer(program: Path, sources: list[Path]) -> bool:
    return program.exists() and all(each.stat().st_mtime < program.stat().st_mtime for each in sources)


def _go(*arguments: str) -> str:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise GoIsMissingError("the comparison with the real Kueue needs Go 1.26 or newer: https://go.dev/dl/")
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    return subprocess.run([go, *arguments], cwd=SOURCES, check=True, stdout=subprocess.PIPE, text=True).stdout
