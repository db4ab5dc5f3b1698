"""Placement that waits for admission checks (TAS-40)."""

from collections.abc import Mapping

from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue
from kohort.api.kueue.v1beta2.checks import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER


def is_delayed(queue: ClusterQueue, checks: Mapping[str, AdmissionCheck], flavor: str, *, is_reserved: bool) -> bool:
    """Whether pods of a flavor are placed by a worker cluster, or on nodes still to be provisioned (TAS-40)."""
    strategy = queue.spec.admission_checks_strategy
    for rule in strategy.admission_checks if strategy else ():
        check = checks.get(rule.name)
        controller = check.spec.controller_name if check is not None and check.spec is not None else ""
        if controller == MULTIKUEUE_CONTROLLER:
            return True
        applies = not rule.on_flavors or flavor in rule.on_flavors
        if controller == PROVISIONING_CONTROLLER and applies and not is_reserved:
            return True
    return False
