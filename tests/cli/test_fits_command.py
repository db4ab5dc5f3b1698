"""`kohort fits` prints text, data and its exit code, from a cluster or from manifests alone."""

import json
from pathlib import Path

import yaml

from insight.cluster_access import unprivileged_user
from kit.apiserver import Object
from kit.builders.batch import make_job
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.commands import CommandResult, CommandRunner, running_command_runner
from kit.kueue_apiserver import running_kueue_apiserver

QUEUES = [make_resource_flavor(), make_cluster_queue("cq", "4"), make_local_queue("lq", "cq")]


def written(file: Path, *objects: Object) -> str:
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


async def offline(folder: Path, *objects: Object, arguments: tuple[str, ...] = ()) -> CommandResult:
    """Judged against queues in a file, with no server near."""
    queues, jobs = written(folder / "queues.yaml", *QUEUES), written(folder / "jobs.yaml", *objects)
    return await CommandRunner(folder / "nowhere").run("fits", "--state", queues, "-f", jobs, *arguments)


async def test_yes_is_0_and_no_is_1(tmp_path: Path) -> None:
    yes, no = await offline(tmp_path, make_job("a", "lq", "4")), await offline(tmp_path, make_job("a", "lq", "5"))
    assert (yes.code, no.code, yes.err, no.err) == (0, 1, "", "")
    assert yes.out.splitlines()[1] == "  Would be admitted now in LocalQueue lq of namespace default."
    assert "Would not be admitted now" in no.out
    assert "It requests more than the queue can ever provide" in no.out
    assert "What would admit it" in no.out


async def test_what_cannot_be_determined_is_2(tmp_path: Path) -> None:
    ended = await offline(tmp_path, make_job("a", ""), make_job("b", "lq"))
    assert ended.code == 2
    assert "No queue specified" in ended.out
    assert "Would be admitted now" in ended.out


async def test_other_kinds_are_passed_over(tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    assert (await offline(tmp_path, service, make_job("a", "lq"))).code == 0
    alone = await offline(tmp_path, service)
    assert (alone.code, alone.err) == (
        2,
        "kohort: error: no jobs found: specify a Job, another supported kind, or a Workload\n",
    )


async def test_data_is_the_same_as_json_and_yaml(tmp_path: Path) -> None:
    as_json = await offline(tmp_path, make_job("a", "lq", "5"), arguments=("-o", "json"))
    as_yaml = await offline(tmp_path, make_job("a", "lq", "5"), arguments=("-o", "yaml"))
    (found,) = json.loads(as_json.out)
    assert yaml.safe_load(as_yaml.out)[0]["explanation"]["state"] == "NotSubmitted"
    assert (found["subject"], found["starts"], found["explanation"]["clusterQueue"]) == ("job/a", False, "cq")


async def test_a_mistake_in_the_yaml_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: Job\nmetadata: {name: x\n")
    ended = await CommandRunner(tmp_path / "nowhere").run("fits", "-f", str(tmp_path / "bad.yaml"))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "bad.yaml:" in ended.err


async def test_what_an_api_server_would_refuse_never_starts(tmp_path: Path) -> None:
    ended = await offline(tmp_path, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}})
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "jobs.yaml:1: Job x: spec" in ended.err


async def test_the_cluster_is_read_where_no_state_is_given(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        for each in QUEUES:
            await cluster.create(each)
        ended = await user.run("fits", "-f", written(tmp_path / "job.yaml", make_job("a", "lq", "4")))
    assert (ended.code, ended.err) == (0, "")


async def test_without_permission_to_list_queues_the_result_is_unknown(tmp_path: Path) -> None:
    async with (
        running_kueue_apiserver() as cluster,
        running_command_runner(cluster, tmp_path, unprivileged_user()) as user,
    ):
        ended = await user.run("fits", "-f", written(tmp_path / "job.yaml", make_job("a", "lq", "4")))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "cannot evaluate without listing all " in ended.err
