"""From a running Kueue to Kohort and back, following docs/coming-from-kueue.md, with running, pending and ended jobs.

The migration runs once: the real Kueue with its own manifests and webhooks, then the commands of the page. Tests check
at what was seen on the way.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cluster.client import JsonClient
from cluster.kubectl import Kubectl, KubectlError
from cluster.manager_pods import KOHORT, ManagerPod, ManagerProgram
from cluster.migration import (
    KUEUE_API,
    TEAM,
    ClusterState,
    cluster_state,
    job,
    other_workloads,
    queue_of,
    single_pod,
    stored_as_v1beta1,
    stored_as_v1beta2,
)
from cluster.nodes import child_node
from cluster.page_runner import ClusterPageRunner, commands_for_test
from cluster.services import ControlPlaneWithServices
from docs.pages import ROOT, Command
from kohort.api.documents import read_documents
from oracle.kueue import build_manager, manager_manifests

Json = Any
PAGE: Final = ROOT / "docs" / "coming-from-kueue.md"
MANAGER_PAGE: Final = ROOT / "docs" / "how-to" / "manager.md"
SECONDS: Final = 120.0


# The migration


class MigrationRun:
    """An administrator at a cluster, and the observations at every step."""

    def __init__(self, plane: ControlPlaneWithServices, folder: Path) -> None:
        self.folder = folder
        self.shell = ClusterPageRunner(plane, folder)
        self.kubectl = Kubectl(plane.kubectl, plane.kubeconfig, folder / "cache")
        self.admin = JsonClient(plane.admin)
        self.pod = ManagerPod(plane, folder)
        self.kueue = ManagerProgram("kueue", (build_manager(), "--feature-gates=VisibilityOnDemand=false"))
        self.seen: dict[str, ClusterState] = {}
        self.refused = ""
        """The response of the API server to a new Job while no manager ran."""
        self.order: list[str] = []
        """Pending workloads in order, as returned by Kohort's visibility API."""

    def close(self) -> None:
        self.pod.close()
        self.admin.close()

    def play(self) -> None:
        """All of it."""
        manifests = self.folder / "kueue.yaml"
        manifests.write_text(self.kubectl("kustomize", str(manager_manifests())).out)
        self._create_objects([each.value for each in read_documents(manifests.read_bytes(), str(manifests))])
        self._under_kueue()
        before, back = _parted(PAGE)
        self._do(before)
        self._under_kohort()
        self._do(back)
        self._under_kueue_again()

    def _create_objects(self, manifests: list[Json]) -> None:
        """An installation that was there when v1beta1 was still stored, brought up to date."""
        self.kubectl("create", "namespace", "team")
        kinds = {each["kind"] for each in stored_as_v1beta1()}
        definitions = [each for each in manifests if each["kind"] == "CustomResourceDefinition"]
        self.kubectl.apply(*(_as_of_old(each) for each in definitions if each["spec"]["names"]["kind"] in kinds))
        self.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        self.kubectl("create", "-f", "-", stdin=_documents(stored_as_v1beta1()))
        self._finish_old_workload()
        self.kubectl("apply", "--server-side", "-f", str(self.folder / "kueue.yaml"))
        self.pod.start(self.kueue)
        self._create(*stored_as_v1beta2())

    def _finish_old_workload(self) -> None:
        done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"}
        path = f"/apis/kueue.x-k8s.io/v1beta1{TEAM}/workloads/old/status"
        ended = {"status": {"conditions": [{**done, "lastTransitionTime": "2025-01-01T00:00:00Z"}]}}
        answer = self.admin.patch(path, ended)
        assert answer.accepted, answer.body

    def _under_kueue(self) -> None:
        self._create(job("done", "large", seconds="0"))
        self._until(lambda seen: seen.has("done", "Finished"))
        self._create(job("running", "large", pods=3), single_pod("lone", "large"), job("low", "small"))
        self._create(*other_workloads())
        self._until(lambda seen: len(seen.active("running")) == 3 and seen.active("low") and seen.runs("lone"))
        for name in ("first", "second"):
            self._create_in_a_second_of_its_own(job(name, "large", pods=2))
        self._until(lambda seen: seen.counts("large") == (2, 2, 2) and len(seen.others()) == 10)
        self.seen["before"] = cluster_state(self.admin)

    def _under_kohort(self) -> None:
        self._create_in_a_second_of_its_own(job("later", "large", pods=2))
        self._until(lambda seen: seen.counts("large") == (2, 2, 3))
        self.seen["after"] = cluster_state(self.admin)
        path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/large/pendingworkloads"
        _eventually(lambda: self.admin.get(path).accepted)
        waiting = self.admin.get(path).body["items"]
        self.order = [each["metadata"]["ownerReferences"][0]["name"] for each in waiting]
        for command in commands_for_test(MANAGER_PAGE, __file__):
            self.shell.run(command, MANAGER_PAGE)
        self._give("large", 6)
        self._create(job("high", "small", priority="high"))
        self._until(lambda seen: len(seen.active("first")) == 2 and seen.active("high"))
        self._until(lambda seen: seen.counts("large") == (3, 3, 2))
        self.seen["with more quota"] = cluster_state(self.admin)

    def _under_kueue_again(self) -> None:
        self._create(job("last", "large", pods=2))
        self._until(lambda seen: seen.counts("large") == (3, 3, 3))
        self.seen["back"] = cluster_state(self.admin)
        self._create(job("highest", "small", priority="highest"))
        self.kubectl("delete", "job", "-n", "team", "running")
        self._until(lambda seen: len(seen.active("second")) == 2 and seen.active("highest"))
        self._until(lambda seen: seen.counts("large") == (3, 3, 2))
        self.seen["at the end"] = cluster_state(self.admin)
        self.kubectl("delete", "job", "-n", "team", "highest")
        self._until(lambda seen: seen.active("high"))

    def _do(self, reported: Sequence[Command]) -> None:
        """Runs the commands of the page; the manager's pod is started and stopped with its Deployment."""
        for command in reported:
            if command.text.startswith("kubectl delete deployment"):
                self.pod.stop()
            self.shell.run(command, PAGE)
            if command.text.startswith("kubectl delete deployment"):
                self.refused = self.refused or self._refusal(job("refused", "large"))
            if "kubectl apply --server-side" in command.text:
                self.pod.start(KOHORT if "kohort install" in command.text else self.kueue)

    def _create(self, *objects: Json) -> None:
        """As soon as the API server reaches the webhooks."""
        for each in objects:
            _eventually(partial(self._created, each))

    def _created(self, wanted: Json) -> bool:
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(wanted))
        return True

    def _refusal(self, wanted: Json) -> str:
        """The error that a user gets who creates an object; empty where it is accepted."""
        try:
            self._created(wanted)
        except KubectlError as error:
            return str(error)
        return ""

    def _create_in_a_second_of_its_own(self, wanted: Json) -> None:
        """Of two that came in the same one, neither is the first."""
        begun = int(time.time())
        _eventually(lambda: int(time.time()) > begun)
        self._create(wanted)

    def _give(self, queue: str, cpus: int) -> None:
        answer = self.admin.patch(f"{KUEUE_API}/clusterqueues/{queue}", {"spec": queue_of(cpus)})
        assert answer.accepted, answer.body

    def _until(self, condition: Callable[[ClusterState], object]) -> None:
        try:
            _eventually(lambda: condition(cluster_state(self.admin)))
        except AssertionError as error:
            raise AssertionError(f"{error}: {cluster_state(self.admin)}") from None


