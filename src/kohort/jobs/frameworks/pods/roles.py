"""Whether a pod fits its role: any client can set the annotation with the role (DEV-9)."""

from kohort.api.codec import JsonObject, from_json
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.requests.pod import pod_amounts
from kohort.jobs.frameworks.pods.members import role_of
from kohort.jobs.frameworks.pods.shape import shape_hash
from kohort.jobs.keys import MULTIKUEUE_ORIGIN_LABEL
from kohort.jobs.objects import controller_owner


def resources_beyond_role(pod: JsonObject, workload: Workload) -> tuple[str, ...]:
    """Resources of which the pod requests more than the pod set of its role was admitted with.

    A role that is the hash of the pod's own shape is valid; pods of a controller, and copies of pods of another
    cluster, have been given theirs.
    """
    role, spec = role_of(pod), pod.get("spec") or {}
    if controller_owner(pod) is not None or MULTIKUEUE_ORIGIN_LABEL in workload.metadata.labels:
        return ()
    pod_set = next((each for each in workload.spec.pod_sets if each.name == role), None)
    if pod_set is None or role == shape_hash(spec):
        return ()
    granted = pod_amounts(pod_set.pod_template.spec)
    requested = pod_amounts(from_json(spec, QuotaPodSpec))
    return tuple(name for name, amount in sorted(requested.items()) if amount > granted.get(name, 0))
