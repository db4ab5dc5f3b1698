"""The programs of a real control plane, built from their published Go modules into a cache outside git.

`go/go.mod` pins the versions and nothing else does: the cache folder, the link flags and the docs follow it.
"""

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cluster.go_builds import BuildError, go_build, require_go

MODULE = Path(__file__).parent / "go"
CACHE = Path(__file__).parents[2] / ".cache" / "cluster"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
_BUILT_AS = {"etcd": "server"}
"""Where Go's name for an architecture is not the usual one."""
_VERSION_PACKAGES = ("k8s.io/client-go/pkg/version", "k8s.io/component-base/version")


@dataclass(frozen=True, slots=True)
class Versions:
    """The version that `go.mod` requires."""

    kubernetes: str
    etcd: str

    @property
    def folder(self) -> Path:
        """Where the programs of these versions are."""
        return CACHE / f"kubernetes-{self.kubernetes}-etcd-{self.etcd}" / "bin"


def versions() -> Versions:
    """The versions that `go.mod` pins."""
    text = (MODULE / "go.mod").read_text()
    return Versions(_required("k8s.io/kubernetes", text), _required("go.etcd.io/etcd/server/v3", text))


def _required(module: str, text: str) -> str:
    found = re.search(rf"^\s+{re.escape(module)} (v\S+)", text, re.M)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} does not require {module}")
    return found[1]


def built() -> Path:
    """The folder of the programs; raises with the command that builds them where they are missing."""
    folder = versions().folder
    if not folder.is_dir():
        raise BuildError(f"{folder} is missing: run `make cluster-binaries` (needs Go)")
    return folder


def build() -> Path:
    """Build the programs unless they exist, and report progress."""
    wanted = versions()
    if wanted.folder.is_dir():
        return wanted.folder
    require_go("cluster-binaries")
    wanted.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.folder.parent) as scratch:
        fresh = Path(scratch) / "bin"
        _compile(fresh, wanted)
        for name, as_built in _BUILT_AS.items():
            (fresh / as_built).rename(fresh / name)
        if not wanted.folder.is_dir():
            # The whole folder appears at once, so that an interrupted build leaves nothing half made.
            fresh.rename(wanted.folder)
    return wanted.folder


def _compile(folder: Path, wanted: Versions) -> None:
    _print(f"building etcd {wanted.etcd} and Kubernetes {wanted.kubernetes}: minutes at first, seconds with Go's cache")
    options = ["-mod=readonly", f"-ldflags={_link_flags(wanted)}", "-o", f"{folder}/"]
    go_build([*options, *PACKAGES.values()], MODULE, _print)


def _link_flags(wanted: Versions) -> str:
    """Without symbols, and with the version that a server reports."""
    major, minor, _ = wanted.kubernetes.removeprefix("v").split(".", 2)
    values = {"gitVersion": wanted.kubernetes, "gitMajor": major, "gitMinor": minor}
    named = [f"-X {package}.{name}={value}" for package in _VERSION_PACKAGES for name, value in values.items()]
    return " ".join(["-s", "-w", *named])


def _print(text: str) -> None:
    print(f"cluster-binaries: {text}", flush=True)


def main() -> int:
    """`make cluster-binaries`."""
    try:
        _print(str(build()))
    except BuildError as error:
        print(f"cluster-binaries: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
