"""The group of a pod: its members and root may traverse the pod's directories.

Containers of a pod may run as different users, so that a single owner does not suffice. The GID is chosen at random
from a range that no pod may request, and stored as the group of the pod's directory, which belongs to root.
"""

import os
import secrets
from functools import cache
from pathlib import Path
from threading import Lock

from kohort.embedded.runtimes.job_files import DIRECTORY

HIGH = 1 << 30
_KEPT_FREE = 1024
"""GIDs excluded at the end of a small range, which contains `nogroup`."""
_choosing = Lock()


@cache
def reserved() -> range:
    """The GIDs for pods, within those that exist in this user namespace."""
    lines = Path("/proc/self/gid_map").read_text().splitlines()
    extents = [list(map(int, line.split())) for line in lines]
    end = max((first + count for first, _, count in extents), default=0)
    return range(HIGH, 2 * HIGH - 1) if end >= 2 * HIGH else range(end // 2, max(end // 2, end - _KEPT_FREE))


def admit_group(directory: Path) -> int:
    """The group of a pod's directory, chosen at the first call; then only its members and root have access."""
    with _choosing:
        fd = os.open(directory, DIRECTORY)
        try:
            group = os.fstat(fd).st_gid
            if group not in reserved():
                group = _choose(directory.parent)
                os.fchown(fd, -1, group)
            os.fchmod(fd, 0o710)
        finally:
            os.close(fd)
    return group


def _choose(pods: Path) -> int:
    taken = {entry.stat(follow_symlinks=False).st_gid for entry in os.scandir(pods)}
    choices = reserved()
    if len(choices) <= len(taken):
        raise OSError(f"no group is left for the directories of a pod: {len(choices)} exist in this user namespace")
    while (group := choices[secrets.randbelow(len(choices))]) in taken:
        pass
    return group
