"""Replays the golden admission transcripts through our own pipeline, in order, and keeps both responses per step.

The transcripts were taken on a live system, where controllers wrote statuses between the steps. What a client read
before it wrote is in the body of its write, so a write to the main resource contains the status before it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from kit.golden.recordings import api_recording_with_times
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.admission import ObjectWrite, WriteVerdict, admit, read
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.merge import merge

FILES = ("clusterqueue-admission", "cohort-localqueue-admission", "other-kinds-admission", "workload-admission")
MERGED_ERRORS = {"V39-group": Counter({("cel", "<nil>", "FieldValueInvalid"): 1})}
"""What Kueue refuses for two causes and we for one (API-50, docs/deviations.md)."""

Json = Any


@dataclass(frozen=True)
class AdmissionStep:
    """One step: the request, the response of the real server, and ours."""

    case: str
    title: str
    step: Json
    expected: Json
    write: ObjectWrite | None
    """The write and the previous state; None when the step only reads."""
    verdict: WriteVerdict | None
    seen: Json
    """Our object as the client sees it; None when refused or not shown."""


@cache
def replay(name: str) -> tuple[AdmissionStep, ...]:
    return tuple(_Replay().steps(api_recording_with_times(name)))


class _Replay:
    def __init__(self) -> None:
        self.stored: dict[str, Json] = {}

    def steps(self, cases: Json) -> Iterator[AdmissionStep]:
        for case in cases:
            for step in case["steps"]:
                yield self._replayed(case, step)

    def _replayed(self, case: Json, step: Json) -> AdmissionStep:
        return AdmissionStep(case["id"], case["title"], step, step["response"], *self._perform(case, step))

    def _perform(self, case: Json, step: Json) -> tuple[ObjectWrite | None, WriteVerdict | None, Json]:
        version = "/".join(step["path"].split("/")[2:4])
        key = _key(step["path"])
        match step["op"]:
            case "list":
                return None, None, None
            case "read":
                self.stored[key] = convert(step["response"]["object"], V1BETA2)
                return None, None, step["response"]["object"]
            case "read-other-version":
                return None, None, read(self.stored[key], version)
        body = generated(case["id"]) if "generated" in step["body"] else step["body"]
        if step["op"] == "create":
            key += f"/{body['metadata']['name']}"
        return self._write(case["id"], step, body, key, version)

    def _write(
        self, case: str, step: Json, body: Json, key: str, version: str
    ) -> tuple[ObjectWrite, WriteVerdict, Json]:
        params = step.get("params", {})
        write = ObjectWrite(
            body,
            self._previous(case, key, step["op"], body),
            to_status=step["op"] == "update-status",
            field_validation=params.get("fieldValidation", "Warn"),
        )
        verdict = admit(write, DEFAULT_GATES)
        if verdict.accepted and "dryRun" not in params:
            self.stored[key] = verdict.stored
        return write, verdict, read(verdict.stored, version) if verdict.accepted else None

    def _previous(self, case: str, key: str, op: str, body: Json) -> Json:
        """The stored object before a write; None for a creation."""
        if op == "create":
            return None
        stored = self.stored.get(key)
        if stored is None or op == "update":
            fetched = convert(body, V1BETA2)
            stored = {**(stored or _at_admitted_size(fetched)), "status": fetched.get("status", {})}
        return merge(stored, _PREVIOUS_PATCHES.get(case, {}))


def _at_admitted_size(workload: Json) -> Json:
    """The object before a change of count: with as many pods as were admitted."""
    admission = workload.get("status", {}).get("admission", {})
    counts = {each["name"]: each["count"] for each in admission.get("podSetAssignments", ())}
    sized = [{**each, "count": counts.get(each["name"], each["count"])} for each in workload["spec"].get("podSets", ())]
    return merge(workload, {"spec": {"podSets": sized}}) if counts else workload


_OFFERED = {"status": {"clusterName": None, "nominatedClusterNames": ["a", "b"]}}
_TAKEN = {"status": {"clusterName": "a", "nominatedClusterNames": None}}
_TWO_RECLAIMED = {"status": {"reclaimablePods": [{"name": "main", "count": 2}]}}
_PREVIOUS_PATCHES: dict[str, Json] = {
    "V43": _OFFERED,
    "V43-ok": _OFFERED,
    "V44-b": _OFFERED,
    "API53-change": _TAKEN,
    "API53-rm": _TAKEN,
    "V42-down": _TWO_RECLAIMED,
    "V42-rm": _TWO_RECLAIMED,
    "V42-up": _TWO_RECLAIMED,
    "API50-pcname": {"spec": {"priorityClassRef": {"name": "pc1"}}},
    "API50-add": {"spec": {"priorityClassRef": None, "priority": None}},
}
"""The previous state, as a merge patch, where the transcript does not have it and only its title describes it."""


def _key(path: str) -> str:
    return path.split("/", 4)[4].removesuffix("/status")


# Bodies that the transcripts only describe


def _group(flavors: int, resources: int, tag: str) -> Json:
    names = [f"{tag}.io/r{number}" for number in range(resources)]
    quotas = [{"name": name, "nominalQuota": 1} for name in names]
    return {
        "coveredResources": names,
        "flavors": [{"name": f"{tag}-f{number}", "resources": quotas} for number in range(flavors)],
    }


def _groups(count: int, flavors: int, resources: int) -> Json:
    return {"resourceGroups": [_group(flavors, resources, f"g{number}") for number in range(count)]}


def _pod_sets(count: int) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"podSets": [{"name": f"p{number}", "count": 1, "template": template} for number in range(count)]}


_GENERATED: dict[str, tuple[str, Json]] = {
    "V12-17": ("ClusterQueue", _groups(17, 1, 1)),
    "V12-16": ("ClusterQueue", _groups(16, 1, 1)),
    "V12-65": ("ClusterQueue", _groups(1, 65, 1)),
    "V12-64": ("ClusterQueue", _groups(1, 64, 1)),
    "API20-flavors260": ("ClusterQueue", _groups(5, 52, 1)),
    "API20-res260": ("ClusterQueue", _groups(5, 1, 52)),
    "API20-513": ("ClusterQueue", _groups(1, 27, 19)),
    "API20-512": ("ClusterQueue", _groups(1, 32, 16)),
    "API33-totals": ("Cohort", _groups(5, 52, 1)),
    "V32-19": ("Workload", _pod_sets(19)),
    "V32-18": ("Workload", _pod_sets(18)),
}


def generated(case: str) -> Json:
    kind, spec = _GENERATED[case]
    metadata = {"name": case.lower(), **({"namespace": "verify"} if kind == "Workload" else {})}
    return {"apiVersion": V1BETA2, "kind": kind, "metadata": metadata, "spec": spec}
