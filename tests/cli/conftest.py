from collections.abc import Iterator
from itertools import count

import pytest

from cli.clusters import Cluster, a_cluster
from kit.builders.kueue import (
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_resource_group,
    make_workload_priority_class,
)
from kohort.cli.runtimes import RuntimeName


@pytest.fixture(scope="session")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose pods run as processes, with a queue of two CPUs and one of none."""
    with a_cluster(tmp_path_factory.mktemp("cluster"), RuntimeName.PROCESS) as cluster:
        cluster.create(
            make_resource_flavor("default"),
            make_cluster_queue(
                "two-cpus", resourceGroups=[make_resource_group({"cpu": "2", "memory": "4Gi"}, "default")]
            ),
            make_cluster_queue("nothing", "0", "default"),
            make_local_queue("team-a", "two-cpus"),
            make_local_queue("team-b", "nothing"),
            make_local_queue("team-c", "nothing"),
            make_workload_priority_class("high", 1000),
        )
        yield cluster


_numbers = count()


@pytest.fixture
def fresh() -> str:
    """A name that no other test uses."""
    return f"job-{next(_numbers)}"
