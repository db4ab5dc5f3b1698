"""The user a container runs as: another user only if this process is root."""

import os
import pwd
from dataclasses import dataclass

from kohort.embedded.runtimes.environment import config_error
from kohort.embedded.runtimes.pods import RunContainer, RunPod
from kohort.embedded.runtimes.process.pod_groups import reserved


@dataclass(frozen=True, slots=True)
class RunAs:
    """A user with groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def run_as(pod: RunPod, container: RunContainer) -> RunAs | None:
    """The user requested by the security contexts, the container's before the pod's; None for the current user."""
    requested = {**pod.spec.security_context, **container.security_context}
    uid = requested.get("runAsUser")
    if requested.get("runAsNonRoot") and (os.geteuid() if uid is None else int(uid)) == 0:
        raise config_error(
            f"container has runAsNonRoot and image will run as root (pod: {pod.label!r}, container: {container.name})"
        )
    if uid is None or os.geteuid() != 0:
        return None
    gid = requested.get("runAsGroup")
    more = [*(requested.get("supplementalGroups") or ()), *([requested["fsGroup"]] if "fsGroup" in requested else ())]
    found = RunAs(int(uid), _group_of(int(uid)) if gid is None else int(gid), tuple(map(int, more)))
    _check_groups(found)
    return found


def _check_groups(user: RunAs) -> None:
    kept = reserved()
    for group in (user.gid, *user.groups):
        if group in kept:
            raise config_error(
                f"group {group} is reserved for the directories of pods: choose one that is not in "
                f"{kept.start} to {kept.stop - 1}"
            )


def cannot_change(pod: RunPod, container: RunContainer) -> bool:
    """Whether another user is requested that cannot be used."""
    requested = {**pod.spec.security_context, **container.security_context}.get("runAsUser")
    return requested is not None and os.geteuid() not in (0, int(requested))


def _group_of(uid: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid
