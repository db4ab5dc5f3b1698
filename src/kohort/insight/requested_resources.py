"""Requests of a Workload without them in its status: computed from its pod templates, as in the manager."""

from collections.abc import Mapping
from typing import Final

from kohort.api.amounts import add, format_amount, multiply
from kohort.api.errors import ApiError
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.rules import RequestRules
from kohort.engine.requests.template_requests import read_template

PLAIN: Final = Environment.of((), ())
RULES: Final = RequestRules()


def requested_by(pod_sets: tuple[tuple[bytes, int], ...]) -> Mapping[str, str]:
    """The sum over all pods of these templates and counts; empty for invalid templates."""
    total: dict[str, int] = {}
    try:
        for template, count in pod_sets:
            for name, amount in RULES.per_pod(read_template(template, PLAIN).request).items():
                total[name] = add(total.get(name, 0), multiply(amount, count))
    except ApiError:
        return {}
    return {name: format_amount(name, amount) for name, amount in sorted(total.items()) if amount}
