"""Every write of the golden transcripts, judged by our functions and by a real API server with our definitions.

No webhooks here: what only they refuse is accepted by both.
"""

import pytest

from cluster.client import JsonClient
from cluster.write_results import kohort_result, server_result
from kit.golden.admission import FILES, replay
from kohort.api.kueue.admission import ObjectWrite

WRITES = [
    pytest.param(answer.write, id=f"{answer.case}-{answer.step['op']}-{index}")
    for name in FILES
    for index, answer in enumerate(replay(name))
    if answer.write is not None
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.usefixtures("kueue")
def test_both_return_the_same_response(admin: JsonClient, write: ObjectWrite) -> None:
    assert kohort_result(write) == server_result(admin, write)
