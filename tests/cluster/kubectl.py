"""Stock kubectl as a function: arguments in, text out."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = Any
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Said:
    """What kubectl printed."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The output, line by line."""
        return self.out.splitlines()


class KubectlError(Exception):
    """kubectl failed; the text is what it said."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as one user."""

    program: Path
    kubeconfig: Path
    cache: Path

    def __call__(self, *arguments: str, stdin: str = "") -> Said:
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
        return Said(done.stdout, done.stderr)

    def apply(self, *objects: Json) -> Said:
        """Server-side apply of some objects."""
        return self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_together(objects))

    def delete(self, *objects: Json) -> Said:
        """Delete some objects, and wait until they are gone."""
        return self("delete", "-f", "-", stdin=_together(objects))

    def create(self, one: Json, *arguments: str) -> Said:
        """Create an object."""
        return self("create", "-f", "-", *arguments, stdin=json.dumps(one))


def _together(objects: tuple[Json, ...]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
