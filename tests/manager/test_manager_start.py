"""What prevents a start is reported in one line, with the remedy; what a manager can wait for is waited for."""

import asyncio
import io
import json
import logging

import msgspec
import pytest

from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kohort.api.config.loading import default_configuration
from kohort.api.crds import WebhookService, definitions
from kohort.controllers.context import ManagerSettings
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.kube.client import Client
from kohort.manager.crds import REQUIRED_KINDS, WhenMissing, ensure_crds, missing_definitions
from kohort.manager.errors import StartError
from kohort.manager.leadership import Leadership
from kohort.manager.logs import LogFormat, configure_logging
from kohort.manager.permissions import RequiredPermission, check_permissions, startup_permissions
from manager.managers import QUICK_ELECTION, TIMEOUT

SERVICE = "kueue-webhook-service"


def client_of(cluster: InMemoryApiServer, user: User = ADMIN) -> Client:
    return Client(cluster.core.transport(user), cluster.clock)


async def test_missing_definitions_are_reported_with_what_to_run() -> None:
    async with running_apiserver() as cluster:
        with pytest.raises(
            StartError, match=r"not found: AdmissionCheck, .*kohort crds \| kubectl apply .*--install-crds"
        ):
            await ensure_crds(client_of(cluster), "kueue-system", SERVICE, WhenMissing.FAIL)


async def test_missing_definitions_are_created_on_request() -> None:
    async with running_apiserver() as cluster, asyncio.timeout(TIMEOUT):
        client = client_of(cluster)
        starting = asyncio.create_task(ensure_crds(client, "kueue-system", SERVICE, WhenMissing.INSTALL))
        while not starting.done():
            await cluster.clock.advance(1.0)
        await starting
        assert await missing_definitions(client) == []
        assert (await cluster.get("/api/v1/namespaces/kueue-system"))["metadata"]["name"] == "kueue-system"


async def test_the_namespace_is_created_also_where_the_definitions_are_there() -> None:
    async with running_apiserver() as cluster, asyncio.timeout(TIMEOUT):
        client = client_of(cluster)
        for namespace in ("one", "another"):
            starting = asyncio.create_task(ensure_crds(client, namespace, SERVICE, WhenMissing.INSTALL))
            while not starting.done():
                await cluster.clock.advance(1.0)
            await starting
            assert (await cluster.get(f"/api/v1/namespaces/{namespace}"))["metadata"]["name"] == namespace


async def test_without_permission_to_create_a_namespace_it_continues(caplog: pytest.LogCaptureFixture) -> None:
    """The namespace may be there, and only an administrator may create one."""
    async with running_apiserver() as cluster, asyncio.timeout(TIMEOUT):
        installing = asyncio.create_task(ensure_crds(client_of(cluster), "one", SERVICE, WhenMissing.INSTALL))
        while not installing.done():
            await cluster.clock.advance(1.0)
        bob = client_of(cluster, User("bob", (AUTHENTICATED,)))
        await ensure_crds(bob, "one", SERVICE, WhenMissing.INSTALL)
    (warning,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warning.startswith("creating namespace failed: ")


async def test_missing_definitions_are_waited_for_on_request() -> None:
    async with running_apiserver() as cluster, asyncio.timeout(TIMEOUT):
        client = client_of(cluster)
        waiting = asyncio.create_task(ensure_crds(client, "kueue-system", SERVICE, WhenMissing.WAIT))
        await cluster.clock.advance(100.0)
        assert not waiting.done()
        assert await missing_definitions(client) == list(REQUIRED_KINDS)
        for each in definitions(WebhookService()):
            await cluster.create(dict(each))
        while not waiting.done():
            await cluster.clock.advance(1.0)


async def test_missing_permissions_are_reported_by_verb_and_resource() -> None:
    async with running_apiserver() as cluster:
        bob = client_of(cluster, User("bob", (AUTHENTICATED,)))
        with pytest.raises(
            StartError, match=r"missing permissions: list admissionchecks.kueue.x-k8s.io, .* and \d+ more: grant"
        ) as caught:
            await check_permissions(bob, startup_permissions(ManagerSettings(default_configuration())))
        assert "\n" not in str(caught.value)
        with pytest.raises(StartError, match=r"^missing permissions: patch workloads/status.kueue.x-k8s.io: "):
            await check_permissions(bob, [RequiredPermission("patch", "kueue.x-k8s.io", "workloads", "status")])
        with pytest.raises(StartError, match=r"missing permissions: get secrets in namespace kueue-system: "):
            await check_permissions(bob, [RequiredPermission("get", "", "secrets", namespace="kueue-system")])


async def test_an_administrator_has_every_right() -> None:
    async with running_apiserver() as cluster:
        await check_permissions(client_of(cluster), startup_permissions(ManagerSettings(default_configuration())))


async def test_inconsistent_lease_durations_are_reported_by_field() -> None:
    async with running_apiserver() as cluster:
        odd = msgspec.structs.replace(QUICK_ELECTION, renew_deadline="1h")
        with pytest.raises(StartError, match="leaderElection: lease times must satisfy duration > renew deadline"):
            Leadership(client_of(cluster), odd, "kueue-system", "me")


@pytest.fixture
def logs(own_logging: None) -> io.StringIO:
    return io.StringIO()


def test_lines_for_machines(logs: io.StringIO) -> None:
    configure_logging(LogFormat.JSON, 0, logs)
    logging.getLogger("kohort.manager").info("health on %s", ":8081")
    logging.getLogger("kohort.manager").debug("a detail")
    logging.getLogger("aiohttp").info("a library's")
    line = json.loads(logs.getvalue())
    assert (line["level"], line["logger"], line["msg"]) == ("info", "kohort.manager", "health on :8081")
    assert line["ts"].endswith("Z")


def test_a_multi_line_message_is_one_line_on_the_console(logs: io.StringIO) -> None:
    configure_logging(LogFormat.CONSOLE, 1, logs)
    logging.getLogger("kohort.manager").debug("two\nlines")
    assert logs.getvalue().endswith(" DEBUG   manager: two lines\n")


def test_a_traceback_stays_in_one_line_of_json(logs: io.StringIO) -> None:
    configure_logging(LogFormat.JSON, 0, logs)
    try:
        int("odd")
    except ValueError:
        logging.getLogger("kohort.x").exception("failed")
    assert "ValueError: invalid literal" in json.loads(logs.getvalue())["stacktrace"]