def _eventually(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            if condition():
                return
            problem = "not in time"
        except (KubectlError, AssertionError) as error:
            problem = str(error)
        assert time.monotonic() < end, problem
        time.sleep(0.25)


def _as_of_old(definition: Json) -> Json:
    """The definition when v1beta1 was stored, and nothing had to be converted."""
    versions = [{**each, "storage": each["name"] == "v1beta1"} for each in definition["spec"]["versions"]]
    return {**definition, "spec": {**definition["spec"], "versions": versions, "conversion": {"strategy": "None"}}}


def _documents(objects: Sequence[Json]) -> str:
    return yaml.safe_dump_all(objects)


def _parted(page: Path) -> tuple[list[Command], list[Command]]:
    """The commands of the page: those of the change, and those of the way back."""
    reported = commands_for_test(page, __file__)
    stops = [place for place, each in enumerate(reported) if each.text.startswith("kubectl delete deployment")]
    assert len(stops) == 2, "once for Kueue, and once for Kohort"
    return reported[: stops[1]], reported[stops[1] :]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlaneWithServices]:
    """One whose API server rather takes memory than time: every definition is changed four times over."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GOGC", "400")
        with ControlPlaneWithServices() as running:
            yield running


@pytest.fixture(scope="module")
def migration(plane: ControlPlaneWithServices, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MigrationRun]:
    folder = tmp_path_factory.mktemp("changeover")
    reported = MigrationRun(plane, folder)
    node = child_node(plane, folder / "node.log", "--labels=pool=a")
    try:
        reported.play()
        yield reported
    except BaseException:
        plane.keep_logs()
        print(f"logs of the cluster: {plane.logs}", file=sys.stderr)
        raise
    finally:
        reported.close()
        node.stop()


# The change


@pytest.mark.parametrize("name", ["running", "low", "done"])
def test_a_job_does_not_notice_the_change(migration: MigrationRun, name: str) -> None:
    """The same Job with the same pods, unchanged meanwhile."""
    assert migration.seen["after"].identity(name) == migration.seen["before"].identity(name)


@pytest.mark.parametrize("name", ["running", "low", "lone", "done"])
def test_admitted_workloads_keep_their_quota(migration: MigrationRun, name: str) -> None:
    """The same Workload with the same admission, since the same second: not admitted twice."""
    assert migration.seen["after"].quota_of(name) == migration.seen["before"].quota_of(name)


@pytest.mark.parametrize("name", ["running", "lone", "fewer", "limited", "first"])
def test_an_admission_is_reported_once(migration: MigrationRun, name: str) -> None:
    seen = migration.seen["at the end" if name != "running" else "back"]
    about = [reason for regarding, reason in seen.events if regarding == seen.workloads[name]["metadata"]["name"]]
    assert sorted(each for each in about if each in ("QuotaReserved", "Admitted")) == ["Admitted", "QuotaReserved"]


def test_a_running_pod_continues(migration: MigrationRun) -> None:
    uids = {name: seen.pods["lone"]["metadata"]["uid"] for name, seen in migration.seen.items()}
    assert len(set(uids.values())) == 1
    assert all(seen.runs("lone") for seen in migration.seen.values())


def test_other_workloads_keep_their_pods(migration: MigrationRun) -> None:
    """Partly admitted, with limits only, pod groups, Deployments and StatefulSets; there and back."""
    before = migration.seen["before"]
    for seen in migration.seen.values():
        assert seen.others() == before.others()
        assert (seen.used("tight"), seen.used("wide")) == ("3", "7")
        for name in before.workloads.keys() - {*before.jobs} | {"fewer", "limited"}:
            assert seen.quota_of(name) == before.quota_of(name)


@pytest.mark.parametrize("name", ["first", "second"])
def test_pending_workloads_stay_pending(migration: MigrationRun, name: str) -> None:
    before, after = migration.seen["before"], migration.seen["after"]
    assert after.identity(name) == before.identity(name)
    assert after.workloads[name]["metadata"]["uid"] == before.workloads[name]["metadata"]["uid"]
    assert not after.has(name, "QuotaReserved")


def test_pending_workloads_keep_their_position(migration: MigrationRun) -> None:
    assert migration.order == ["first", "second", "later"]


def test_quota_in_use_is_counted_on(migration: MigrationRun) -> None:
    before, after = migration.seen["before"], migration.seen["after"]
    assert (before.used("large"), before.used("small")) == ("4", "1")
    assert (after.used("large"), after.used("small")) == ("4", "1")


def test_what_was_stored_as_v1beta1_is_read(migration: MigrationRun) -> None:
    for seen in migration.seen.values():
        assert seen.has("old", "Finished")
    definition = migration.admin.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloads.kueue.x-k8s.io")
    assert definition.body["status"]["storedVersions"] == ["v1beta1", "v1beta2"]


def test_no_workload_is_made_twice(migration: MigrationRun) -> None:
    before = migration.seen["before"].workload_names
    after = migration.seen["after"]
    assert len(before) == 13
    assert set(after.workload_names) == {*before, after.workloads["later"]["metadata"]["name"]}


def test_new_jobs_are_refused_while_no_manager_runs(migration: MigrationRun) -> None:
    assert "failed calling webhook" in migration.refused
    assert "refused" not in migration.seen["at the end"].jobs


def test_kohort_admits_workloads_pending_at_kueue_when_there_is_quota(migration: MigrationRun) -> None:
    seen = migration.seen["with more quota"]
    assert seen.has("first", "Admitted")
    assert not seen.has("second", "QuotaReserved")
    assert seen.used("large") == "6"
    assert seen.identity("running") == migration.seen["before"].identity("running")


def test_kohort_evicts_workloads_that_kueue_admitted(migration: MigrationRun) -> None:
    seen = migration.seen["with more quota"]
    assert seen.has("low", "Evicted")
    assert "admission" not in seen.workloads["low"]["status"]
    assert (seen.jobs["low"]["spec"]["suspend"], seen.pods_of("low")) == (True, [])
    assert seen.used("small") == "1"


# And back


@pytest.mark.parametrize("name", ["running", "first", "high", "done"])
def test_a_job_is_unchanged_by_the_rollback(migration: MigrationRun, name: str) -> None:
    assert migration.seen["back"].identity(name) == migration.seen["with more quota"].identity(name)


@pytest.mark.parametrize("name", ["running", "first", "high", "lone", "done"])
def test_workloads_admitted_by_kohort_keep_their_quota(migration: MigrationRun, name: str) -> None:
    assert migration.seen["back"].quota_of(name) == migration.seen["with more quota"].quota_of(name)


def test_no_workload_is_created_twice_in_the_rollback(migration: MigrationRun) -> None:
    before, after = migration.seen["with more quota"], migration.seen["back"]
    assert set(after.workload_names) == {*before.workload_names, after.workloads["last"]["metadata"]["name"]}
    assert after.used("large") == "6"


def test_kueue_admits_workloads_pending_at_kohort(migration: MigrationRun) -> None:
    seen = migration.seen["at the end"]
    assert seen.has("second", "Admitted")
    assert not seen.has("later", "QuotaReserved")
    assert seen.used("large") == "5"


def test_kueue_evicts_workloads_that_kohort_admitted(migration: MigrationRun) -> None:
    """And admits it again, which the migration waits for; until then API servers keep fields of other clients."""
    seen = migration.seen["at the end"]
    assert seen.has("high", "Evicted")
    assert not seen.has("high", "QuotaReserved")
    assert (seen.jobs["high"]["spec"]["suspend"], seen.pods_of("high")) == (True, [])
