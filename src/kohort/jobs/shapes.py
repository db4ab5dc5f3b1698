"""Checks the types of a job on which a rule has raised.

API servers validate built-in kinds before they call a webhook, but custom ones only after a mutating webhook, and only
against their definition; other clients can send anything.
"""

from collections.abc import Sequence

import msgspec

from kohort.api.codec import Json, decode, decode_json
from kohort.api.errors import DecodeError
from kohort.jobs.contract import Framework


def check_shape(framework: Framework, data: bytes | msgspec.Raw) -> None:
    """Check the types of an object; raises DecodeError for the first error."""
    decode(data, framework.view)
    value = decode_json(data)
    for part in ("spec", "status"):
        if not isinstance(value.get(part), dict | None):
            raise DecodeError(f"{part} must be an object")
    _find(value, framework.pod_spec)


def _find(value: Json, path: Sequence[str]) -> None:
    for index, name in enumerate(path):
        value = value.get(name)
        if value is None:
            raise DecodeError(f"{'.'.join(path[: index + 1])} is required")
