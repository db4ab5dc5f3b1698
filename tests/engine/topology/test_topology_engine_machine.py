"""After any changes of nodes, queues and gangs, in any order: usage of domains and quota stays right."""

import json
from typing import Any

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from engine.checked_scenarios import checked_runner
from engine.scenario_strategies import Writing, common_objects, write_configuration
from engine.test_stateful import EngineMachine, picking
from engine.topology.topology_scenarios import GATES, NODE_WRITINGS, TopologyScenarioGenerator, flavors
from kohort.api.kueue.slices import expand

Json = Any


class TopologyMachine(EngineMachine):
    """The same with gangs, nodes that come, fail and fill up, and second passes."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        pick = picking(data)
        self.author = TopologyScenarioGenerator()
        configuration = write_configuration(pick)
        flipped = pick([None, *GATES])
        gates = {**configuration["gates"], **({} if flipped is None else {flipped: GATES[flipped]})}
        note(json.dumps([configuration, gates]))
        self.stage = checked_runner(configuration["configuration"], **gates)
        objects = [*common_objects(), *flavors(), *self.author.world(pick)]
        self.perform(*({"put": each} for each in objects))

    @rule(writing=st.sampled_from(NODE_WRITINGS), data=st.data())
    def nodes_change(self, writing: Writing, data: st.DataObject) -> None:
        self.perform(*[step for step in writing(self.author, picking(data)) if "failNodes" not in step])

    @rule(data=st.data())
    def a_node_of_a_gang_fails(self, data: st.DataObject) -> None:
        """The node is lost, the workload lists it, and its second pass comes."""
        placed = [
            (key, domain.values[-1])
            for key, workload in self.stage.workloads.items()
            for assigned in (workload.status.admission.pod_set_assignments if workload.status.admission else ())
            if assigned.topology_assignment is not None
            for domain in expand(assigned.topology_assignment)
        ]
        if placed:
            key, node = picking(data)(placed)
            self.perform(
                {"delete": {"kind": "Node", "name": node}},
                {"failNodes": {"workload": str(key), "nodes": [node]}},
                {"wait": 2},
                {"schedule": {}},
            )

    def teardown(self) -> None:
        super().teardown()
        assert self.stage.engine.store.topology.usage.in_use() == {}
        assert self.stage.engine.store.placed_ahead == {}


TestTopologyMachine = TopologyMachine.TestCase
TestTopologyMachine.settings = settings(stateful_step_count=30)
