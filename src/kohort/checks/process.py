"""Runs an admission check in a process of its own: the `main` of checks outside of the manager."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from kohort.api.kueue.v1beta2 import Workload
from kohort.checks.contract import AdmissionCheckController
from kohort.checks.reconciler import CheckRuntime, running_check
from kohort.controllers.context import always_leads
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.events import EventRecorder
from kohort.kube.http import HttpTransport
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.retries import RetryPolicy

log = logging.getLogger(__name__)

ATTEMPTS: Final = 8
"""Attempts of a request: a long-running process survives a restart of its API server."""


def run_check(check: AdmissionCheckController, kubeconfig: Path | None = None) -> None:
    """Run a check until SIGINT or SIGTERM, on the cluster of the kubeconfig or of the pod."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_run(check, kubeconfig))


async def _run(check: AdmissionCheckController, kubeconfig: Path | None) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    access = load_client_config(ConfigOverrides(kubeconfig))
    client = Client(HttpTransport(access), retries=RetryPolicy(attempts=ATTEMPTS))
    try:
        async with running_check_process(check, client):
            log.info("evaluating admission checks of %s", check.controller_name)
            await stopped.wait()
    finally:
        await client.close()


@asynccontextmanager
async def running_check_process(check: AdmissionCheckController, client: Client) -> AsyncIterator[None]:
    """Runs a check with caches and events of its own until the context exits."""
    informers = SharedInformerFactory(client)
    workloads: Informer[Workload] = informers.of(Workload)
    recorder = EventRecorder(client, check.controller_name, check.controller_name)
    runtime = CheckRuntime(client, informers, workloads, WorkloadAssumeCache(workloads), recorder, always_leads)
    events = asyncio.create_task(recorder.run())
    informers.start()
    try:
        async with running_check(check, runtime):
            yield
    finally:
        await informers.stop()
        events.cancel()
        await asyncio.gather(events, return_exceptions=True)
        await recorder.flush()
