"""Checks the types of a job on which a rule of `jobs` has raised.

API servers validate built-in kinds before they call a webhook, but custom ones only after a mutating webhook; other
clients can send anything.
"""

from collections.abc import Sequence

from kohort.api.codec import Json, decode, decode_json
from kohort.api.errors import DecodeError
from kohort.jobs.contract import Framework
from kohort.webhooks.reviews import AdmissionRequest


def check_shape(request: AdmissionRequest, framework: Framework) -> None:
    """Check the types of the new and the old object; raises DecodeError for the first error."""
    for each in (request.object, request.old):
        if each is not None:
            decode(each, framework.view)
            _find(decode_json(each), framework.pod_spec)


def _find(value: Json, path: Sequence[str]) -> None:
    for index, name in enumerate(path):
        value = value.get(name)
        if value is None:
            raise DecodeError(f"{'.'.join(path[: index + 1])} is required")
