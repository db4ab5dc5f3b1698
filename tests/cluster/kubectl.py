"""Stock kubectl as a function: arguments in, text out."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.commands import CommandResult

Json = Any
_SECONDS = 150


class KubectlError(Exception):
    """kubectl failed; the message is its standard error."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as one user."""

    program: Path
    kubeconfig: Path
    cache: Path

    def __call__(self, *arguments: str, stdin: str = "") -> CommandResult:
        """Run it; anything but success is an error."""
        done = subprocess.run(
            [self.program, f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def apply(self, *objects: Json) -> CommandResult:
        """Server-side apply of some objects."""
        return self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_together(objects))

    def delete(self, *objects: Json) -> CommandResult:
        """Delete some objects, and wait until they are gone."""
        return self("delete", "-f", "-", stdin=_together(objects))

    def create(self, one: Json, *arguments: str) -> CommandResult:
        """Create an object."""
        return self("create", "-f", "-", *arguments, stdin=json.dumps(one))


def _together(objects: tuple[Json, ...]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
