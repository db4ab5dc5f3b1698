"""After any events, in any order, the invariants of an engine hold: random events over random trees."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from engine.checked_scenarios import checked_runner
from engine.scenario import ScenarioRunner
from engine.scenario_strategies import (
    WRITINGS,
    Pick,
    ScenarioGenerator,
    Writing,
    common_objects,
    indexes,
    write_configuration,
)

Json = Any
T = TypeVar("T")

ROUGH: list[Writing] = [ScenarioGenerator.delete_queue, ScenarioGenerator.restore_queue]
"""Events that an API server would not allow while a workload holds quota (SCH-1054), and the engine must survive."""


def picking(data: st.DataObject) -> Pick:
    def pick(options: Sequence[T], /) -> T:
        return options[data.draw(indexes(len(options)))]

    return pick


class EngineMachine(RuleBasedStateMachine):
    """Every step runs on an engine that checks itself: sums, limits, places, gangs, order, victims."""

    def __init__(self) -> None:
        super().__init__()
        self.author = ScenarioGenerator()
        self.stage = ScenarioRunner()

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        pick = picking(data)
        configuration = write_configuration(pick)
        note(json.dumps(configuration))
        self.stage = checked_runner(configuration["configuration"], **configuration["gates"])
        self.perform(*({"put": each} for each in [*common_objects(), *self.author.world(pick)]))

    def perform(self, *steps: Json) -> None:
        for step in steps:
            note(json.dumps(step))
            self.stage.perform(step)

    @rule(number=st.integers(1, 3), data=st.data())
    def jobs_come(self, number: int, data: st.DataObject) -> None:
        for _ in range(number):
            self.perform(*self.author.submit_alike(picking(data)))

    @rule(writing=st.sampled_from(WRITINGS), data=st.data())
    def something_happens(self, writing: Writing, data: st.DataObject) -> None:
        self.perform(*writing(self.author, picking(data)))

    @rule(writing=st.sampled_from(ROUGH), data=st.data())
    def something_rough_happens(self, writing: Writing, data: st.DataObject) -> None:
        self.perform(*writing(self.author, picking(data)))

    @rule()
    def schedule(self) -> None:
        self.perform({"schedule": {}})

    @rule()
    def jobs_stop_and_free_quota(self) -> None:
        self.perform({"settle": {}}, {"schedule": {}})

    @rule()
    def one_cycle(self) -> None:
        self.perform({"cycle": 1})

    @rule(seconds=st.integers(1, 100))
    def wait(self, seconds: int) -> None:
        self.perform({"wait": seconds})

    def teardown(self) -> None:
        """Remaining workloads are deleted; then nothing is in use (SCH-421)."""
        for key in list(self.stage.workloads):
            self.stage.delete({"kind": "Workload", "namespace": key.namespace, "name": key.name})
        self.stage.schedule()
        forest = self.stage.engine.store.hierarchy
        trees = [node for node in (*forest.queues.values(), *forest.cohorts.values()) if not node.is_cyclic]
        assert not any(cell.usage for node in trees for cell in node.cells.values())


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(stateful_step_count=50)
