"""The CustomResourceDefinitions of the job kinds, from the Go modules of their operators; none of these is built."""

import json
import subprocess
from pathlib import Path
from typing import Final

from oracle.kueue import SOURCES, go_program

MODULES: Final = (
    ("sigs.k8s.io/jobset@v0.12.0", "config/components/crd/bases"),
    ("github.com/ray-project/kuberay/ray-operator@v1.6.2", "config/crd/bases"),
    ("github.com/kubeflow/training-operator@v1.9.4", "manifests/base/crds"),
    ("github.com/kubeflow/mpi-operator@v0.8.2", "manifests/base"),
    ("github.com/kubeflow/trainer/v2@v2.3.0", "manifests/base/crds"),
    ("sigs.k8s.io/lws@v0.9.0", "config/crd/bases"),
)
"""Modules, and the folder with definitions in each; of a kind that two of them define, the later one counts."""


def definition_files() -> list[Path]:
    """The definitions of all kinds; the file of each has its name."""
    files = [file for module, folder in MODULES for file in sorted((_source(module) / folder).glob("*_*.yaml"))]
    return list({file.name: file for file in files}.values())


def _source(module: str) -> Path:
    """The folder of a module, which is downloaded once; outside of any module, whose requirements would count."""
    command = [go_program(), "mod", "download", "-json", module]
    done = subprocess.run(command, cwd=SOURCES.anchor, check=True, stdout=subprocess.PIPE, text=True)
    return Path(json.loads(done.stdout)["Dir"])
