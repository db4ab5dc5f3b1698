"""Replays golden lifecycles: performs the recorded writes, then waits for the states that the real Kueue reached.

A step with another outcome yields its differences, one line each, and the replay continues. Subclasses add what a
recording only describes, such as the webhooks of jobs.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kit.apiserver import ApiResponse, Object, WatchRecorder
from kit.builders.core import make_namespace
from kit.manager import ManagerHarness
from kit.masks import masked_differences
from kohort.api.times import format_time

Json = Any

TIMEOUT = 15.0
DEVIATION_TIMEOUT = 3.0
"""Seconds for a step with a known deviation."""
POLL = 0.1
NAMESPACE = "verify"
GROUP = "kueue.x-k8s.io"
CORE = {"Job": "batch/v1"}
BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
FOREIGN_CONTROLLERS = ("job-controller",)
"""Controllers of Kubernetes, whose events are not compared."""

Steps = frozenset[tuple[str, int]]
"""Cases and numbers of steps."""


@dataclass(frozen=True)
class SkippedSteps:
    """Steps that are not replayed."""

    operations: frozenset[str] = frozenset()
    cases: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


NO_STEPS = SkippedSteps()


class TranscriptReplay:
    """Replays the cases of one recording in order."""

    def __init__(
        self, harness: ManagerHarness, old_version: Steps = frozenset(), deviating: Steps = frozenset()
    ) -> None:
        self._harness = harness
        self._old_version = old_version
        """Steps that go through v1beta1."""
        self._deviating = deviating
        self._timeout = TIMEOUT
        self._states: dict[str, list[Json]] = {}
        """States of each Workload since the last write, or since the last match."""

    @asynccontextmanager
    async def prepared(self) -> AsyncIterator[None]:
        """Creates what the cases need and records the states of Workloads until the context exits."""
        await self._harness.create(make_namespace(NAMESPACE))
        watch = await self._harness.server.stream("GET", f"/apis/{GROUP}/v1beta2/workloads", watch="1")
        task = asyncio.create_task(self._record_states(WatchRecorder(watch)))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await watch.close()

    async def _record_states(self, watching: WatchRecorder) -> None:
        while True:
            _, found = await watching.next()
            self._states.setdefault(found["metadata"]["name"], []).append(found)

    async def case(self, case: Json, skipped: SkippedSteps = NO_STEPS) -> AsyncIterator[tuple[int, str]]:
        """The differences of a case, each with the number of its step."""
        for number, recorded in enumerate(case["steps"]):
            if recorded["op"] in skipped.operations or recorded.get("kind") in skipped.kinds:
                continue
            self._timeout = DEVIATION_TIMEOUT if (case["id"], number) in self._deviating else TIMEOUT
            version = f"{GROUP}/v1beta1" if (case["id"], number) in self._old_version else f"{GROUP}/v1beta2"
            step = self._prepare(case["id"], number, recorded)
            for line in await self._step(step, version):
                yield number, line

    def _prepare(self, _case: str, _number: int, step: Json) -> Json:
        """The step as it is performed here."""
        return step

    async def _step(self, step: Json, version: str) -> list[str]:
        match step["op"]:
            case "observe":
                return await self._wait(step, self._observe)
            case "events":
                return await self._wait(step, self._compare_events)
            case "note":
                await self._follow(step["text"])
                return []
            case "get":
                return []
            case _:
                self._states.clear()
                return list(_codes(step, await self._write(step, version)))

    async def _follow(self, note: str) -> None:
        """Do what a note of the recorder describes."""
        if note.startswith("LimitRange"):
            await self._harness.create(limit_range())

    # Writes

    async def _write(self, step: Json, version: str) -> ApiResponse:
        server = self._harness.server
        if step["op"] == "create":
            return await self._create(self._filled(step["object"], {}))
        if step["op"] == "update":
            return await self._update_without_class()
        if step["op"] == "apply":
            return await server.apply(step["object"], step["fieldManager"])
        path = self._harness.path(step["kind"], step["name"], NAMESPACE, CORE.get(step["kind"], version))
        match step["op"]:
            case "delete":
                return await server.request("DELETE", path, BACKGROUND)
            case "patch":
                return await self._patch(step["kind"], path, _with_long_texts(step["patch"]))
            case "patch-status":
                return await server.merge(f"{path}/status", self._filled(step["patch"], {}))
            case "update-status":
                return await self._update_status(path, step["status"])
        raise AssertionError(step["op"])

    async def _create(self, obj: Json) -> ApiResponse:
        return await self._harness.server.try_create(obj)

    async def _patch(self, _kind: str, path: str, patch: Json) -> ApiResponse:
        return await self._harness.server.merge(path, patch)

    async def _update_status(self, path: str, status: Json) -> ApiResponse:
        """Read and replace, again after a conflict, as the recorder did."""
        reply = ApiResponse(409, {})
        while reply.status == 409:
            found = await self._harness.server.get(path)
            filled = self._filled(status, found.get("status", {}))
            reply = await self._harness.server.request("PUT", f"{path}/status", {**found, "status": filled})
        return reply

    async def _update_without_class(self) -> ApiResponse:
        """The one update that the transcripts describe in words: the name of the class is dropped, its source stays."""
        path = self._harness.path("Workload", "q1b", NAMESPACE, f"{GROUP}/v1beta1")
        found = await self._harness.server.get(path)
        spec = {name: member for name, member in found["spec"].items() if name != "priorityClassName"}
        return await self._harness.server.request("PUT", path, {**found, "spec": spec})

    def _filled(self, value: Json, live: Json) -> Json:
        """The value with masks replaced: by the live value, or by another valid one."""
        if isinstance(value, dict):
            known = live if isinstance(live, dict) else {}
            members = {name: self._filled(member, known.get(name)) for name, member in value.items()}
            return {name: member for name, member in members.items() if name != "messageMentions"}
        if isinstance(value, list):
            return [self._filled(item, _counterpart(item, live)) for item in value]
        if value == "<time>":
            return live or format_time(self._harness.clock.wall())
        if value == "<uid>":
            return live or "11111111-2222-3333-4444-555555555555"
        return (live or "text") if value == "<text>" else value

    # Comparisons

    async def _wait(self, step: Json, compare: Callable[[Json], Awaitable[list[str]]]) -> list[str]:
        """The differences that remain after a while."""
        if step.get("waitTimedOut"):
            await self._harness.advance(5)
        found = await compare(step)
        for _ in range(round(self._timeout / POLL)):
            if not found:
                break
            await self._harness.advance(POLL)
            found = await compare(step)
        return found

    async def _observe(self, step: Json) -> list[str]:
        """Differences from the recorded state."""
        expected = step.get("object")
        version = expected["apiVersion"] if expected else CORE.get(step["kind"], f"{GROUP}/v1beta2")
        path = self._harness.path(step["kind"], step["name"], NAMESPACE, version)
        reply = await self._harness.server.request("GET", path)
        found = list(_codes(step, reply))
        if found or expected is None:
            return found
        if not step.get("waitTimedOut") and self._has_passed(step["name"], expected):
            return []
        return list(self._differences(expected, reply.body))

    def _has_passed(self, name: str, expected: Json) -> bool:
        """Whether a Workload had this state since the last match: some states are very short."""
        states = self._states.get(name, [])
        for index, state in enumerate(states):
            if not list(self._differences(expected, state)):
                del states[:index]
                return True
        return False

    def _differences(self, expected: Json, found: Json) -> Iterator[str]:
        return masked_differences(expected, found)

    async def _compare_events(self, step: Json) -> list[str]:
        expected = self._expected_events(step["events"])
        found = self._found_events(await self._events_of(step["name"]))
        return [] if found == expected else [f"events of {step['name']}: {expected} became {found}"]

    async def _events_of(self, name: str) -> list[Json]:
        """All occurrences of the events of an object in order of time."""
        listed = await self._harness.server.get(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
        occurrences = [
            occurrence
            for event in listed["items"]
            if event["regarding"]["name"] == name
            for occurrence in _event_occurrences(event)
        ]
        return [event for *_, event in sorted(occurrences, key=lambda each: each[:3])]

    def _expected_events(self, recorded: list[Json]) -> list[str]:
        return _without_repetitions(self._found_events(recorded))

    def _found_events(self, events: list[Json]) -> list[str]:
        return [_event_text(each) for each in events if each["reportingController"] not in FOREIGN_CONTROLLERS]


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


def _event_occurrences(event: Json) -> Iterator[tuple[str, int, str, Json]]:
    """Times of an event, also of those in its series, with what decides between equal times."""
    series, order = event.get("series") or {"count": 1}, int(event["metadata"]["resourceVersion"])
    found = {**event, "kind": event["regarding"]["kind"]}
    for time in (event["eventTime"], *[series.get("lastObservedTime", "")] * (series["count"] - 1)):
        yield time, order, _event_text(found), found


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
