"""A runtime whose pods change state when a test does so, and that records the calls of the agent."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from kohort.embedded.nodes.runtime import PodState, PodStatusSink, RuntimeContainerStatus, State
from kohort.embedded.server.subresources.logs import PodLogOptions

Object = dict[str, Any]


class ScriptedPod:
    """A pod whose states a test sets."""

    def __init__(self, body: Object, reports: PodStatusSink) -> None:
        self.body = body
        self.reports = reports
        self.graces: list[float] = []
        self.is_closed = False

    def becomes(self, state: State, **more: Any) -> None:
        """Report a state of all containers."""
        names = [each["name"] for each in self.body["spec"]["containers"]]
        self.reports.state(PodState(tuple(RuntimeContainerStatus(name, state) for name in names), **more))

    def stop(self, grace: float) -> None:
        self.graces.append(grace)

    async def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        yield options.container.encode()

    async def close(self) -> None:
        self.is_closed = True


class ScriptedRuntime:
    """Pods by name."""

    def __init__(self) -> None:
        self.pods: dict[str, ScriptedPod] = {}

    def devices(self) -> Mapping[str, int]:
        return {}

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def run(self, pod: Object, reports: PodStatusSink) -> ScriptedPod:
        made = self.pods[pod["metadata"]["name"]] = ScriptedPod(pod, reports)
        return made
