"""The API server with its listener, keys and kubeconfig."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from kohort.embedded.auth.keyring import FRONT_PROXY, Keyring
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.aggregation.front_proxy import FrontProxyIdentity
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.server.serving.certificate_rotation import AdminKubeconfig, CertificateRotation, CertificateUsers
from kohort.embedded.server.serving.listener import Listener, server_context
from kohort.embedded.server.settings import ServerSettings
from kohort.embedded.storage import Store
from kohort.kube.clock import Clock, SystemClock

_LOCAL = ("127.0.0.1", "::1", "localhost")
_ANY = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound


class ApiServer:
    """A running API server."""

    def __init__(self, core: ServerCore, listener: Listener, keyring: Keyring, url: str, kubeconfig: Path) -> None:
        self.core = core
        self.listener = listener
        self.keyring = keyring
        self.url = url
        self.kubeconfig = kubeconfig


@contextlib.asynccontextmanager
async def running_api_server(settings: ServerSettings, clock: Clock | None = None) -> AsyncIterator[ApiServer]:
    """Runs an API server until the context exits."""
    moment = clock or SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        folder = settings.data
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kohort-")))
        keyring = Keyring(folder / "keys", moment.wall())
        hosts = (*_LOCAL, *settings.names, *_bound_name(settings.host))
        keyring.ensure_serving(hosts, moment.wall())
        keyring.ensure_front_proxy(moment.wall())
        store = await Store.open(None if settings.data is None else folder / "store.db")
        stack.push_async_callback(store.close)
        core = ServerCore(_parts(settings, keyring, store, moment))
        stack.push_async_callback(core.close)
        await core.start()
        context = server_context(str(keyring.certificate), str(keyring.key), keyring.authority.pem)
        listener = Listener(core.router.handle, context, settings.timeouts)
        port = await listener.start(settings.host, settings.port, settings.bound)
        stack.push_async_callback(listener.stop)
        core.metrics.offer("apiserver_open_connections", "Clients connected.", lambda: listener.connections)
        core.metrics.offer("apiserver_open_streams", "Watches and logs being read.", lambda: listener.streams)
        url = f"https://{_reachable(settings.host)}:{port}"
        kubeconfig = settings.kubeconfig or folder / "kubeconfig"
        core.non_resource.address = url.removeprefix("https://")
        freshness = CertificateRotation(
            keyring, hosts, CertificateUsers(context, core.aggregator.renew), AdminKubeconfig(kubeconfig, url), moment
        )
        await freshness.start()
        stack.push_async_callback(freshness.stop)
        yield ApiServer(core, listener, keyring, url, kubeconfig)


def _parts(settings: ServerSettings, keyring: Keyring, store: Store, clock: Clock) -> ServerCoreParts:
    return ServerCoreParts(
        store=store,
        clock=clock,
        signer=keyring.signer(),
        authority=keyring.authority.pem,
        front_proxy=FrontProxyIdentity(
            keyring.front_proxy_authority.pem, FRONT_PROXY, keyring.front_proxy_certificate, keyring.front_proxy_key
        ),
        tokens={token: User(name, (MASTERS, AUTHENTICATED)) for token, name in settings.tokens.items()},
        logs=settings.logs,
        plugins=settings.plugins,
    )


def _bound_name(host: str) -> tuple[str, ...]:
    return () if host in _ANY else (host,)


def _reachable(host: str) -> str:
    """The address by which clients on this machine reach the listener."""
    if host in _ANY:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
