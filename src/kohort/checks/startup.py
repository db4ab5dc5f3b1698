"""Starts the built-in admission checks of a manager."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kohort.checks.provisioning.check import ProvisioningCheck
from kohort.checks.reconciler import CheckRuntime, running_check
from kohort.controllers.context import ControllerContext

PROVISIONING: Final = "kueue-provisioning-request-controller"
"""Source of events of the ProvisioningRequest check."""


@asynccontextmanager
async def running_admission_checks(context: ControllerContext) -> AsyncIterator[None]:
    """Runs the built-in checks until the context exits."""
    runtime = CheckRuntime(
        context.client,
        context.informers,
        context.workloads,
        context.workload_cache,
        context.recorder(PROVISIONING),
        context.leads,
    )
    async with running_check(ProvisioningCheck(context.settings.gates), runtime):
        yield
