"""Random pod templates: requests, scheduling constraints, priorities, and topology requests, also invalid ones."""

from typing import Any, Final

from job_comparison.choices import Choices

Json = Any
K: Final = "kueue.x-k8s.io/"
BLOCK, RACK, HOST = "cloud.example.com/block", "cloud.example.com/rack", "kubernetes.io/hostname"
POD_CLASSES: Final = ("batch-high", "batch-low")
"""PriorityClasses that exist."""


def pod_template(
    c: Choices, name: str = "main", *, restart: str = "Never", pods: int = 1, request: Json = None
) -> Json:
    """The template of so many pods, whose first container has this name; with a given topology request, or its own."""
    annotations = {**(topology(c, pods) if request is None else request), **c.member(0.2, "example.com/note", "a", "b")}
    labels = {**c.member(0.3, "app", "x", "y"), **c.member(0.05, "job-name", "other")}
    metadata = {**({"annotations": annotations} if annotations else {}), **({"labels": labels} if labels else {})}
    return {**({"metadata": metadata} if metadata or c.chance(0.3) else {}), "spec": pod_spec(c, name, restart)}


def pod_spec(c: Choices, name: str, restart: str) -> Json:
    """The spec of a pod."""
    containers = [container(c, name), *([container(c, "sidecar")] if c.chance(0.15) else ())]
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    return {
        "containers": containers,
        **({"restartPolicy": restart} if restart else {}),
        **({"initContainers": [init_container(c)]} if c.chance(0.15) else {}),
        **c.maybe(0.2, nodeSelector={"pool": "a"}),
        **c.maybe(0.2, tolerations=[toleration]),
        **c.maybe(0.1, affinity=_affinity()),
        **c.member(0.2, "priorityClassName", *POD_CLASSES),
        **c.maybe(0.1, terminationGracePeriodSeconds=5),
        **c.maybe(0.1, volumes=[{"name": "data", "emptyDir": {}}]),
        **c.maybe(0.05, schedulingGates=[{"name": "example.com/mine"}]),
    }


def container(c: Choices, name: str) -> Json:
    """A container with requests, limits, both or neither."""
    return {
        "name": name,
        "image": c.one("registry.test/a:1", "registry.test/b:2"),
        **c.member(0.8, "resources", *_RESOURCES),
        **c.maybe(0.2, env=[{"name": "A", "value": "1"}]),
        **c.maybe(0.2, command=["run"], args=["--fast"]),
    }


_RESOURCES: Final[tuple[Json, ...]] = (
    {"requests": {"cpu": "1"}},
    {"requests": {"cpu": "500m", "memory": "0.5Gi"}},
    {"requests": {"cpu": "1500m", "memory": "1000Ki"}, "limits": {"cpu": "2", "memory": "1Gi"}},
    {"limits": {"cpu": "1", "memory": "200Mi"}},
    {"requests": {"cpu": "4", "example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}},
    {"requests": {"cpu": "0"}},
    {},
)


def init_container(c: Choices) -> Json:
    """An init container, or a sidecar."""
    return {**container(c, "first"), **c.maybe(0.4, restartPolicy="Always")}


def _affinity() -> Json:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def topology(c: Choices, pods: int) -> dict[str, str]:
    """Annotations of a topology request for so many pods."""
    if c.error(0.25):
        return c.one(*_INVALID)
    if c.chance(0.55):
        return {}
    sizes = [str(size) for size in (1, 2, 4) if pods and pods % size == 0]
    slices = {f"{K}podset-slice-required-topology": HOST, f"{K}podset-slice-size": c.one(*sizes)} if sizes else {}
    return c.one(
        {f"{K}podset-required-topology": BLOCK},
        {f"{K}podset-required-topology": RACK},
        {f"{K}podset-preferred-topology": RACK},
        {f"{K}podset-preferred-topology": HOST},
        {f"{K}podset-unconstrained-topology": "true"},
        {f"{K}podset-required-topology": BLOCK, **slices},
        {f"{K}podset-preferred-topology": BLOCK, **slices},
        slices,
    )


def shared_topology(c: Choices) -> Json:
    """The request of a leader and its workers that are placed together; mostly none."""
    if c.chance(0.85):
        return None
    level = c.one(f"{K}podset-required-topology", f"{K}podset-preferred-topology")
    return {level: c.one(BLOCK, RACK), f"{K}podset-group-name": "together"}


_SLICES: Final = {f"{K}podset-slice-required-topology": HOST, f"{K}podset-slice-size": "2"}
_INVALID: Final = (
    {f"{K}podset-required-topology": BLOCK, f"{K}podset-preferred-topology": RACK},
    {f"{K}podset-required-topology": "not a label key"},
    {f"{K}podset-required-topology": ""},
    {f"{K}podset-unconstrained-topology": "false"},
    {f"{K}podset-unconstrained-topology": "perhaps"},
    {f"{K}podset-slice-required-topology": HOST},
    {f"{K}podset-slice-size": "2"},
    {f"{K}podset-required-topology": BLOCK, **_SLICES, f"{K}podset-slice-size": "0"},
    {f"{K}podset-required-topology": BLOCK, **_SLICES, f"{K}podset-slice-size": "few"},
    {f"{K}podset-required-topology": BLOCK, **_SLICES, f"{K}podset-slice-size": "1000"},
    {f"{K}podset-group-name": "alone"},
    {f"{K}podset-required-topology": BLOCK, f"{K}podset-group-name": "not a name"},
)
