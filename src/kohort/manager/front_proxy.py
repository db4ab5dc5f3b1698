"""Watches the ConfigMap with the API server's front proxy settings, for the visibility API."""

import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kohort.api.core.config_objects import ConfigMap
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope
from kohort.web.front_proxy import (
    CONFIG_MAP,
    NO_PROXY,
    FrontProxyError,
    FrontProxyVerifier,
    front_proxy,
    load_proxy_authorities,
)

log = logging.getLogger(__name__)


class FrontProxyWatcher:
    """The current front proxy settings."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self.proxy = NO_PROXY

    def update(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        """Apply the ConfigMap; invalid settings are logged, and then no front proxy is trusted."""
        try:
            self.proxy = front_proxy(new.data) if new is not None else NO_PROXY
        except FrontProxyError as error:
            log.warning("%s: visibility API accepts bearer tokens only", error)
            self.proxy = NO_PROXY
        load_proxy_authorities(self._context, self.proxy)


@asynccontextmanager
async def running_front_proxy_watch(
    client: Client, context: ssl.SSLContext
) -> AsyncIterator[Callable[[], FrontProxyVerifier]]:
    """Watches the front proxy settings until the context exits; yields a function that returns them."""
    watcher = FrontProxyWatcher(context)
    informers = SharedInformerFactory(client)
    if await _may_read(client):
        scope = ListScope(CONFIG_MAP.namespace, fields=f"metadata.name={CONFIG_MAP.name}")
        informers.of(ConfigMap, scope).subscribe(watcher.update)
    informers.start()
    try:
        yield lambda: watcher.proxy
    finally:
        await informers.stop()


async def _may_read(client: Client) -> bool:
    """Whether the ConfigMap can be read; without permission, or on a server without aggregation, it is not watched."""
    try:
        await client.of(ConfigMap).get(CONFIG_MAP)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        log.warning("front proxy not configured, visibility API accepts bearer tokens only: %s", error)
        return False
    return True
