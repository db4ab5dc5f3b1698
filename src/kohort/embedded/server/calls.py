"""A request to a resource, with everything that its handlers need to know about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from kohort.embedded.auth.users import User
from kohort.embedded.resources import Resource
from kohort.embedded.server.answers import Answer, encode, warning_headers
from kohort.embedded.server.forms import Presentation, presentation
from kohort.embedded.server.operations import Method, Operation
from kohort.embedded.server.options import WriteOptions, write_options
from kohort.embedded.server.requests import Inbound, Target
from kohort.embedded.server.versions import Object, Shown

_OPTION_KINDS: dict[Method, str] = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "apply": "PatchOptions",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one resource."""

    request: Inbound
    target: Target
    resource: Resource
    user: User
    clock: Callable[[], datetime]
    warnings: list[str] = field(default_factory=list)

    @property
    def shape(self) -> Presentation:
        """The form in which the answer is wanted."""
        return presentation(self.request, self.clock)

    @property
    def namespace(self) -> str:
        """Where the object lives; empty for objects outside of namespaces."""
        return self.target.namespace if self.resource.namespaced else ""

    def operation(self, method: Method, subresource: str = "") -> Operation:
        """The write that the request asks for."""
        options = write_options(self.request, _OPTION_KINDS[method])
        return self.operation_with(method, options, subresource)

    def operation_with(self, method: Method, options: WriteOptions, subresource: str = "") -> Operation:
        """A write on behalf of the caller with options of its own."""
        return Operation(
            method,
            self.resource,
            self.namespace,
            self.target.name,
            self.user,
            self.clock(),
            options,
            subresource,
            self.warnings,
        )

    def shown(self, shown: Shown, status: int = 200) -> Answer:
        """An object as the answer, in the form wanted."""
        shape = self.shape
        return shape.answer(shape.one(self.resource, shown), status).with_headers(warning_headers(self.warnings))

    def plain(self, found: Object, status: int = 200) -> Answer:
        """An object of another kind as the answer: it has no other form."""
        return Answer(status, encode(found)).with_headers(warning_headers(self.warnings))
