"""Every write of the golden transcripts through the real HTTPS webhooks on the embedded server (API-9, API-95)."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kohort.api.kueue.admission import Write
from webhooks.planes import Webhooked, webhooked
from webhooks.replaying import WRITES, expected, outcome

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Webhooked]:
    async with webhooked() as found:
        yield found


LEFT_OUT = ("AC-empty-v1-", "AC-ok-v1-")
"""The embedded server stores a field that the stored version does not have, and shows it again in the older one."""


@pytest.mark.parametrize("write", [each for each in WRITES if not str(each.id).startswith(LEFT_OUT)])
async def test_the_webhooks_say_what_the_functions_say(served: Webhooked, write: Write) -> None:
    assert await outcome(served.ask, served.door, write) == expected(write)
