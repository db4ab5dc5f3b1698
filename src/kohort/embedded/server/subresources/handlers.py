"""Handlers of subresources: `status`, `scale`, `binding`, `eviction`, `log`, `token` …"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import uuid4

from kohort.api.codec import Json, JsonObject
from kohort.api.fields import ROOT
from kohort.api.fields import invalid as field_invalid
from kohort.api.times import format_time
from kohort.embedded.auth.service_account_tokens import DEFAULT_AUDIENCE, ServiceAccountTokens
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.embedded.server.encoding.decoding import read_value
from kohort.embedded.server.encoding.responses import TEXT, ServerResponse
from kohort.embedded.server.encoding.versions import VersionConverter
from kohort.embedded.server.handlers.resource_handlers import ResourceHandlers, success, write_defaults
from kohort.embedded.server.registry.metadata import check_name
from kohort.embedded.server.requests.options import delete_options
from kohort.embedded.server.requests.resource_request import ResourceRequest
from kohort.embedded.server.subresources.bodies import prune_subresource_body, read_subresource_body
from kohort.embedded.server.subresources.logs import LogSource, log_options, start_stream
from kohort.embedded.server.subresources.pods import Evictions, binding_update
from kohort.embedded.server.subresources.scale import scale_of, with_replicas
from kohort.kube.errors import ErrorSubject, StatusError, bad_request, invalid, not_found

SubresourceHandler = Callable[[ResourceRequest], Awaitable[ServerResponse]]
_SCALE_PATCHES = (PatchKind.JSON, PatchKind.MERGE, PatchKind.STRATEGIC)
_TOO_SHORT = "may not specify a duration less than 10 minutes"
_SCALE = ("autoscaling", "v1", "Scale")
_BOUND_KINDS = ("Pod", "Secret", "Node")


class Subresources:
    """Handlers by subresource and verb."""

    def __init__(
        self,
        objects: ResourceHandlers,
        versions: VersionConverter,
        evictions: Evictions,
        accounts: ServiceAccountTokens,
        logs: LogSource | None,
    ) -> None:
        self._objects = objects
        self._versions = versions
        self._evictions = evictions
        self._accounts = accounts
        self._logs = logs
        self._handlers: dict[tuple[str, str], SubresourceHandler] = {
            ("scale", "get"): self._get_scale,
            ("scale", "update"): self._update_scale,
            ("scale", "patch"): self._patch_scale,
            ("binding", "create"): self.bind,
            ("eviction", "create"): self._evict,
            ("log", "get"): self._log,
            ("token", "create"): self._token,
        }

    def handler(self, subresource: str, verb: str) -> SubresourceHandler:
        """The handler; subresources without one update a part of the object itself."""
        own = self._handlers.get((subresource, verb))
        if own is not None:
            return own
        if verb == "get":
            return self._objects.get
        return self._update_part if verb == "update" else self._patch_part

    async def _update_part(self, call: ResourceRequest) -> ServerResponse:
        return await self._objects.update(call, call.info.subresource)

    async def _patch_part(self, call: ResourceRequest) -> ServerResponse:
        return await self._objects.patch(call, call.info.subresource)

    # scale

    async def _current(self, call: ResourceRequest) -> JsonObject:
        entry = self._objects.reader.entry(call.resource, call.namespace, call.info.name)
        return await self._versions.served_object(call.resource, entry.object)

    async def _get_scale(self, call: ResourceRequest) -> ServerResponse:
        return call.plain(scale_of(call.resource, await self._current(call)))

    async def _update_scale(self, call: ResourceRequest) -> ServerResponse:
        scale = read_subresource_body(call.request, *_SCALE)
        check_name(call.info.name, scale)

        async def wanted(_: JsonObject) -> JsonObject:
            return scale

        return await self._write_scale(call, wanted)

    async def _patch_scale(self, call: ResourceRequest) -> ServerResponse:
        kind = PatchKind.from_content_type(call.request.headers.get("Content-Type", ""), _SCALE_PATCHES)
        kind = PatchKind.MERGE if kind is PatchKind.STRATEGIC else kind
        patch = read_value(call.request)

        async def wanted(current: JsonObject) -> JsonObject:
            patched = prune_subresource_body(apply_patch(kind, current, patch, None), *_SCALE)
            if patched.get("metadata") == current["metadata"]:
                patched = {**patched, "metadata": {**patched["metadata"], "resourceVersion": ""}}
            return patched

        return await self._write_scale(call, wanted)

    async def _write_scale(
        self, call: ResourceRequest, wanted: Callable[[JsonObject], Awaitable[JsonObject]]
    ) -> ServerResponse:
        async def scaled(old: JsonObject) -> JsonObject:
            return with_replicas(call.resource, old, await wanted(scale_of(call.resource, old)))

        written = await self._objects.writer.update(call.operation("patch", "scale"), scaled)
        return call.plain(scale_of(call.resource, written.shown.object))

    # pods

    async def bind(self, call: ResourceRequest) -> ServerResponse:
        """Binds a pod to a node."""
        binding = read_subresource_body(call.request, "", "v1", "Binding")
        name = str((binding.get("metadata") or {}).get("name") or "")
        if call.info.name and name != call.info.name:
            raise bad_request("name in URL does not match name in Binding object")
        operation = replace(call.operation("create", "binding"), method="patch", name=name)
        await self._objects.writer.update(operation, binding_update(operation, binding))
        return call.plain({**success({}), "code": 201}, 201)

    async def _evict(self, call: ResourceRequest) -> ServerResponse:
        eviction = read_subresource_body(call.request, "policy", "v1", "Eviction")
        if (eviction.get("metadata") or {}).get("name") != call.info.name:
            raise bad_request("name in URL does not match name in Eviction object")
        options = delete_options(call.request, eviction.get("deleteOptions") or {})
        pod = await self._current(call)
        await self._evictions.admit(call, pod, dry_run=options.dry_run)
        operation = call.operation_with("update", write_defaults(options))
        if not options.dry_run:
            options = await self._evictions.mark(operation, options)
        await self._objects.deleter.delete(operation, options)
        return call.plain({**success({}), "code": 201}, 201)

    async def _log(self, call: ResourceRequest) -> ServerResponse:
        pod = await self._current(call)
        options = log_options(call.request, pod)
        if self._logs is None:
            raise StatusError(503, "ServiceUnavailable", "no node runs pods here, so there are no logs")
        return ServerResponse(200, await start_stream(self._logs.open(pod, options)), TEXT)

    # serviceaccounts

    async def _token(self, call: ResourceRequest) -> ServerResponse:
        spec = read_subresource_body(call.request, "authentication.k8s.io", "v1", "TokenRequest").get("spec") or {}
        account = await self._current(call)
        seconds = spec.get("expirationSeconds", 3600)
        if type(seconds) is not int or seconds < 600:
            problem = field_invalid(ROOT / "spec" / "expirationSeconds", seconds, _TOO_SHORT)
            raise invalid(ErrorSubject("", "authentication.k8s.io", kind="TokenRequest"), [problem])
        audiences = tuple(map(str, spec.get("audiences") or ()))
        bound_to = self._bound_object(call, spec.get("boundObjectRef"))
        token, end = self._accounts.issue(account, call.clock(), seconds, audiences, bound_to)
        status: dict[str, Json] = {"token": token, "expirationTimestamp": format_time(end)}
        filled = {**spec, "audiences": list(audiences or (DEFAULT_AUDIENCE,)), "expirationSeconds": seconds}
        metadata = {
            "name": call.info.name,
            "namespace": call.namespace,
            "uid": str(uuid4()),
            "creationTimestamp": format_time(call.clock()),
        }
        head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata}
        return call.plain({**head, "spec": filled, "status": status}, 201)

    def _bound_object(self, call: ResourceRequest, reference: Json) -> dict[str, str] | None:
        if not reference:
            return None
        kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
        if kind not in _BOUND_KINDS:
            raise bad_request(f"cannot bind token for serviceaccount to object of type {kind}")
        found = self._objects.reader.find(f"{kind.lower()}s", "" if kind == "Node" else call.namespace, name)
        if found is None:
            raise not_found(ErrorSubject(f"{kind.lower()}s", name=name))
        return {"kind": kind, "name": name, "uid": str(found.object["metadata"]["uid"])}
