"""Reads ConfigMaps, Secrets and tokens for pods from the API when a container needs them.

Secrets are passed on and never cached: one `Sources` serves one preparation of a container.
"""

import base64
import binascii
from collections.abc import Mapping

from kohort.api.codec import Json, decode_json
from kohort.api.core.config_objects import ConfigMap, Secret, ServiceAccount
from kohort.embedded.runtimes.pods import RunPod
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

_RESOURCES = {"ConfigMap": ConfigMap.resource, "Secret": Secret.resource}
TOKEN_SECONDS = 3600


class MissingReferenceError(Exception):
    """A referenced object is missing or cannot be read; the text is the kubelet's."""


class Sources:
    """Objects read so far, each once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._found: dict[tuple[str, str, str], dict[str, Json]] = {}

    async def text_of(self, kind: str, namespace: str, name: str) -> Mapping[str, bytes]:
        """The entries that can be environment variables."""
        found = await self._get(kind, namespace, name)
        if kind == "Secret":
            return _decoded(found.get("data"), kind, name)
        return {key: str(value).encode() for key, value in (found.get("data") or {}).items()}

    async def files_of(self, kind: str, namespace: str, name: str) -> Mapping[str, bytes]:
        """The entries that can be files."""
        found = await self.text_of(kind, namespace, name)
        binary = (await self._get(kind, namespace, name)).get("binaryData") if kind == "ConfigMap" else None
        return {**found, **_decoded(binary, kind, name)}

    async def token(self, pod: RunPod, audience: str, seconds: int) -> bytes:
        """A token of the pod's service account, bound to the pod."""
        account = pod.spec.service_account_name or "default"
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod.metadata.name, "uid": pod.metadata.uid}
        spec = {"expirationSeconds": seconds, "boundObjectRef": bound, "audiences": [audience] if audience else None}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        requested = {**body, "spec": {name: value for name, value in spec.items() if value is not None}}
        accounts = self._client.of(ServiceAccount.resource)
        try:
            answer = decode_json(await accounts.post((pod.metadata.namespace, account), "token", requested))
        except KubeError as error:
            raise MissingReferenceError(f"failed to fetch token: {error}") from None
        return str(answer["status"]["token"]).encode()

    async def _get(self, kind: str, namespace: str, name: str) -> dict[str, Json]:
        key = (kind, namespace, name)
        if key not in self._found:
            self._found[key] = await self._ask(kind, namespace, name)
        return self._found[key]

    async def _ask(self, kind: str, namespace: str, name: str) -> dict[str, Json]:
        try:
            return await self._client.of(_RESOURCES[kind]).get((namespace, name))
        except StatusError as error:
            if error.is_not_found:
                raise MissingReferenceError(f'{kind.lower()} "{name}" not found') from None
            raise MissingReferenceError(str(error)) from None
        except KubeError as error:
            raise MissingReferenceError(str(error)) from None


def _decoded(data: Json, kind: str, name: str) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value or "", validate=True) for key, value in (data or {}).items()}
    except (binascii.Error, TypeError, ValueError):
        raise MissingReferenceError(f"{kind} {name} has data that is not base64") from None
