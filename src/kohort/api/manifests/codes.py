"""The codes of all warnings. A code never changes its meaning, so that scripts can rely on it.

1xx is about jobs, 2xx about queues, 3xx about the set of manifests, 4xx about what Kohort does not support or know;
docs/how-to/validate.md explains each.
"""

from enum import StrEnum, unique


@unique
class Code(StrEnum):
    """What a warning is about."""

    QUEUE_IN_ANNOTATION = "W101"
    QUEUE_ON_PODS = "W102"
    NO_QUEUE = "W103"
    LOCAL_QUEUE_MISSING = "W104"
    PRIORITY_CLASS_MISSING = "W105"
    RESOURCE_NOT_COVERED = "W106"
    REQUEST_TOO_LARGE = "W107"

    NO_NAMESPACE_SELECTOR = "W201"
    NAMESPACE_NOT_SELECTED = "W202"
    FLAVOR_MISSING = "W203"
    ADMISSION_CHECK_MISSING = "W204"
    TOPOLOGY_MISSING = "W205"
    CLUSTER_QUEUE_MISSING = "W206"
    NOBODY_TO_BORROW_FROM = "W207"

    GIVEN_TWICE = "W301"
    OLD_VERSION = "W302"
    IDLE_SETTING = "W303"

    NOT_SUPPORTED = "W401"
    UNKNOWN_KIND = "W402"
