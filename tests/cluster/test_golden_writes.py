"""Every write of the golden transcripts, judged by our functions and by a real API server with our definitions.

No webhooks here: what only they refuse is accepted by both.
"""

import pytest

from cluster.client import Client
from cluster.verdicts import ours, theirs
from golden.admission import FILES, replay
from kohort.api.kueue.admission import ObjectWrite

WRITES = [
    pytest.param(answer.write, id=f"{answer.case}-{answer.step['op']}-{index}")
    for name in FILES
    for index, answer in enumerate(replay(name))
    if answer.write is not None
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.usefixtures("kueue")
def test_both_give_the_same_answer(admin: Client, write: ObjectWrite) -> None:
    assert ours(write) == theirs(admin, write)
