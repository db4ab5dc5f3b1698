"""Finding the API server as kubectl does; one line with file and remedy when that fails; no secret in any text."""

import asyncio
import base64
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from kit.fake_apiserver import FakeApiServer
from kit.loopback import LoopbackServer
from kit.virtual_time import VirtualClock, eventually_true
from kohort.kube.config import ClientConfig, ConfigOverrides, load_client_config
from kohort.kube.config.client_config import Impersonation
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.exec_plugin import ExecCredentials
from kohort.kube.config.incluster import in_cluster
from kohort.kube.errors import ConfigError
from kohort.kube.http import HttpSettings, HttpTransport
from kohort.kube.transport import Request

TOKEN = "s3cret-token"  # noqa: S105


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A kubeconfig with one context `c`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://k8s.example:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        **more,
    }


class ConfigFixture:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.environment: dict[str, str] = {}

    def write(self, content: Any, name: str = "config") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    def access(self, content: Any = None, context: str = "") -> ClientConfig:
        file = self.write(content) if content is not None else None
        return load_client_config(ConfigOverrides(file, context, self.environment, self.folder, self.clock))

    def problem(self, content: Any, context: str = "") -> str:
        with pytest.raises(ConfigError) as caught:
            self.access(content, context)
        text = str(caught.value)
        assert "\n" not in text
        assert TOKEN not in text
        return text


@pytest.fixture
def fixture(tmp_path: Path) -> ConfigFixture:
    return ConfigFixture(tmp_path)


async def headers(access: ClientConfig) -> dict[str, str]:
    return dict((await access.credentials.login()).headers)


# Which file, which context


def test_the_named_file_then_the_environment_then_the_pod_then_home(fixture: ConfigFixture, tmp_path: Path) -> None:
    fixture.write(config(cluster={"server": "https://home"}), ".kube/config")
    assert fixture.access().server == "https://home"
    listed = fixture.write(config(cluster={"server": "https://listed"}), "listed")
    fixture.environment["KUBECONFIG"] = str(listed)
    assert fixture.access().server == "https://listed"
    assert fixture.access(config(cluster={"server": "https://named"})).server == "https://named"


