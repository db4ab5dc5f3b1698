"""Facts about a kind of jobs that the scenario uses; `kinds` has one value per kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kohort.api.resource import Resource

Json = Any
FOREVER: Final = "forever"


class Waiting(Enum):
    """How a job waits for quota."""

    SUSPENDED = "without pods"
    GATED = "with gated pods"


class End(Enum):
    """How a job ends."""

    FINISHES = "by itself"
    DELETED = "when it is deleted, because it serves"


@dataclass(frozen=True, slots=True)
class JobKind:
    """Facts about the jobs of one kind."""

    name: str
    """The test's, such as `jobset`."""
    resource: Resource
    operators: tuple[str, ...]
    """Those that run it, by their names in the catalog."""
    make_spec: Callable[[str, str], Json]
    """The spec of a job of some name, whose pods run for so many seconds."""
    pods: Mapping[str, int]
    """How many of its pods have names of each pattern: `{name}` is the job's, `*` a generated part."""
    pod_sets: Mapping[str, int]
    """Counts of the pod sets of each of its Workloads, by name."""
    cpus: int
    """What all pods request together."""
    workloads: int = 1
    waiting: Waiting = Waiting.SUSPENDED
    end: End = End.FINISHES


def pod_template(seconds: str, cpu: str = "1", container: str = "c", **spec: Json) -> Json:
    """A template of pods that run for so many seconds."""
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"annotations": {"kohort.dev/run-seconds": seconds}},
        "spec": {"containers": [{"name": container, "image": "registry.test/c:1", **requests}], **spec},
    }
