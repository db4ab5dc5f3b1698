"""The steps of the demo: each has a text, creates objects and waits for a state of the cluster.

Jobs run until a step releases them, so that the output does not depend on the speed of the machine.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.conditions import find, is_true
from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.resource import Resource
from kohort.controllers.context import ControllerContext
from kohort.kube.client import Client
from kohort.kube.errors import LostResponseError, StatusError
from kohort.local.demo.folder import DemoFolder
from kohort.local.demo.objects import PRODUCT, QUOTA, RESEARCH, TEAMS, Team, jobs, queues

STEP_SECONDS: Final = 120.0
"""Timeout of a step."""
LOOK_SECONDS: Final = 4.0
"""How long a step is shown before the next one."""
LAST_LOOK_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.1
_ATTEMPTS: Final = 5
_SERVER_ERROR: Final = 500

Narrate = Callable[[str], None]

SHARING: Final = (
    f"Two teams, research and product, share a machine with {2 * QUOTA} CPUs. Each team has a quota of {QUOTA} CPUs. "
    "Their queues are in one cohort, so a team can borrow quota that the other one does not use."
)
BORROWING: Final = (
    "research submits five jobs of 1 CPU each. Two of them fit into its nominal quota. product is idle, so research "
    "borrows its 2 CPUs: four jobs run, and the fifth is pending."
)
RECLAIMING: Final = (
    "product submits two jobs. Its quota is borrowed, so Kohort reclaims it: two jobs of research are preempted and "
    "requeued, and the jobs of product start."
)
BORROWING_AGAIN: Final = (
    "The jobs of product finish. Their quota is idle again, so research borrows it once more, and its preempted jobs "
    "start over."
)
FINISHED: Final = "All seven jobs have finished."


@dataclass(frozen=True, slots=True)
class Script:
    """The steps of the demo on a cluster."""

    client: Client
    context: ControllerContext
    narrate: Narrate
    folder: DemoFolder

    async def play(self) -> None:
        """Run all steps; raises an ApiError if a step fails or times out."""
        self.narrate(SHARING)
        await self._create(queues(TEAMS))
        await self._until("queues to become active", self._are_queues_active)
        await asyncio.sleep(LOOK_SECONDS)
        self.narrate(BORROWING)
        await self._create(self._jobs(RESEARCH))
        await self._until("four running jobs and a pending one", self._has_borrowed)
        await asyncio.sleep(LOOK_SECONDS)
        self.narrate(RECLAIMING)
        await self._create(self._jobs(PRODUCT))
        await self._until("product to reclaim its quota", lambda: len(self._running(PRODUCT)) == QUOTA)
        await asyncio.sleep(LOOK_SECONDS)
        self.narrate(BORROWING_AGAIN)
        self.folder.release(PRODUCT.name)
        await self._until("four running jobs again", self._has_borrowed)
        await asyncio.sleep(LOOK_SECONDS)
        self.folder.release(RESEARCH.name)
        await self._until("all jobs to finish", self._are_finished)
        self.narrate(FINISHED)
        await asyncio.sleep(LAST_LOOK_SECONDS)

    async def _create(self, objects: Iterable[tuple[Resource, JsonObject]]) -> None:
        for resource, wanted in objects:
            created = {"apiVersion": resource.api_version, "kind": resource.kind, **wanted}
            await create_after_stalls(self.client, resource, created)

    async def _until(self, what: str, is_so: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(STEP_SECONDS):
                while not is_so():
                    self._refuse_failures()
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise ApiError(
                f"the demo timed out after {STEP_SECONDS:.0f} s waiting for {what}: try again on a less busy machine"
            ) from None

    def _are_queues_active(self) -> bool:
        known = [each for each in self.context.cluster_queues.cache if is_true(each.status.conditions, "Active")]
        return len(known) == len(TEAMS)

    def _jobs(self, team: Team) -> Iterator[tuple[Resource, JsonObject]]:
        return jobs(team, self.folder.released(team.name))

    def _has_borrowed(self) -> bool:
        return len(self._running(RESEARCH)) == 2 * QUOTA and len(self._of(RESEARCH)) == len(RESEARCH.jobs)

    def _are_finished(self) -> bool:
        return all(len(self._finished(team)) == len(team.jobs) for team in TEAMS)

    def _running(self, team: Team) -> list[Workload]:
        return [each for each in self._of(team) if is_true(each.status.conditions, "Admitted") and not _is_over(each)]

    def _finished(self, team: Team) -> list[Workload]:
        return [each for each in self._of(team) if _is_over(each)]

    def _of(self, team: Team) -> list[Workload]:
        return [each for each in self.context.workloads.cache if each.metadata.namespace == team.name]

    def _refuse_failures(self) -> None:
        for team in TEAMS:
            for each in self._finished(team):
                finished = find(each.status.conditions, "Finished")
                if finished is not None and finished.reason == "Failed":
                    raise ApiError(f"a job of {team.name} failed: {finished.message}")


async def create_after_stalls(client: Client, resource: Resource, wanted: JsonObject) -> None:
    """Create an object; retries after timeouts of a webhook or the server, which run in the same process."""
    for _ in range(_ATTEMPTS - 1):
        try:
            await client.of(resource).create(wanted)
        except StatusError as error:
            if error.is_already_exists:
                return
            if error.code < _SERVER_ERROR:
                raise
        except LostResponseError:
            pass
        else:
            return
        await asyncio.sleep(_POLL_SECONDS)
    await client.of(resource).create(wanted)


def _is_over(workload: Workload) -> bool:
    return is_true(workload.status.conditions, "Finished")