def test_a_user_without_a_home_may_still_name_a_file(fixture: ConfigFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", missing)
    assert load_client_config(ConfigOverrides(fixture.write(config()))).server == "https://k8s.example:6443"


def test_of_several_files_the_first_that_names_a_thing_has_it(fixture: ConfigFixture) -> None:
    first = {"contexts": [{"name": "other", "context": {"cluster": "k", "user": "u", "namespace": "team"}}]}
    second = config(cluster={"server": "https://second"}, user={"token": TOKEN})
    third = config(cluster={"server": "https://third"})
    paths = [
        fixture.write(first, "1"),
        fixture.folder / "missing",
        fixture.write(second, "2"),
        fixture.write(third, "3"),
    ]
    fixture.environment["KUBECONFIG"] = ":".join(map(str, paths))
    access = fixture.access()
    assert (access.server, access.namespace) == ("https://second", "default")
    assert fixture.access(context="other").namespace == "team"


def test_nothing_to_read_is_reported_with_the_remedy(fixture: ConfigFixture) -> None:
    with pytest.raises(ConfigError, match="set KUBECONFIG or use --kubeconfig"):
        fixture.access()


@pytest.mark.parametrize(
    ("content", "context", "reported"),
    [
        (config(), "d", "context 'd' not found, available: c"),
        ({**config(), "current-context": ""}, "", "current-context is not set: choose one"),
        (config(clusters=[]), "", "cluster 'k' of context 'c' not found"),
        (config(users=[]), "", "user 'u' of context 'c' not found"),
        (config(cluster={"server": ""}), "", "cluster 'k' has no server"),
        (config(user={"token": {"odd": TOKEN}}), "", "invalid kubeconfig: Expected `str`, got `object`"),
        (f"users: [{{name: u, user: {{token: {TOKEN}}}", "", "invalid YAML"),
        (config(user={"client-certificate": "x"}), "", "must be set together"),
        (config(user={"client-key-data": "%%%"}), "", "client-key-data is not valid base64"),
        (config(user={"auth-provider": {"name": "gcp"}}), "", "use its exec plugin"),
        (config(user={"as-groups": ["x"]}), "", "require `as`"),
        (
            config(cluster={"insecure-skip-tls-verify": True, "certificate-authority": "x"}),
            "",
            "mutually exclusive",
        ),
        (
            config(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
            "",
            "use client",
        ),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(
    fixture: ConfigFixture, content: Any, context: str, reported: str
) -> None:
    assert reported in fixture.problem(content, context)


def test_everything_of_a_cluster_is_understood(fixture: ConfigFixture) -> None:
    pem = b"-----BEGIN CERTIFICATE-----"
    access = fixture.access(
        config(
            cluster={
                "certificate-authority-data": base64.b64encode(pem).decode(),
                "tls-server-name": "kubernetes",
                "proxy-url": "http://proxy:3128",
            },
            user={"as": "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"k": ["v"]}},
        )
    )
    assert access.server == "https://k8s.example:6443"
    assert access.trust.authority is not None
    assert access.trust.authority.read() == pem
    assert (access.trust.server_name, access.proxy) == ("kubernetes", "http://proxy:3128")
    assert access.impersonation == Impersonation("jane", "7", ("dev",), {"k": ("v",)})


# The user


async def test_tokens_passwords_and_files(fixture: ConfigFixture) -> None:
    assert await headers(fixture.access(config(user={"token": TOKEN}))) == {"Authorization": f"Bearer {TOKEN}"}
    basic = base64.b64encode(b"me:pass").decode()
    user = {"username": "me", "password": "pass"}
    assert await headers(fixture.access(config(user=user))) == {"Authorization": f"Basic {basic}"}
    (fixture.folder / "token").write_text("from the file\n")
    both = {"token": TOKEN, "tokenFile": "token"}
    access = fixture.access(config(user=both))
    assert await headers(access) == {"Authorization": "Bearer from the file"}
    (fixture.folder / "token").write_text("rotated!\n")
    assert await headers(access) == {"Authorization": "Bearer rotated!"}
    (fixture.folder / "token").unlink()
    assert await headers(fixture.access(config(user=both))) == {"Authorization": f"Bearer {TOKEN}"}


async def test_files_are_relative_to_their_kubeconfig_and_missing_ones_are_named(fixture: ConfigFixture) -> None:
    user = {"client-certificate": "pki/tls.crt", "client-key": "pki/tls.key"}
    access = fixture.access(config(user=user))
    with pytest.raises(ConfigError, match=f"cannot read client-certificate {fixture.folder}/pki/tls.crt"):
        await access.credentials.login()
    fixture.write("certificate", "pki/tls.crt")
    fixture.write("key", "pki/tls.key")
    pair = (await access.credentials.login()).key_pair
    assert pair is not None
    assert (pair.certificate, pair.key) == (b"certificate", b"key")


async def test_nothing_that_is_secret_shows_when_printed(fixture: ConfigFixture) -> None:
    data = base64.b64encode(TOKEN.encode()).decode()
    users: list[dict[str, Any]] = [
        {"token": TOKEN, "password": TOKEN, "username": "u"},
        {"client-certificate-data": data, "client-key-data": data},
        {
            "exec": {
                "command": "x",
                "apiVersion": "client.authentication.k8s.io/v1",
                "env": [{"name": "T", "value": TOKEN}],
            }
        },
    ]
    for user in users:
        access = fixture.access(config(cluster={"proxy-url": f"http://u:{TOKEN}@proxy"}, user=user))
        shown = repr(access) + str(access)
        if isinstance(access.credentials, StaticCredentials):
            shown += repr(await access.credentials.login())
        assert TOKEN not in shown
        assert data not in shown


# In a pod


async def test_a_pod_uses_its_service_account_and_reads_the_token_again(tmp_path: Path) -> None:
    for name, content in (("token", "one"), ("ca.crt", "ca"), ("namespace", "team-a")):
        (tmp_path / name).write_text(content)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = in_cluster(environment, tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "team-a")
    assert await headers(access) == {"Authorization": "Bearer one"}
    (tmp_path / "token").write_text("another")
    assert await headers(access) == {"Authorization": "Bearer another"}


def test_outside_a_pod_that_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not in a pod"):
        in_cluster({}, tmp_path)
    with pytest.raises(ConfigError, match="mount the service account token"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}, tmp_path)


# Programs that print credentials

PLUGIN = """
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
runs = here / "runs"
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
(here / "info").write_text(json.dumps(info))
answer = json.loads((here / "answer").read_text().replace("RUN", str(len(runs.read_text()))))
answer.setdefault("apiVersion", info["apiVersion"])
print(json.dumps({"kind": "ExecCredential", **answer}))
sys.exit(int(os.environ.get("CODE", "0")))
"""


class ExecPluginFixture:
    """A credential program and the desk it is configured at."""

    def __init__(self, fixture: ConfigFixture, **exec_config: Any) -> None:
        self.desk = fixture
        fixture.write(PLUGIN, "plugin.py")
        self.answer(token="token-RUN")  # noqa: S106
        self.settings = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(fixture.folder / "plugin.py")],
            "interactiveMode": "Never",
            **exec_config,
        }

    def answer(self, **status: str) -> None:
        self.desk.write(json.dumps({"status": status}), "answer")

    def credentials(self, cluster: dict[str, Any] | None = None) -> ExecCredentials:
        found = self.desk.access(config(cluster, {"exec": self.settings})).credentials
        assert isinstance(found, ExecCredentials)
        return found

    @property
    def runs(self) -> int:
        file = self.desk.folder / "runs"
        return len(file.read_text()) if file.exists() else 0

    @property
    def info(self) -> Any:
        return json.loads((self.desk.folder / "info").read_text())


async def test_a_program_runs_once_until_its_credentials_expire(fixture: ConfigFixture) -> None:
    plugin = ExecPluginFixture(fixture)
    until = fixture.clock.wall() + timedelta(hours=1)
    plugin.answer(token="token-RUN", expirationTimestamp=until.strftime("%Y-%m-%dT%H:%M:%SZ"))  # noqa: S106
    credentials = plugin.credentials()
    logins = [await credentials.login() for _ in range(3)]
    assert [login.headers for login in logins] == [(("Authorization", "Bearer token-1"),)] * 3
    await fixture.clock.advance(3601)
    assert (await credentials.login()).headers == (("Authorization", "Bearer token-2"),)
    assert plugin.runs == 2


async def test_a_refused_login_runs_the_program_again_but_not_for_each_request(fixture: ConfigFixture) -> None:
    plugin = ExecPluginFixture(fixture)
    credentials = plugin.credentials()
    first = await credentials.login()
    assert not await credentials.refused(first)
    await fixture.clock.advance(60)
    assert await credentials.refused(first)
    second = await credentials.login()
    assert second != first
    assert await credentials.refused(first)
    assert await credentials.login() == second


async def test_a_login_that_the_server_refuses_is_replaced_once(fixture: ConfigFixture) -> None:
    plugin = ExecPluginFixture(fixture)
    server = await LoopbackServer(FakeApiServer()).start()
    server.tokens = {"token-2"}
    access = fixture.access(config({"server": server.address}, {"exec": plugin.settings}))
    transport = HttpTransport(access, HttpSettings(environment={}))
    await access.credentials.login()
    await fixture.clock.advance(60)
    assert (await transport.send(Request("GET", "/api/v1/configmaps"), 10)).status == 200
    server.tokens = set()
    await fixture.clock.advance(60)
    assert (await transport.send(Request("GET", "/api/v1/configmaps"), 10)).status == 401
    assert plugin.runs == 3
    await transport.close()
    await server.stop()


async def test_a_program_may_return_a_client_certificate(fixture: ConfigFixture) -> None:
    plugin = ExecPluginFixture(fixture)
    plugin.answer(clientCertificateData="certificate", clientKeyData=TOKEN)
    login = await plugin.credentials().login()
    assert login.key_pair is not None
    assert login.key_pair.key == TOKEN.encode()
    assert TOKEN not in repr(login)


async def test_a_user_program_gets_the_cluster_where_so_configured(fixture: ConfigFixture) -> None:
    await ExecPluginFixture(fixture).credentials().login()
    plugin = ExecPluginFixture(fixture, provideClusterInfo=True, apiVersion="client.authentication.k8s.io/v1beta1")
    assert plugin.info["spec"] == {"interactive": False}
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    await plugin.credentials({"tls-server-name": "kubernetes", "extensions": [extension]}).login()
    assert plugin.info["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert plugin.info["spec"]["cluster"] == {
        "server": "https://k8s.example:6443/",
        "tls-server-name": "kubernetes",
        "config": {"audience": "x"},
    }


async def test_a_program_that_does_not_end_is_ended(fixture: ConfigFixture) -> None:
    plugin = ExecPluginFixture(fixture, args=["-c", "import time; time.sleep(600)"])
    asking = asyncio.create_task(plugin.credentials().login())
    async with asyncio.timeout(60):
        await eventually_true(lambda: fixture.clock.sleepers)
        await fixture.clock.advance(61)
        with pytest.raises(ConfigError, match="timed out after 60 s"):
            await asking


@pytest.mark.parametrize(
    ("settings", "answer", "reported"),
    [
        ({"command": "no-such-program", "installHint": "get it"}, {}, "failed to start: No such file"),
        ({"env": [{"name": "CODE", "value": "3"}]}, {}, "exited with code 3: run it manually"),
        ({}, {"apiVersion": "v9", "status": {"token": TOKEN}}, "did not print an ExecCredential of client"),
        ({}, {"status": {"expirationTimestamp": "soon", "token": TOKEN}}, "did not print an ExecCredential"),
        ({}, {"status": {}}, "neither a token nor"),
        ({"interactiveMode": "Always"}, {}, "requires a terminal"),
    ],
)
async def test_a_program_that_fails_is_named(
    fixture: ConfigFixture, settings: dict[str, Any], answer: dict[str, Any], reported: str
) -> None:
    plugin = ExecPluginFixture(fixture, **settings)
    if answer:
        fixture.write(json.dumps(answer), "answer")
    with pytest.raises(ConfigError) as caught:
        await plugin.credentials().login()
    assert reported in str(caught.value)
    assert str(fixture.folder / "config") in str(caught.value)
    assert TOKEN not in str(caught.value)


# OpenID


def jwt(expires: float) -> str:
    body = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"e30.{body}.x"


async def test_an_openid_token_is_used_while_it_lasts_and_then_refreshed(fixture: ConfigFixture) -> None:
    now = fixture.clock.wall().timestamp()
    renewed = jwt(now + 1e6)

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path.endswith("openid-configuration"):
            return web.json_response({"token_endpoint": f"http://{request.host}/token"})
        form = await request.post()
        assert form["refresh_token"] == provider["refresh-token"]
        return web.json_response({"id_token": renewed})

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    first = jwt(now + 1000)
    provider = {"idp-issuer-url": issuer, "client-id": "me", "id-token": first, "refresh-token": "again"}
    access = fixture.access(config(user={"auth-provider": {"name": "oidc", "config": provider}}))
    assert await headers(access) == {"Authorization": f"Bearer {first}"}
    await fixture.clock.advance(2000)
    assert await headers(access) == {"Authorization": f"Bearer {renewed}"}
    await runner.cleanup()
    await fixture.clock.advance(2e6)
    with pytest.raises(ConfigError, match="refreshing the token failed"):
        await headers(access)
