"""The load test of `benchmarks`, much shortened: in virtual time, on an API server in memory."""

from dataclasses import replace

import pytest
from benchmarks.installation import create_objects
from benchmarks.racks import Racks
from benchmarks.runner import WorkloadGenerator
from benchmarks.scenarios import BASELINE, NAMESPACE, TOPOLOGY, BenchmarkScenario

from kit.builders.core import make_namespace
from kit.manager import running_manager_harness
from kit.virtual_time import TIMEOUT, running_virtual_time

RACKS = Racks(racks=2, nodes=4, cores=48)


def test_the_topology_scenario_is_that_of_kueues_load_test() -> None:
    nodes = TOPOLOGY.racks
    assert nodes is not None
    assert (nodes.racks, nodes.nodes, nodes.cores) == (10, 64, 96)
    assert (TOPOLOGY.cohorts, TOPOLOGY.queues, TOPOLOGY.jobs) == (5, 6, 15_000)
    assert TOPOLOGY.bound == BASELINE.bound


def test_a_shortened_scenario_has_jobs_of_every_class() -> None:
    short = TOPOLOGY.shortened(1_500)
    assert short.jobs == 1_500
    assert all(each.count for each in short.classes)
    assert TOPOLOGY.shortened(1).jobs == 30 * 9


@pytest.mark.parametrize(
    ("scenario", "placed"), [(BASELINE, 0), (replace(TOPOLOGY, racks=RACKS), 2 * 9)], ids=["baseline", "topology"]
)
async def test_every_workload_is_admitted_and_runs_to_its_end(scenario: BenchmarkScenario, placed: int) -> None:
    """With a topology assignment if the scenario has nodes."""
    short = replace(scenario, cohorts=1, queues=2).shortened(1)
    async with running_manager_harness() as harness, running_virtual_time(harness.clock):
        await harness.create(make_namespace(NAMESPACE))
        await create_objects(harness.context.client, short)
        generator = WorkloadGenerator(harness.context.client, short)
        run = await generator.play(TIMEOUT)
    assert generator.left == 0
    assert run.placed == placed
    assert run.waits.keys() == {each.name for each in short.classes}
