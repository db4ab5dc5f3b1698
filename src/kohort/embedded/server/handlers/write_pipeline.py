"""Create, update and patch: one pipeline of steps from the request's object to storage.

An update is a function of the current state, so that a patch is recomputed after a conflict.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, invalid
from kohort.embedded.admission.attributes import AdmissionAttributes, Verb
from kohort.embedded.admission.chain import AdmissionChain
from kohort.embedded.auth.attributes import AuthorizationAttributes, denied
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.kinds.strategies import prepare_create, prepare_update
from kohort.embedded.kinds.validation.name_formats import IMMUTABLE
from kohort.embedded.managed_fields import reset_fields, track_update
from kohort.embedded.server.encoding.versions import EncodedObject, VersionConverter, rendered, with_type_meta
from kohort.embedded.server.handlers.get_list import error_subject
from kohort.embedded.server.registry import metadata
from kohort.embedded.server.registry.resource_strategy import ResourceStrategy
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import KeyExistsError, RevisionConflictError, Store, StoredObject
from kohort.kube.errors import MODIFIED, already_exists, conflict, not_found
from kohort.kube.errors import invalid as invalid_object

MAX_ATTEMPTS = 8
"""Attempts of a patch before the conflict is returned to the client."""
_MAX_NAME_ATTEMPTS = 8

Transform = Callable[[JsonObject], Awaitable[JsonObject]]
"""Computes the desired object from the current one."""

_CREATED_BY_UPDATE = frozenset(
    (
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "endpoints",
        "events",
        "leases.coordination.k8s.io",
        "limitranges",
        "rolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "services",
    )
)
_OPTION_KINDS: dict[Verb, str] = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}
_NEVER_UNCONDITIONAL = frozenset(
    (
        "apiservices.apiregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "leases.coordination.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "runtimeclasses.node.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    )
)


class WriteResult(NamedTuple):
    """Result of a write."""

    shown: EncodedObject
    is_new: bool = False


class WritePipeline:
    """Writes objects through defaulting, admission, validation and storage."""

    def __init__(
        self,
        store: Store,
        store_writer: StoreWriter,
        versions: VersionConverter,
        strategy: ResourceStrategy,
        admission: AdmissionChain,
        authorizer: RbacAuthorizer,
    ) -> None:
        self._store = store
        self._store_writer = store_writer
        self._versions = versions
        self._strategy = strategy
        self._admission = admission
        self._authorizer = authorizer

    # Create

    async def create(self, operation: WriteOperation, body: JsonObject) -> WriteResult:
        """Creates an object; regenerates a generated name that exists."""
        metadata.check_identity(operation, body)
        drawn = not (body.get("metadata") or {}).get("name") and (body.get("metadata") or {}).get("generateName")
        for _ in range(_MAX_NAME_ATTEMPTS if drawn else 1):
            new = await self._prepared_new(operation, body)
            attributes = self._attributes(operation, "CREATE", new, None)
            await self._admission.validate(attributes)
            try:
                return await self._store_new(operation, new, attributes)
            except KeyExistsError:
                taken = new["metadata"]["name"]
            finally:
                self._admission.settle(attributes)
        raise already_exists(error_subject(operation.resource, taken))

    async def create_missing(self, operation: WriteOperation, body: JsonObject) -> WriteResult:
        """Creates an object that an update or apply did not find; requires permission to create."""
        resource = operation.resource
        namespace = operation.name if resource.key == "namespaces" else operation.namespace
        requested = AuthorizationAttributes(
            "create", resource.group, resource.plural, operation.subresource, namespace, operation.name
        )
        decision = self._authorizer.decide(operation.user, requested)
        if not decision.allowed:
            raise denied(requested, operation.user, decision.reason)
        return await self.create(operation, body)

    async def _prepared_new(self, operation: WriteOperation, body: JsonObject) -> JsonObject:
        resource = operation.resource
        new = metadata.stamp_new(operation, body)
        new = self._strategy.default(resource, new)
        new = self._with_managed_fields(operation, None, new)
        new = await self._mutated(operation, "CREATE", new, None)
        new = self._strategy.completed(prepare_create(resource, new), None, operation)
        self._check(operation, new, None)
        return new

    async def _store_new(
        self, operation: WriteOperation, new: JsonObject, attributes: AdmissionAttributes
    ) -> WriteResult:
        stored = with_type_meta(operation.resource, await self._versions.stored(operation.resource, new))
        self._admission.confirm(attributes)
        key = operation.key(new["metadata"]["name"])
        if operation.options.dry_run:
            existing = self._store.get(key)
            if existing is not None:
                raise KeyExistsError(existing)
            return await self._shown(operation, rendered(stored), is_new=True)
        return await self._shown(operation, await self._store_writer.create(key, stored), is_new=True)

    # Update

    async def replace(self, operation: WriteOperation, body: JsonObject) -> WriteResult:
        """Replaces an object by the client's complete state."""
        metadata.check_name(operation.name, body)
        metadata.check_identity(operation, body)
        if self._store.get(operation.key()) is None and operation.resource.key in _CREATED_BY_UPDATE:
            return await self.create_missing(operation, body)

        async def wanted(_: JsonObject) -> JsonObject:
            return body

        return await self.update(operation, wanted)

    async def update(self, operation: WriteOperation, transform: Transform) -> WriteResult:
        """Updates an object by a function of its current state; retries on conflict."""
        for _ in range(MAX_ATTEMPTS):
            entry = self._store.get(operation.key())
            if entry is None:
                raise not_found(operation.error_subject)
            old = await self._versions.served_object(operation.resource, entry.object)
            wanted = await transform(old)
            self._check_identity(operation, old, wanted)
            new = await self._prepared_update(operation, old, wanted)
            attributes = self._attributes(operation, "UPDATE", new, old)
            await self._admission.validate(attributes)
            try:
                return await self._store_update(operation, entry, old, new)
            except RevisionConflictError as lost:
                if lost.current is None:
                    raise not_found(operation.error_subject) from None
                if _is_conditional(operation, wanted):
                    raise conflict(operation.error_subject, MODIFIED) from None
            finally:
                self._admission.settle(attributes)
        raise conflict(operation.error_subject, MODIFIED)

    def _check_identity(self, operation: WriteOperation, old: JsonObject, wanted: JsonObject) -> None:
        given, kept = wanted.get("metadata") or {}, old["metadata"]
        metadata.check_identity(operation, wanted)
        if given.get("uid") and given["uid"] != kept["uid"]:
            if operation.method == "patch":
                problem = invalid(ROOT / "metadata" / "uid", given["uid"], IMMUTABLE)
                raise invalid_object(operation.validation_subject(operation.name), [problem])
            why = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {kept['uid']}"
            raise conflict(operation.error_subject, why)
        version = given.get("resourceVersion") or ""
        if version and version != kept["resourceVersion"]:
            raise conflict(operation.error_subject, MODIFIED)
        if not version and not self._may_be_unconditional(operation):
            path = ROOT / "metadata" / "resourceVersion"
            subject = replace(operation.error_subject, kind=operation.resource.plural)
            raise invalid_object(subject, [invalid(path, 0, "must be specified for an update")])

    def _may_be_unconditional(self, operation: WriteOperation) -> bool:
        if operation.method != "update":
            return True
        return not operation.resource.is_custom and operation.resource.key not in _NEVER_UNCONDITIONAL

    async def _prepared_update(self, operation: WriteOperation, old: JsonObject, wanted: JsonObject) -> JsonObject:
        resource = operation.resource
        new = prepare_update(resource, metadata.carry_over(old, wanted), old, operation.subresource)
        new = self._strategy.default(resource, new)
        new = self._with_managed_fields(operation, old, new)
        new = await self._mutated(operation, "UPDATE", new, old)
        new = prepare_update(resource, metadata.carry_over(old, new), old, operation.subresource)
        new = self._strategy.completed(new, old, operation)
        self._check(operation, new, old)
        return new

    async def _store_update(
        self, operation: WriteOperation, entry: StoredObject, old: JsonObject, new: JsonObject
    ) -> WriteResult:
        stored = with_type_meta(operation.resource, await self._versions.stored(operation.resource, new))
        # An update through another version may look unchanged there and still drop fields of the storage version.
        before, after = (entry.object, stored) if operation.resource.is_custom else (old, new)
        if metadata.same_content(before, after):
            return await self._shown(operation, entry)
        if operation.options.dry_run:
            return await self._shown(operation, rendered(stored))
        if is_released(stored):
            await self._store_writer.delete(entry)
            return WriteResult(rendered(with_type_meta(operation.resource, new)))
        return await self._shown(operation, await self._store_writer.update(entry, stored))

    # Steps

    def _with_managed_fields(self, operation: WriteOperation, old: JsonObject | None, new: JsonObject) -> JsonObject:
        """The object with updated managed fields; apply sets them itself."""
        if operation.method == "apply":
            return new
        return track_update(
            old,
            new,
            operation.options.manager,
            "Update",
            operation.subresource,
            operation.resource.api_version,
            operation.resource.schema,
            operation.now,
            reset_fields(operation.resource, operation.subresource),
        )

    async def _mutated(
        self, operation: WriteOperation, verb: Verb, new: JsonObject, old: JsonObject | None
    ) -> JsonObject:
        changed = await self._admission.mutate(self._attributes(operation, verb, new, old))
        return new if changed is None else changed

    def _attributes(
        self, operation: WriteOperation, verb: Verb, new: JsonObject, old: JsonObject | None
    ) -> AdmissionAttributes:
        return AdmissionAttributes(
            verb,
            operation.resource,
            operation.namespace,
            new["metadata"].get("name", ""),
            operation.user,
            operation.subresource,
            new,
            old,
            operation.options.dry_run,
            operation.options.shown(_OPTION_KINDS[verb]),
            operation.warnings,
        )

    def _check(self, operation: WriteOperation, new: JsonObject, old: JsonObject | None) -> None:
        problems = metadata.update_problems(new, old) if old else []
        problems += self._strategy.problems(operation, new, old)
        if problems:
            raise invalid_object(operation.validation_subject(new["metadata"].get("name", "")), problems)

    async def _shown(self, operation: WriteOperation, stored: EncodedObject, *, is_new: bool = False) -> WriteResult:
        (shown,) = await self._versions.served(operation.resource, [stored])
        return WriteResult(shown, is_new)


def _is_conditional(operation: WriteOperation, wanted: JsonObject) -> bool:
    """Whether the client requires a resourceVersion; such a patch is not retried."""
    return operation.method == "update" and bool((wanted.get("metadata") or {}).get("resourceVersion"))


def is_released(found: JsonObject) -> bool:
    """Whether a terminating object has no finalizer and no grace period left."""
    kept = found["metadata"]
    if not kept.get("deletionTimestamp") or kept.get("finalizers"):
        return False
    if found["kind"] == "Namespace" and found["apiVersion"] == "v1":
        return not (found.get("spec") or {}).get("finalizers")
    return not kept.get("deletionGracePeriodSeconds")
