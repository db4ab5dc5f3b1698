"""Calls webhooks: JSON over HTTPS to a URL or a Service, verified by the configured CA bundle."""

import ssl
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any

import aiohttp
import msgspec

from kohort.api.codec import Json

MAX_RESPONSE = 3 * 1024 * 1024
Resolve = Callable[[str, str, int], str | None]
"""`host:port` behind the port of a service, by namespace and name."""


class WebhookCallError(Exception):
    """The call failed, or its response is invalid."""


class WebhookClient:
    """Calls webhooks."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._session: aiohttp.ClientSession | None = None

    async def post(self, client: Mapping[str, Any], body: Json, seconds: float) -> Json:
        """Posts the review and returns the response; raises `WebhookCallError`."""
        url, name, target = self._endpoint(client)
        try:
            context = _context(client.get("caBundle") or "")
            async with self._open().post(
                target,
                data=BytesIO(msgspec.json.encode(body)),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                ssl=context,
                server_hostname=name,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                return await _answer(response)
        except TimeoutError:
            raise WebhookCallError(f'Post "{url}?timeout={seconds:g}s": context deadline exceeded') from None
        except (aiohttp.ClientError, OSError, ValueError, Base64Error) as error:
            raise WebhookCallError(f'Post "{url}?timeout={seconds:g}s": {error}') from None

    def _endpoint(self, client: Mapping[str, Any]) -> tuple[str, str | None, str]:
        """The URL for messages, the server name of the certificate, and the URL to call."""
        if client.get("url"):
            return str(client["url"]), None, str(client["url"])
        service = client.get("service") or {}
        namespace, name = str(service.get("namespace")), str(service.get("name"))
        path, port = "/" + str(service.get("path") or "/").lstrip("/"), int(service.get("port") or 443)
        host = f"{name}.{namespace}.svc"
        url = f"https://{host}:{port}{path}"
        address = self._resolve(namespace, name, port)
        if address is None:
            raise WebhookCallError(f'Post "{url}": no endpoints available for service "{name}"')
        return url, host, f"https://{address}{path}"

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        return self._session

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()


async def _answer(response: aiohttp.ClientResponse) -> Json:
    body = await response.content.read(MAX_RESPONSE + 1)
    if len(body) > MAX_RESPONSE:
        raise WebhookCallError("the answer is too large")
    while chunk := await response.content.read(MAX_RESPONSE + 1 - len(body)):
        body += chunk
        if len(body) > MAX_RESPONSE:
            raise WebhookCallError("the answer is too large")
    if response.status >= 400:
        text = body[:200].decode(errors="replace").strip()
        raise WebhookCallError(f"the server answered {response.status}: {' '.join(text.split())}")
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise WebhookCallError("the answer is not JSON") from None


@lru_cache(maxsize=64)
def _context(bundle: str) -> ssl.SSLContext:
    if not bundle:
        return ssl.create_default_context()
    return ssl.create_default_context(cadata=b64decode(bundle).decode())
