"""From a request to the answer: who asks, whether they may, who handles it; and what anything unexpected looks like."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection
from datetime import datetime

from kohort.embedded.auth.attributes import Attributes, refusal
from kohort.embedded.auth.authentication import Authenticator, impersonated
from kohort.embedded.auth.rbac import Authorizer
from kohort.embedded.auth.reviews import Reviews
from kohort.embedded.auth.users import ANONYMOUS, User
from kohort.embedded.resources import Resource
from kohort.embedded.server.aggregation import Aggregator
from kohort.embedded.server.answers import Answer, status_answer, text_answer
from kohort.embedded.server.calls import Call
from kohort.embedded.server.catalogue import Catalogue
from kohort.embedded.server.documents import HEALTH_PATHS, Documents
from kohort.embedded.server.metrics import Metrics
from kohort.embedded.server.objects import Objects
from kohort.embedded.server.paths import unknown_path
from kohort.embedded.server.requests import Inbound, Target, read_target
from kohort.embedded.server.sidekicks import read_sidekick
from kohort.embedded.server.subresources import Handler, Subresources
from kohort.kube.errors import StatusError, internal, unauthorized

_log = logging.getLogger(__name__)
_ROOTS = ("", ".well-known", "api", "openapi", "openid", *HEALTH_PATHS, "version")
_PUBLIC = (*HEALTH_PATHS, "version")
_COLLECTION_VERBS = frozenset(("create", "list", "watch", "deletecollection"))
_ACROSS_NAMESPACES = frozenset(("list", "watch"))


class Router:
    """The server's one entry."""

    def __init__(
        self,
        catalogue: Catalogue,
        authenticator: Authenticator,
        authorizer: Authorizer,
        reviews: Reviews,
        documents: Documents,
        objects: Objects,
        subresources: Subresources,
        aggregator: Aggregator,
        metrics: Metrics,
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

    async def handle(self, request: Inbound) -> Answer:
        """Answer anything; nothing that goes wrong inside shows more than a number to find it by in the log."""
        try:
            request.check_text()
            target = read_target(request)
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

    async def _answer(self, request: Inbound, target: Target) -> Answer:
        user = self._authenticator.user(request.peer, request.headers)
        if user is ANONYMOUS and not (target.parts and target.parts[0] in _PUBLIC):
            raise unauthorized()
        user = impersonated(user, request.headers, self._authorizer)
        self._authorize(user, target)
        request = await request.received()
        if self._aggregator.serves(target):
            return await self._aggregator.proxy(request, target, user)
        if not target.is_resource:
            return self._document(request, target)
        return await self._resource(request, target, user)

    def _authorize(self, user: User, target: Target) -> None:
        asked = attributes_of(target)
        decision = self._authorizer.decide(user, asked)
        if not decision.allowed:
            raise refusal(asked, user, decision.reason)

    def _document(self, request: Inbound, target: Target) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise StatusError(
                405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
            )
        if target.parts == ("metrics",):
            return self._metrics.answer()
        if not self._is_known(target):
            return text_answer("404 page not found\n", 404)
        return self._documents.answer(request, target)

    def _is_known(self, target: Target) -> bool:
        """Whether there is anything at the root of the path; elsewhere not even a Status is spoken."""
        root, group = (*target.parts, "", "")[:2]
        if root == "apis":
            return not group or self._catalogue.has_group(group)
        return root in _ROOTS

    async def _resource(self, request: Inbound, target: Target, user: User) -> Answer:
        resource = self._catalogue.find(target.group, target.version, target.resource)
        if resource is None and not self._is_known(target):
            return text_answer("404 page not found\n", 404)
        if resource is None:
            raise unknown_path()
        if target.verb not in _served_verbs(resource, target) or request.method == "HEAD":
            raise _not_allowed()
        call = Call(request, target, resource, user, self._clock)
        if target.subresource:
            return await self._subresources.handler(target.subresource, target.verb)(call)
        if self._reviews.answers(resource.kind) and not resource.is_served_by_store:
            return self._review(call)
        if resource.key == "bindings":
            return await self._bind(call)
        return await self._verbs[target.verb](call)

    def _review(self, call: Call) -> Answer:
        resource = call.resource
        body = read_sidekick(call.request, resource.group, resource.version, resource.kind)
        review = {**body, "kind": resource.kind, "apiVersion": resource.api_version}
        return call.plain(self._reviews.answer(review, call.user, call.namespace), 201)

    async def _bind(self, call: Call) -> Answer:
        pods = self._catalogue.find("", "v1", "pods")
        assert pods is not None  # noqa: S101 - a built-in kind
        return await self._subresources.bind(Call(call.request, call.target, pods, call.user, call.clock))


def attributes_of(target: Target) -> Attributes:
    """What authorization is asked."""
    if not target.is_resource:
        return Attributes(target.verb if target.verb != "head" else "get", path=target.path)
    return Attributes(target.verb, target.group, target.resource, target.subresource, target.namespace, target.name)


def _not_allowed() -> StatusError:
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _served_verbs(resource: Resource, target: Target) -> Collection[str]:
    """The verbs served at a path; raises 404 where the path does not fit the scope of the resource."""
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


def _served_across_namespaces(resource: Resource, target: Target) -> Collection[str]:
    """Objects of all namespaces can be listed and watched at `/RESOURCE`; nothing else is served outside of scope."""
    is_collection = not target.subresource and (not target.name or target.verb in _ACROSS_NAMESPACES)
    verbs = _ACROSS_NAMESPACES.intersection(resource.verbs)
    if target.rest or target.is_in_namespace or not is_collection or not verbs:
        raise unknown_path()
    return verbs


def _subresource_verbs(resource: Resource, target: Target) -> Collection[str]:
    found = resource.subresource(target.subresource)
    if found is None or not target.name:
        raise unknown_path()
    return found.verbs
