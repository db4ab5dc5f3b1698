"""The objects of the demo: two teams with a queue each in one cohort, and their jobs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor
from kohort.api.resource import Resource
from kohort.jobs.keys import QUEUE_NAME_LABEL
from kohort.manager.crds import NAMESPACES

QUOTA: Final = 2
"""CPUs of each team."""
_COHORT: Final = "company"
FLAVOR: Final = "this-machine"
_QUEUE: Final = "jobs"
_WAIT: Final = 'while [ -d "${0%/*}" ] && ! [ -e "$0" ]; do sleep 0.2; done'


@dataclass(frozen=True, slots=True)
class Team:
    """A team with its jobs: each requests one CPU and runs until the demo releases it."""

    name: str
    jobs: tuple[str, ...]


RESEARCH: Final = Team("research", ("train-1", "train-2", "train-3", "train-4", "train-5"))
PRODUCT: Final = Team("product", ("report-1", "report-2"))
TEAMS: Final = (RESEARCH, PRODUCT)


def queues(teams: tuple[Team, ...] = TEAMS) -> Iterator[tuple[Resource, JsonObject]]:
    """A namespace and queues for each team, in order of creation."""
    yield ResourceFlavor.info.resource, {"metadata": {"name": FLAVOR}, "spec": {}}
    for team in teams:
        yield NAMESPACES, {"metadata": {"name": team.name}}
        yield ClusterQueue.info.resource, {"metadata": {"name": team.name}, "spec": _cluster_queue()}
        metadata = {"namespace": team.name, "name": _QUEUE}
        yield LocalQueue.info.resource, {"metadata": metadata, "spec": {"clusterQueue": team.name}}


def _cluster_queue() -> JsonObject:
    flavor = {"name": FLAVOR, "resources": [{"name": "cpu", "nominalQuota": QUOTA}]}
    return {
        "cohortName": _COHORT,
        "namespaceSelector": {},
        "preemption": {"reclaimWithinCohort": "Any"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }


def jobs(team: Team, released: Path) -> Iterator[tuple[Resource, JsonObject]]:
    """The jobs of a team; each finishes when the file `released` exists, or its directory is removed."""
    requests = {"cpu": "1"}
    container = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", _WAIT, str(released)],
        "resources": {"requests": requests},
    }
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    for name in team.jobs:
        metadata = {"namespace": team.name, "name": name, "labels": {QUEUE_NAME_LABEL: _QUEUE}}
        yield Job.resource, {"metadata": metadata, "spec": {"template": {"spec": pod}}}
