"""A request for a resource, with the dependencies of its handlers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from kohort.api.codec import JsonObject
from kohort.embedded.auth.users import User
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.encoding.responses import ServerResponse, encode, warning_headers
from kohort.embedded.server.encoding.serialization import ResponseFormat, response_format
from kohort.embedded.server.encoding.versions import EncodedObject
from kohort.embedded.server.requests.options import WriteRequestOptions, write_options
from kohort.embedded.server.requests.request_info import RequestInfo, ServerRequest
from kohort.embedded.server.requests.write_operation import Method, WriteOperation

_OPTION_KINDS: dict[Method, str] = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "apply": "PatchOptions",
}


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """One request for one resource."""

    request: ServerRequest
    info: RequestInfo
    resource: ServedResource
    user: User
    clock: Callable[[], datetime]
    warnings: list[str] = field(default_factory=list)

    @property
    def response_format(self) -> ResponseFormat:
        """The negotiated response format."""
        return response_format(self.request, self.clock)

    @property
    def namespace(self) -> str:
        """Namespace of the object; empty for cluster-scoped resources."""
        return self.info.namespace if self.resource.namespaced else ""

    def operation(self, method: Method, subresource: str = "") -> WriteOperation:
        """The requested write."""
        options = write_options(self.request, _OPTION_KINDS[method])
        return self.operation_with(method, options, subresource)

    def operation_with(self, method: Method, options: WriteRequestOptions, subresource: str = "") -> WriteOperation:
        """A write by the caller with other options."""
        return WriteOperation(
            method,
            self.resource,
            self.namespace,
            self.info.name,
            self.user,
            self.clock(),
            options,
            subresource,
            self.warnings,
        )

    def shown(self, shown: EncodedObject, status: int = 200) -> ServerResponse:
        """A response with the object in the negotiated format."""
        response_format = self.response_format
        return response_format.response(response_format.one(self.resource, shown), status).with_headers(
            warning_headers(self.warnings)
        )

    def plain(self, found: JsonObject, status: int = 200) -> ServerResponse:
        """A response with an object of another kind, always as plain JSON."""
        return ServerResponse(status, encode(found)).with_headers(warning_headers(self.warnings))
