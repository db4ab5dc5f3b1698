"""Follows the ConfigMap in which an API server says who its front proxy is, for the server of the visibility API."""

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
    trust_in_handshakes,
)

log = logging.getLogger(__name__)


class FrontProxyWatcher:
    """The front proxy of the moment."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self.proxy = NO_PROXY

    def see(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        """Take over what the ConfigMap says; what can't be used is told, and then nobody is believed."""
        try:
            self.proxy = front_proxy(new.data) if new is not None else NO_PROXY
        except FrontProxyError as error:
            log.warning("%s: the visibility API takes tokens only", error)
            self.proxy = NO_PROXY
        trust_in_handshakes(self._context, self.proxy)


@asynccontextmanager
async def following_front_proxy(
    client: Client, context: ssl.SSLContext
) -> AsyncIterator[Callable[[], FrontProxyVerifier]]:
    """The front proxy as the API server names it now, for as long as the block lasts."""
    trust = FrontProxyWatcher(context)
    informers = SharedInformerFactory(client)
    if await _may_read(client):
        scope = ListScope(CONFIG_MAP.namespace, fields=f"metadata.name={CONFIG_MAP.name}")
        informers.of(ConfigMap, scope).subscribe(trust.see)
    informers.start()
    try:
        yield lambda: trust.proxy
    finally:
        await informers.stop()


async def _may_read(client: Client) -> bool:
    """Without the right, or on a server without aggregation, there is nothing to follow: told once."""
    try:
        await client.of(ConfigMap).get(CONFIG_MAP)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        log.warning("no front proxy is known, and the visibility API takes tokens only: %s", error)
        return False
    return True
