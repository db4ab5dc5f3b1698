"""Routes requests: authentication, impersonation, authorization, then aggregation, endpoint or resource."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection
from datetime import datetime

from kohort.embedded.auth.attributes import AuthorizationAttributes, denied
from kohort.embedded.auth.authentication import Authenticator, impersonated
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.auth.reviews import ReviewHandlers
from kohort.embedded.auth.users import ANONYMOUS, User
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.aggregation.aggregator import Aggregator
from kohort.embedded.server.encoding.responses import ServerResponse, status_response, text_response
from kohort.embedded.server.handlers.resource_handlers import ResourceHandlers
from kohort.embedded.server.metrics import ServerMetrics
from kohort.embedded.server.non_resource import HEALTH_PATHS, NonResourceHandlers
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.requests.paths import unknown_path
from kohort.embedded.server.requests.request_info import RequestInfo, ServerRequest, parse_request_info
from kohort.embedded.server.requests.resource_request import ResourceRequest
from kohort.embedded.server.subresources.bodies import read_subresource_body
from kohort.embedded.server.subresources.handlers import SubresourceHandler, Subresources
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
        catalog: ResourceCatalog,
        authenticator: Authenticator,
        authorizer: RbacAuthorizer,
        reviews: ReviewHandlers,
        non_resource: NonResourceHandlers,
        objects: ResourceHandlers,
        subresources: Subresources,
        aggregator: Aggregator,
        metrics: ServerMetrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalog = catalog
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._reviews = reviews
        self._non_resource = non_resource
        self._subresources = subresources
        self._aggregator = aggregator
        self._metrics = metrics
        self._clock = clock
        self._verbs: dict[str, SubresourceHandler] = {
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
            info = parse_request_info(request)
            response = await self._dispatch(request, info)
        except StatusError as error:
            response = status_response(error)
        except asyncio.CancelledError:
            raise
        except Exception:
            number = secrets.token_hex(8)
            _log.exception("request failed", extra={"request": number, "method": request.method})
            response = status_response(internal(f"see the server's log for request {number}"))
        self._metrics.count(request.method, response.status)
        return response

    async def _dispatch(self, request: ServerRequest, info: RequestInfo) -> ServerResponse:
        user = self._authenticator.user(request.peer, request.headers)
        if user is ANONYMOUS and not (info.parts and info.parts[0] in _PUBLIC):
            raise unauthorized()
        if user is not ANONYMOUS and request.on_authenticated is not None:
            request.on_authenticated()
        user = impersonated(user, request.headers, self._authorizer)
        self._authorize(user, info)
        if user is not ANONYMOUS:
            # Non-resource endpoints ignore the body.
            request = await request.received()
        if self._aggregator.serves(info):
            return await self._aggregator.proxy(request, info, user)
        if not info.is_resource:
            return self._serve_non_resource(request, info)
        return await self._resource(request, info, user)

    def _authorize(self, user: User, info: RequestInfo) -> None:
        requested = attributes_of(info)
        decision = self._authorizer.decide(user, requested)
        if not decision.allowed:
            raise denied(requested, user, decision.reason)

    def _serve_non_resource(self, request: ServerRequest, info: RequestInfo) -> ServerResponse:
        if request.method not in ("GET", "HEAD"):
            raise StatusError(
                405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
            )
        if info.parts == ("metrics",):
            return self._metrics.response()
        if not self._is_served_root(info):
            return text_response("404 page not found\n", 404)
        return self._non_resource.handle(request, info)

    def _is_served_root(self, info: RequestInfo) -> bool:
        """Whether the root of the path is served; elsewhere the response is plain text instead of a Status."""
        root, group = (*info.parts, "", "")[:2]
        if root == "apis":
            return not group or self._catalog.has_group(group)
        return root in _ROOTS

    async def _resource(self, request: ServerRequest, info: RequestInfo, user: User) -> ServerResponse:
        resource = self._catalog.find(info.group, info.version, info.resource)
        if resource is None and not self._is_served_root(info):
            return text_response("404 page not found\n", 404)
        if resource is None:
            raise unknown_path()
        if info.verb not in _served_verbs(resource, info) or request.method == "HEAD":
            raise _not_allowed()
        call = ResourceRequest(request, info, resource, user, self._clock)
        if info.subresource:
            return await self._subresources.handler(info.subresource, info.verb)(call)
        if self._reviews.handles(resource.kind) and not resource.is_served_by_store:
            return self._review(call)
        if resource.key == "bindings":
            return await self._bind(call)
        return await self._verbs[info.verb](call)

    def _review(self, call: ResourceRequest) -> ServerResponse:
        resource = call.resource
        body = read_subresource_body(call.request, resource.group, resource.version, resource.kind)
        review = {**body, "kind": resource.kind, "apiVersion": resource.api_version}
        return call.plain(self._reviews.handle(review, call.user, call.namespace), 201)

    async def _bind(self, call: ResourceRequest) -> ServerResponse:
        pods = self._catalog.find("", "v1", "pods")
        assert pods is not None  # noqa: S101 - a built-in kind
        return await self._subresources.bind(ResourceRequest(call.request, call.info, pods, call.user, call.clock))


def attributes_of(info: RequestInfo) -> AuthorizationAttributes:
    """The authorization attributes of a request."""
    if not info.is_resource:
        return AuthorizationAttributes(info.verb if info.verb != "head" else "get", path=info.path)
    return AuthorizationAttributes(info.verb, info.group, info.resource, info.subresource, info.namespace, info.name)


def _not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _served_verbs(resource: ServedResource, info: RequestInfo) -> Collection[str]:
    """The verbs served at a path; raises 404 if the path does not match the resource's scope."""
    if info.rest or info.is_in_namespace is not resource.namespaced:
        return _served_across_namespaces(resource, info)
    if info.is_in_namespace and not info.namespace:
        raise unknown_path()
    if info.subresource:
        return _subresource_verbs(resource, info)
    if not info.name or info.verb in ("list", "watch"):
        return _COLLECTION_VERBS.intersection(resource.verbs)
    verbs = set(resource.verbs) - _COLLECTION_VERBS
    if not verbs:
        raise unknown_path()
    return verbs


def _served_across_namespaces(resource: ServedResource, info: RequestInfo) -> Collection[str]:
    """Whether the request lists or watches a namespaced resource across all namespaces."""
    is_collection = not info.subresource and (not info.name or info.verb in _ACROSS_NAMESPACES)
    verbs = _ACROSS_NAMESPACES.intersection(resource.verbs)
    if info.rest or info.is_in_namespace or not is_collection or not verbs:
        raise unknown_path()
    return verbs


def _subresource_verbs(resource: ServedResource, info: RequestInfo) -> Collection[str]:
    found = resource.subresource(info.subresource)
    if found is None or not info.name:
        raise unknown_path()
    return found.verbs
