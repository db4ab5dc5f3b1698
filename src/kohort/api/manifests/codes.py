"""Codes of warnings. A code never changes its meaning, so that scripts can rely on it.

1xx is for jobs, 2xx for queues, 3xx for the set of manifests, 4xx for unsupported features and unknown kinds;
docs/how-to/validate.md describes each.
"""

from enum import StrEnum, unique


@unique
class WarningCode(StrEnum):
    """The code of a warning."""

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
    NO_COHORT_MEMBERS = "W207"

    GIVEN_TWICE = "W301"
    OLD_VERSION = "W302"
    IDLE_SETTING = "W303"

    NOT_SUPPORTED = "W401"
    UNKNOWN_KIND = "W402"
