"""Files of Go modules, such as the CustomResourceDefinitions of an operator."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

_GO = {**os.environ, "GOFLAGS": "-mod=mod"}


def yaml_of_module(module: str, file: str) -> Any:
    """A YAML file of a module, which is downloaded once; skips the test where Go is not installed."""
    if shutil.which("go") is None:
        pytest.skip(f"needs Go to download {module}")
    command = ["go", "mod", "download", "-json", module]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_GO, timeout=300, cwd="/")
    return yaml.safe_load((Path(json.loads(done.stdout)["Dir"]) / file).read_text())
