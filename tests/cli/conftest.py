from collections.abc import Iterator
from itertools import count

import pytest

from cli.clusters import Cluster, a_cluster, cluster_queue, flavor, local_queue, priority_class
from kohort.cli.runtimes import RuntimeName


@pytest.fixture(scope="session")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose pods run as processes, with a queue of two CPUs and one of none."""
    with a_cluster(tmp_path_factory.mktemp("cluster"), RuntimeName.PROCESS) as cluster:
        cluster.create(
            flavor(),
            cluster_queue("two-cpus", cpu="2", memory="4Gi"),
            cluster_queue("nothing", cpu="0"),
            local_queue("team-a", "two-cpus"),
            local_queue("team-b", "nothing"),
            local_queue("team-c", "nothing"),
            priority_class("high", 1000),
        )
        yield cluster


_numbers = count()


@pytest.fixture
def fresh() -> str:
    """A name that no other test uses."""
    return f"job-{next(_numbers)}"
