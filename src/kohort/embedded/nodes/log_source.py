"""Log source of the embedded server: agents in the same process directly, others over their endpoint."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from kohort.api.core.nodes import Node
from kohort.api.times import format_time
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.client import Client
from kohort.kube.config.client_config import ClientConfig, ServerTrust
from kohort.kube.config.credential_files import InlineContent
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import StatusError, bad_request
from kohort.kube.http import HttpTransport
from kohort.kube.options import query
from kohort.kube.transport import Query, Request


class RemoteLogs:
    """Requests logs from node agents, as an API server does from kubelets."""

    def __init__(self, client: Client, identity: KeyPair) -> None:
        self._nodes = client.of(Node)
        self._credentials = StaticCredentials(
            certificate=InlineContent(identity.certificate), key=InlineContent(identity.key)
        )

    async def read(self, pod: Mapping[str, Any], options: PodLogOptions) -> AsyncIterator[bytes]:
        """Streams the output."""
        metadata, name = pod["metadata"], pod["spec"]["nodeName"]
        parts = (metadata.get("namespace", ""), metadata["name"], options.container)
        path = "/".join(("/containerLogs", *(quote(part, safe="") for part in parts)))
        access = ClientConfig(
            await self._address(name), self._credentials, ServerTrust(insecure=True), origin=f"node {name}"
        )
        agent = Client(HttpTransport(access))
        try:
            response = await agent.open(Request("GET", path, _query(options), {"Accept": "*/*"}), float("inf"))
            try:
                async for chunk in response.chunks():
                    yield chunk
            finally:
                await response.close()
        finally:
            await agent.close()

    async def _address(self, name: str) -> str:
        node = await self._nodes.get(("", name))
        address = next((each.address for each in node.status.addresses if each.type == "InternalIP"), "")
        port = node.status.daemon_endpoints.kubelet_endpoint.port
        if not address or not port:
            raise StatusError(503, "ServiceUnavailable", f"node {name} serves no logs")
        return f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"


def _query(options: PodLogOptions) -> Query:
    since = format_time(options.since_time) if options.since_time else ""
    tail = () if options.tail_lines is None else (("tailLines", str(options.tail_lines)),)
    return tail + query(
        (
            ("follow", options.follow),
            ("previous", options.previous),
            ("timestamps", options.timestamps),
            ("sinceSeconds", options.since_seconds),
            ("sinceTime", since),
            ("limitBytes", options.limit_bytes),
        )
    )


class AgentLogs:
    """The `LogSource` of a server whose pods are run by agents; agents may register after the server started."""

    def __init__(self) -> None:
        self.agents: list[NodeAgent] = []
        """Agents of this process."""
        self.remote: RemoteLogs | None = None

    def open(self, pod: Mapping[str, Any], options: PodLogOptions) -> AsyncIterator[bytes]:
        """The output of a container, from the agent of its node."""
        metadata, node = pod["metadata"], (pod.get("spec") or {}).get("nodeName")
        if not node:
            raise bad_request(f"pod {metadata['name']} does not have a host assigned")
        for agent in self.agents:
            if agent.serves(node):
                return agent.logs(metadata.get("namespace", ""), metadata["name"], options)
        if self.remote is None:
            raise StatusError(
                503, "ServiceUnavailable", f"node {node} is not run by this process and has no log endpoint"
            )
        return self.remote.read(pod, options)
