"""Caches the requests of pod templates per environment.

Thousands of workloads have few distinct templates, so the cache is keyed by the template's bytes.
"""

from dataclasses import dataclass

from kohort.api.call_cache import cached_calls
from kohort.api.codec import decode
from kohort.api.core.pods import QuotaPodTemplate
from kohort.api.fields import FieldError
from kohort.engine.requests.adjustment import adjusted
from kohort.engine.requests.bounds import limit_errors, range_errors
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.lists import Nanos
from kohort.engine.requests.pod import pod_request

REMEMBERED_TEMPLATES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TemplateRequests:
    """Requests of a pod, and problems found in them; equal by identity, because caches are keyed by it."""

    request: Nanos
    limit_errors: tuple[FieldError, ...]
    range_errors: tuple[FieldError, ...]


@cached_calls(REMEMBERED_TEMPLATES)
def read_template(template: bytes, environment: Environment) -> TemplateRequests:
    """Adjust, sum up and check the pod (SCH-110..124). Raises an ApiError for a template that can't be read."""
    spec = adjusted(decode(template, QuotaPodTemplate).spec, environment)
    request = pod_request(spec)
    return TemplateRequests(request, limit_errors(spec), range_errors(spec, request, environment))
