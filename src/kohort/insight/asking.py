"""What a Workload asks for where its status does not say: counted from its pod templates, as a manager would."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from kohort.api.amounts import add, format_amount, multiply
from kohort.api.errors import ApiError
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.reading import read_template
from kohort.engine.requests.rules import RequestRules
from kohort.insight.lean import LeanWorkload

PLAIN: Final = Environment.of((), ())
RULES: Final = RequestRules()
REMEMBERED: Final = 1024
"""Templates whose pods are counted once, as most Workloads of a queue look alike."""


def asked_of(workload: LeanWorkload) -> Mapping[str, str]:
    """The sum over all pods; nothing for templates that can't be read."""
    return _asked(tuple((bytes(each.template), each.count) for each in workload.spec.pod_sets))


@lru_cache(maxsize=REMEMBERED)
def _asked(pod_sets: tuple[tuple[bytes, int], ...]) -> Mapping[str, str]:
    total: dict[str, int] = {}
    try:
        for template, count in pod_sets:
            for name, amount in RULES.per_pod(read_template(template, PLAIN).request).items():
                total[name] = add(total.get(name, 0), multiply(amount, count))
    except ApiError:
        return {}
    return {name: format_amount(name, amount) for name, amount in sorted(total.items()) if amount}
