"""Replays golden transcripts: performs the recorded writes, then waits for the states that the real Kueue reached.

A step with another outcome yields its differences, one line each, and the replay continues.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.apiserver import ApiResponse, Object, WatchRecorder
from kit.builders.core import make_namespace
from kit.manager import ManagerHarness
from kit.masks import masked_differences
from kohort.api.times import format_time

Json = Any

FOLDER = Path(__file__).parents[1] / "golden" / "api"
TIMEOUT = 15.0
DEVIATION_TIMEOUT = 3.0
"""Seconds for a step with a known deviation."""
POLL = 0.1
NAMESPACE = "verify"
GROUP = "kueue.x-k8s.io"
CORE = {"Job": "batch/v1"}
FOREIGN_CONTROLLERS = ("job-controller",)
"""Controllers of Kubernetes, whose events are not compared."""
GENERATED_NAME = re.compile(r"(job-.*-)[0-9a-f]{5}$")

Steps = frozenset[tuple[str, int]]
"""Cases and numbers of steps."""


@dataclass(frozen=True)
class SkippedSteps:
    """Steps that are not replayed."""

    operations: frozenset[str] = frozenset()
    cases: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


def scenarios(name: str) -> list[Json]:
    """The cases of a file."""
    return list(json.loads((FOLDER / f"{name}.json").read_text()))


class TranscriptReplay:
    """Replays the scenarios of one file in order."""

    def __init__(
        self, harness: ManagerHarness, old_version: Steps = frozenset(), deviating: Steps = frozenset()
    ) -> None:
        self._home = harness
        self._old_version = old_version
        """Steps that go through v1beta1."""
        self._deviating = deviating
        self._running_jobs = frozenset({"g2"})
        """Jobs whose pods become ready, which the transcript shows only by its effects."""
        self._patience = TIMEOUT
        self._states: dict[str, list[Json]] = {}
        """States of each Workload since the last write, or since the last match."""

    @asynccontextmanager
    async def prepared(self) -> AsyncIterator[None]:
        """Creates what the cases need and records the states of Workloads until the context exits."""
        await self._home.create(make_namespace(NAMESPACE))
        watch = await self._home.server.stream("GET", f"/apis/{GROUP}/v1beta2/workloads", watch="1")
        task = asyncio.create_task(self._remember(WatchRecorder(watch)))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await watch.close()

    async def _remember(self, watching: WatchRecorder) -> None:
        while True:
            _, found = await watching.next()
            self._states.setdefault(found["metadata"]["name"], []).append(found)

    async def case(self, case: Json, skipped: SkippedSteps) -> AsyncIterator[tuple[int, str]]:
        """The differences of a case, each with the number of its step."""
        for number, step in enumerate(case["steps"]):
            if step["op"] in skipped.operations or step.get("kind") in skipped.kinds:
                continue
            self._patience = DEVIATION_TIMEOUT if (case["id"], number) in self._deviating else TIMEOUT
            version = f"{GROUP}/v1beta1" if (case["id"], number) in self._old_version else f"{GROUP}/v1beta2"
            for line in await self._step(step, version):
                yield number, line

    async def _step(self, step: Json, version: str) -> list[str]:
        match step["op"]:
            case "observe":
                return await self._observe(step)
            case "events":
                return await self._events(step)
            case "note" if step["text"].startswith("LimitRange"):
                await self._home.create(limit_range())
                return []
            case "note" if step["text"].endswith("not ready"):
                await self._set_ready("False")
                return []
            case "note" | "get":
                return []
            case _:
                self._states.clear()
                return list(_codes(step, await self._write(step, version)))

    async def _write(self, step: Json, version: str) -> ApiResponse:
        cluster = self._home.server
        if step["op"] == "create":
            return await self._create(self._filled(step["object"], {}))
        if step["op"] == "update":
            return await self._update_without_class()
        if step["op"] == "apply":
            return await cluster.apply(step["object"], step["fieldManager"])
        place = self._home.path(step["kind"], step["name"], NAMESPACE, CORE.get(step["kind"], version))
        match step["op"]:
            case "delete":
                return await cluster.request("DELETE", place)
            case "patch":
                return await cluster.merge(place, _with_long_texts(step["patch"]))
            case "patch-status":
                return await cluster.merge(f"{place}/status", self._filled(step["patch"], {}))
            case "update-status":
                return await self._update_status(place, step["status"])
        raise AssertionError(step["op"])

    async def _create(self, found: Json) -> ApiResponse:
        """Suspend Jobs as their webhook does; a pod that is to become unready must be ready first."""
        if found["kind"] != "Job":
            return await self._home.server.try_create(found)
        reply = await self._home.server.try_create({**found, "spec": {**found["spec"], "suspend": True}})
        if found["metadata"]["name"] in self._running_jobs:
            await self._home.advance(1)
            await self._set_ready("True")
        return reply

    async def _set_ready(self, status: str) -> None:
        """Set the readiness of all pods, as a kubelet would."""
        place = f"/api/v1/namespaces/{NAMESPACE}/pods"
        ready = {"type": "Ready", "status": status, "lastTransitionTime": format_time(self._home.clock.wall())}
        for pod in (await self._home.server.get(place))["items"]:
            patch = {"status": {"phase": "Running", "conditions": [ready]}}
            await self._home.server.merge(f"{place}/{pod['metadata']['name']}/status", patch)

    async def _update_status(self, place: str, wanted: Json) -> ApiResponse:
        """Read and replace, again after a conflict, as the recorder did."""
        reply = ApiResponse(409, {})
        while reply.status == 409:
            found = await self._home.server.get(place)
            status = self._filled(wanted, found.get("status", {}))
            reply = await self._home.server.request("PUT", f"{place}/status", {**found, "status": status})
        return reply

    async def _update_without_class(self) -> ApiResponse:
        """The one update that the transcripts describe in words: the name of the class is dropped, its source stays."""
        place = self._home.path("Workload", "q1b", NAMESPACE, f"{GROUP}/v1beta1")
        found = await self._home.server.get(place)
        spec = {name: member for name, member in found["spec"].items() if name != "priorityClassName"}
        return await self._home.server.request("PUT", place, {**found, "spec": spec})

    def _filled(self, value: Json, live: Json) -> Json:
        """The value with masks replaced: by the live value, or by another valid one."""
        if isinstance(value, dict):
            known = live if isinstance(live, dict) else {}
            members = {name: self._filled(member, known.get(name)) for name, member in value.items()}
            return {name: member for name, member in members.items() if name != "messageMentions"}
        if isinstance(value, list):
            return [self._filled(item, _counterpart(item, live)) for item in value]
        if value == "<time>":
            return live or format_time(self._home.clock.wall())
        if value == "<uid>":
            return live or "11111111-2222-3333-4444-555555555555"
        return (live or "text") if value == "<text>" else value

    async def _observe(self, step: Json) -> list[str]:
        if step.get("waitTimedOut"):
            await self._home.advance(5)
        found = await self._seen(step)
        for _ in range(round(self._patience / POLL)):
            if not found:
                break
            await self._home.advance(POLL)
            found = await self._seen(step)
        return found

    async def _seen(self, step: Json) -> list[str]:
        """Differences from the recorded state."""
        expected = step.get("object")
        version = expected["apiVersion"] if expected else CORE.get(step["kind"], f"{GROUP}/v1beta2")
        name = await self._name(step["name"])
        reply = await self._home.server.request("GET", self._home.path(step["kind"], name, NAMESPACE, version))
        found = list(_codes(step, reply))
        if found or expected is None:
            return found
        renamed = {**expected, "metadata": {**expected["metadata"], "name": name}}
        if not step.get("waitTimedOut") and self._has_passed(name, renamed):
            return []
        return list(masked_differences(renamed, reply.body))

    def _has_passed(self, name: str, expected: Json) -> bool:
        """Whether a Workload had this state since the last match: some states are very short."""
        states = self._states.get(name, [])
        for index, state in enumerate(states):
            if not list(masked_differences(expected, state)):
                del states[:index]
                return True
        return False

    async def _name(self, recorded: str) -> str:
        """The name that an object has here: Workloads of jobs end in five digits that differ from run to run."""
        made = GENERATED_NAME.match(recorded)
        if made is None:
            return recorded
        listed = await self._home.server.get(f"/apis/{GROUP}/v1beta2/namespaces/{NAMESPACE}/workloads")
        names = (each["metadata"]["name"] for each in listed["items"])
        return next((name for name in names if name.startswith(made[1])), recorded)

    async def _events(self, step: Json) -> list[str]:
        expected = [
            _event_text(event) for event in step["events"] if event["reportingController"] not in FOREIGN_CONTROLLERS
        ]
        found: list[str] = []
        for _ in range(round(self._patience / POLL)):
            found = await self._reported_by(await self._name(step["name"]))
            if found == _without_repetitions(expected):
                return []
            await self._home.advance(POLL)
        return [f"events of {step['name']}: {expected} became {found}"]

    async def _reported_by(self, name: str) -> list[str]:
        events = (await self._home.server.get(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"))["items"]
        mine = (event for event in events if event["regarding"]["name"] == name)
        reported = [
            each
            for event in mine
            if event["reportingController"] not in FOREIGN_CONTROLLERS
            for each in _event_occurrences(event)
        ]
        return [text for *_, text in sorted(reported)]


def _codes(step: Json, reply: ApiResponse) -> Iterator[str]:
    if reply.status != step["code"]:
        received = reply.body.get("message", "") if isinstance(reply.body, dict) else ""
        yield f"{step['op']}: code {step['code']} became {reply.status} {received}".rstrip()


def _counterpart(item: Json, live: Json) -> Json:
    """The live counterpart of a condition or check of which only the time is masked."""
    if not isinstance(item, dict):
        return None
    marks = [name for name in ("type", "name", "status", "reason", "state") if name in item]
    others = live if isinstance(live, list) else []
    return next((each for each in others if all(each.get(mark) == item[mark] for mark in marks)), None)


def _with_long_texts(patch: Json) -> Json:
    """Texts that the transcript only describes."""
    if patch.get("description", "").endswith("characters>"):
        return {**patch, "description": "x" * 2050}
    return patch


def _event_occurrences(event: Json) -> Iterator[tuple[str, int, str]]:
    """Times of an event, also of those in its series."""
    series, order = event.get("series") or {"count": 1}, int(event["metadata"]["resourceVersion"])
    text = _event_text({**event, "kind": event["regarding"]["kind"]})
    yield event["eventTime"], order, text
    for _ in range(series["count"] - 1):
        yield series["lastObservedTime"], order, text


def _without_repetitions(reported: list[str]) -> list[str]:
    """Without repeated rejections, which Kohort records once (docs/deviations.md, SCH-360)."""
    return [
        each for before, each in zip([None, *reported], reported, strict=False) if before != each or "Normal" in each
    ]


def _event_text(event: Json) -> str:
    return f"{event['type']} {event['reason']} of {event['kind']} by {event['reportingController']}"


def limit_range() -> Object:
    """The LimitRange that a note mentions."""
    limit = {"type": "Container", "max": {"cpu": "3"}, "defaultRequest": {"cpu": "250m"}, "default": {"cpu": "3"}}
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": NAMESPACE}}
    return {**head, "spec": {"limits": [limit]}}
