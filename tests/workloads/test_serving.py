"""Serving workloads behave equally on Kubernetes, on the embedded control plane, and on a mixture of both.

Each case runs once on each, concurrently in its own namespace; the tests compare the observations.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from workloads.serving_builders import Observed
from workloads.serving_cases import SERVING_CASES
from workloads.serving_harness import NAMESPACES, ServingCaseRunner, running_embedded, running_kubernetes, running_mixed

Observations = dict[str, Observed]
ServingCase = Callable[[ServingCaseRunner], Awaitable[Observed]]
AT_ONCE = 8
"""Concurrent cases per control plane: kubectl and all control planes share one machine."""
OURS = {"embedded": running_embedded, "ours on kube-apiserver": running_mixed}


async def _run(
    open_harness: Callable[[], AbstractAsyncContextManager[ServingCaseRunner]], chosen: set[str]
) -> Observations:
    """Run the selected cases on one control plane."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with open_harness() as harness:

        async def one(number: int, case: ServingCase) -> Observed:
            async with gate:
                own = replace(harness, namespace=f"case-{number}")
                await own.client.of(NAMESPACES).create({"metadata": {"name": own.namespace}})
                try:
                    return await case(own)
                except Exception:
                    return {"failed": traceback.format_exc()}

        cases = [case for case in SERVING_CASES if case.__name__ in chosen]
        reported = await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
    return {case.__name__: observed for case, observed in zip(cases, reported, strict=True)}


@pytest.fixture(scope="session")
def seen(request: pytest.FixtureRequest) -> dict[str, Observations]:
    """The observations on each control plane."""
    harnesses = {"kubernetes": running_kubernetes, **OURS}
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    chosen = {str(call.params.get("serving_case")) for call in calls if call is not None}

    async def everywhere() -> list[Observations]:
        return await asyncio.gather(*(_run(harness, chosen) for harness in harnesses.values()))

    return dict(zip(harnesses, asyncio.run(everywhere()), strict=True))


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("serving_case", [case.__name__ for case in SERVING_CASES])
def test_all_control_planes_do_the_same(serving_case: str, ours: str, seen: dict[str, Observations]) -> None:
    real, found = seen["kubernetes"][serving_case], seen[ours][serving_case]
    assert "failed" not in real, real.get("failed")
    assert "failed" not in found, found.get("failed")
    assert found == real
