"""Jobs of one kind on a manager: submitted through the webhooks, with their Workloads by the names of the jobs."""

from typing import Any

from jobs.job_manager_harness import JobManagerHarness, conditions_of
from jobs.webhook_caller import WebhookCaller
from kohort.jobs.contract import Framework

Json = Any

PRIORITY = "kueue.x-k8s.io/priority-class"


class JobKindHarness:
    """A cluster with a manager, and the webhooks of some frameworks."""

    def __init__(self, manager: JobManagerHarness, frameworks: tuple[Framework, ...]) -> None:
        self.manager = manager
        self.webhooks = WebhookCaller(manager, frameworks)

    async def send(self, obj: Json, priority: str) -> None:
        """Create a job as its user does; an empty priority sets no class."""
        del obj["metadata"]["uid"]
        if priority:
            obj["metadata"]["labels"][PRIORITY] = priority
        await self.webhooks.send(obj)
        await self.manager.settle()

    async def workload(self, name: str) -> Json:
        """The Workload of a job."""
        (found,) = (
            each for each in await self.manager.workloads() if each["metadata"]["ownerReferences"][0]["name"] == name
        )
        return found

    async def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Status and reason of the Workload's conditions, by type."""
        return conditions_of(await self.workload(name))
