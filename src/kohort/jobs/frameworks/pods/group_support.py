"""The Workloads of pod groups: found by the name of the group, built from its members."""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import ClusterReader, GroupMatch, GroupSupport, GroupWorkload
from kohort.jobs.frameworks.pods.composition import build_group_workload, match_group
from kohort.jobs.frameworks.pods.groups import PodGroup
from kohort.jobs.frameworks.pods.loading import is_group
from kohort.jobs.frameworks.pods.members import group_name
from kohort.jobs.objects import metadata


class PodGroupSupport(GroupSupport):
    """Support for pod groups."""

    def name(self, obj: JsonObject) -> str:
        """The group of a pod (JOB-155)."""
        return group_name(obj)

    def match(self, job: JsonObject, workloads: Sequence[Workload], reads: ClusterReader) -> GroupMatch:
        """Whether the Workload of the group's name matches it (JOB-160)."""
        group = _whole(job)
        found = reads.workload(ObjectKey(metadata(group.first).get("namespace", ""), group.name))
        return match_group(group, found, reads)

    def build(self, job: JsonObject, reads: ClusterReader) -> GroupWorkload:
        """The Workload of the group (JOB-157)."""
        return build_group_workload(_whole(job), reads)


def _whole(job: JsonObject) -> PodGroup:
    if not is_group(job):
        raise TypeError("not a pod group")
    return job.whole
