"""Routes requests: authentication, impersonation, authorization, then aggregation, endpoint or resource."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection
from datetime import datetime

from kohort.embedded.auth.attributes import AuthorizationAttributes, refusal
from kohort.embedded.auth.authentication import Authenticator, impersonated
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.auth.reviews import ReviewHandlers
from kohort.embedded.auth.users import ANONYMOUS, User
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.aggregation.aggregator import Aggregator
from kohort.embedded.server.encoding.responses import ServerResponse, status_answer, text_answer
from kohort.embedded.server.handlers.resource_handlers import ResourceHandlers
from kohort.embedded.server.metrics import ServerMetrics
from kohort.embedded.server.non_resource import HEALTH_PATHS, NonResourceHandlers
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.requests.paths import unknown_path
from kohort.embedded.server.requests.request_info import RequestInfo, ServerRequest, parse_request_info
from kohort.embedded.server.requests.resource_request import ResourceRequest
from kohort.embedded.server.subresources.bodies import read_subresource_body
from kohort.embedded.server.subresources.handlers import Handler, Subresources
from kohort.kube.errors import StatusError, internal, unauthorized

_log = logging.getLogger(__name__)
_ROOTS = ("", ".well-known", "api", "openapi", "openid", *HEALTH_PATHS, "version")
_PUBLIC = (*HEALTH_PATHS, "version")
_COLLECTION_VERBS = frozenset(("create", "list", "watch", "deletecollection"))
_ACROSS_NAMESPACES = frozenset(("list", "watch"))


class Router:
    """The handler chain of the server."""

    def __init__(
        self,
        catalogue: ResourceCatalog,
        authenticator: Authenticator,
        authorizer: RbacAuthorizer,
        reviews: ReviewHandlers,
        documents: NonResourceHandlers,
        objects: ResourceHandlers,
        subresources: Subresources,
        aggregator: Aggregator,
        metrics: ServerMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalogue = catalogue
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._reviews = reviews
        self._documents = documents
        self._subresources = subresources
        self._aggregator = aggregator
        self._metrics = metrics
        self._clock = clock
        self._verbs: dict[str, Handler] = {
            "get": objects.get,
            "list": objects.list,
            "watch": objects.watch,
            "create": objects.create,
            "update": objects.update,
            "patch": objects.patch,
            "delete": objects.delete,
            "deletecollection": objects.delete_collection,
        }

    async def handle(self, request: ServerRequest) -> ServerResponse:
        """Handles a request; an unexpected error is logged, and the client gets only an identifier of the log entry."""
        try:
            request.check_text()
            target = parse_request_info(request)
            answer = await self._answer(request, target)
        except StatusError as error:
            answer = status_answer(error)
        except asyncio.CancelledError:
            raise
        except Exception:
            number = secrets.token_hex(8)
            _log.exception("request failed", extra={"request": number, "method": request.method})
            answer = status_answer(internal(f"see the server's log for request {number}"))
        self._metrics.count(request.method, answer.status)
        return answer

    async def _answer(self, request: ServerRequest, target: RequestInfo) -> ServerResponse:
        user = self._authenticator.user(request.peer, request.headers)
        if user is ANONYMOUS and not (target.parts and target.parts[0] in _PUBLIC):
            raise unauthorized()
        if user is not ANONYMOUS and request.on_authenticated is not None:
            request.on_authenticated()
        user = impersonated(user, request.headers, self._authorizer)
        self._authorize(user, target)
        if user is not ANONYMOUS:
            # Non-resource endpoints ignore the body.
            request = await request.received()
        if self._aggregator.serves(target):
            return await self._aggregator.proxy(request, target, user)
        if not target.is_resource:
            return self._document(request, target)
        return await self._resource(request, target, user)

    def _authorize(self, user: User, target: RequestInfo) -> None:
        asked = attributes_of(target)
        decision = self._authorizer.decide(user, asked)
        if not decision.allowed:
            raise refusal(asked, user, decision.reason)

    def _document(self, request: ServerRequest, target: RequestInfo) -> ServerResponse:
        if request.method not in ("GET", "HEAD"):
            raise StatusError(
                405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
            )
        if target.parts == ("metrics",):
            return self._metrics.answer()
        if not self._is_known(target):
            return text_answer("404 page not found\n", 404)
        return self._documents.answer(request, target)

    def _is_known(self, target: RequestInfo) -> bool:
        """Whether the root of the path is served; elsewhere the response is plain text instead of a Status."""
        root, group = (*target.parts, "", "")[:2]
        if root == "apis":
            return not group or self._catalogue.has_group(group)
        return root in _ROOTS

    async def _resource(self, request: ServerRequest, target: RequestInfo, user: User) -> ServerResponse:
        resource = self._catalogue.find(target.group, target.version, target.resource)
        if resource is None and not self._is_known(target):
            return text_answer("404 page not found\n", 404)
        if resource is None:
            raise unknown_path()
        if target.verb not in _served_verbs(resource, target) or request.method == "HEAD":
            raise _not_allowed()
        call = ResourceRequest(request, target, resource, user, self._clock)
        if target.subresource:
            return await self._subresources.handler(target.subresource, target.verb)(call)
        if self._reviews.answers(resource.kind) and not resource.is_served_by_store:
            return self._review(call)
        if resource.key == "bindings":
            return await self._bind(call)
        return await self._verbs[target.verb](call)

    def _review(self, call: ResourceRequest) -> ServerResponse:
        resource = call.resource
        body = read_subresource_body(call.request, resource.group, resource.version, resource.kind)
        review = {**body, "kind": resource.kind, "apiVersion": resource.api_version}
        return call.plain(self._reviews.answer(review, call.user, call.namespace), 201)

    async def _bind(self, call: ResourceRequest) -> ServerResponse:
        pods = self._catalogue.find("", "v1", "pods")
        assert pods is not None  # noqa: S101 - a built-in kind
        return await self._subresources.bind(ResourceRequest(call.request, call.target, pods, call.user, call.clock))


def attributes_of(target: RequestInfo) -> AuthorizationAttributes:
    """The authorization attributes of a request."""
    if not target.is_resource:
        return AuthorizationAttributes(target.verb if target.verb != "head" else "get", path=target.path)
    return AuthorizationAttributes(
        target.verb, target.group, target.resource, target.subresource, target.namespace, target.name
    )


def _not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _served_verbs(resource: ServedResource, target: RequestInfo) -> Collection[str]:
    """The verbs served at a path; raises 404 if the path does not match the resource's scope."""
    if target.rest or target.is_in_namespace is not resource.namespaced:
        return _served_across_namespaces(resource, target)
    if target.is_in_namespace and not target.namespace:
        raise unknown_path()
    if target.subresource:
        return _subresource_verbs(resource, target)
    if not target.name or target.verb in ("list", "watch"):
        return _COLLECTION_VERBS.intersection(resource.verbs)
    verbs = set(resource.verbs) - _COLLECTION_VERBS
    if not verbs:
        raise unknown_path()
    return verbs


def _served_across_namespaces(resource: ServedResource, target: RequestInfo) -> Collection[str]:
    """Whether the request lists or watches a namespaced resource across all namespaces."""
    is_collection = not target.subresource and (not target.name or target.verb in _ACROSS_NAMESPACES)
    verbs = _ACROSS_NAMESPACES.intersection(resource.verbs)
    if target.rest or target.is_in_namespace or not is_collection or not verbs:
        raise unknown_path()
    return verbs


def _subresource_verbs(resource: ServedResource, target: RequestInfo) -> Collection[str]:
    found = resource.subresource(target.subresource)
    if found is None or not target.name:
        raise unknown_path()
    return found.verbs
