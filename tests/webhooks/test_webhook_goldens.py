"""Every write of the golden transcripts through the real HTTPS webhooks on the embedded server (API-9, API-95)."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kit.golden.admission_writes import WRITES, expected, outcome
from kohort.api.kueue.admission import ObjectWrite
from kohort.api.kueue.conversion import V1BETA2
from kohort.webhooks.registrations import KUEUE
from webhooks.webhook_harness import WebhookHarness, running_webhook_harness

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[WebhookHarness]:
    async with running_webhook_harness() as found:
        yield found


ASKED = {each.resource.kind for each in KUEUE}


def is_asked_about(write: ObjectWrite) -> bool:
    """Whether a webhook handles it: by its rules, or because it converts."""
    return write.value["kind"] in ASKED or write.value["apiVersion"] != V1BETA2


CHOSEN = [each for each in WRITES if is_asked_about(each.values[0])]  # type: ignore[arg-type]


@pytest.mark.parametrize("write", CHOSEN)
async def test_the_webhooks_return_what_the_functions_return(served: WebhookHarness, write: ObjectWrite) -> None:
    assert await outcome(served.ask, served.bypass, write) == expected(write)
