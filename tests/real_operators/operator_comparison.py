"""What a stand-in would create for a job, compared with what the operator has created for it.

The job was stored by a real API server and its operator runs there; the stand-in only plans, from the same object.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from kohort.api.resource import Resource
from kohort.operators.contract import StandIn
from real_operators.users import User, observed

Json = Any
_MOST: Final = 100
_OF_THE_SERVER: Final = ("batch.kubernetes.io/", "controller-uid", "job-name")
"""Labels that the API server adds to the template of a Job."""


@dataclass(frozen=True, slots=True)
class OperatorComparison:
    """A stand-in, and a job for it and for its operator."""

    name: str
    """The operator in the catalog."""
    stand_in: StandIn
    make_spec: Callable[[], Json]
    created: tuple[Resource, ...]
    """The kinds of objects that are compared."""

    def differences(self, user: User, namespace: str) -> list[str]:
        """Create the job, wait until its objects exist, and compare them."""
        resource = self.stand_in.resource
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        metadata = {"name": "same", "namespace": namespace}
        made = user.create(resource, {**head, "metadata": metadata, "spec": self.make_spec()})
        plan = self.stand_in.plan({**head, **made}, [], datetime.now(UTC))
        kinds = {each.kind: each for each in self.created}
        planned = [each for each in islice(plan.creates, _MOST) if each["kind"] in kinds]
        assert planned, "the stand-in creates nothing"
        found = [*self._differing(user, namespace, planned, kinds)]
        return [*found, *self._missing(user, namespace, made["metadata"]["uid"], planned)]

    def _differing(self, user: User, namespace: str, planned: list[Json], kinds: dict[str, Resource]) -> Iterator[str]:
        for each in planned:
            name, kind = each["metadata"]["name"], kinds[each["kind"]]
            theirs = observed(partial(user.get, kind, namespace, name), bool, f"{kind.kind} {name}")
            yield from _differences(each, theirs, f"{kind.kind} {name}")

    def _missing(self, user: User, namespace: str, uid: str, planned: list[Json]) -> Iterator[str]:
        names = {(each["kind"], each["metadata"]["name"]) for each in planned}
        for kind in self.created:
            for each in user.list(kind, namespace):
                owners = {owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()}
                if uid in owners and (kind.kind, each["metadata"]["name"]) not in names:
                    yield f"the operator also creates {kind.kind} {each['metadata']['name']}"


def _differences(ours: Json, theirs: Json, path: str) -> Iterator[str]:
    """Where the plan is not part of what the operator created; names and environments must be equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        yield from _of_objects(ours, theirs, path)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} instead of {theirs!r}"


def _of_objects(ours: Json, theirs: Json, path: str) -> Iterator[str]:
    for name in ours:
        if name not in theirs:
            yield f"{path}.{name}: {ours[name]!r}, which the operator does not set"
        else:
            yield from _differences(ours[name], theirs[name], f"{path}.{name}")
    if path.endswith((".labels", ".annotations")):
        yield from (f"{path}.{name} is missing" for name in theirs.keys() - ours.keys() if not _is_of_server(name))
    if "image" in ours and bool(ours.get("env")) != bool(theirs.get("env")):
        yield f"{path}.env: {ours.get('env')} instead of {theirs.get('env')}"


def _is_of_server(label: str) -> bool:
    return label.startswith(_OF_THE_SERVER)
