"""Resource strategies: decoding, defaulting, completion and validation of built-in and custom resources."""

from collections.abc import Callable, Sequence

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError
from kohort.embedded.admission.policies import POLICIES
from kohort.embedded.crds import default_crd, validate_crd
from kohort.embedded.kinds.defaults import apply_defaults
from kohort.embedded.kinds.reading import read_object, strict_error
from kohort.embedded.kinds.validation import validate
from kohort.embedded.policies import policy_problems
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.aggregation.aggregator import API_SERVICES, api_service_problems
from kohort.embedded.server.registry.custom_strategy import custom_problems, default_custom, read_custom
from kohort.embedded.server.registry.resource_catalog import CRDS
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.kube.errors import StatusError, bad_request

_Check = Callable[[JsonObject, JsonObject | None], list[FieldError]]
Completion = Callable[[JsonObject, JsonObject | None, WriteOperation], JsonObject]
"""Sets server-owned fields of an object before it is stored; the old object is None on create."""


class ResourceStrategy:
    """Dispatches to the strategy of built-in kinds or of custom resources."""

    def __init__(self) -> None:
        self._completions: dict[str, Completion] = {}
        self._checks: dict[str, _Check] = {
            API_SERVICES: api_service_problems,
            CRDS: validate_crd,
            POLICIES: _policy_problems,
        }

    def complete_with(self, resource: str, completion: Completion) -> None:
        """Registers a completion for a resource."""
        self._completions[resource] = completion

    def read(
        self,
        operation: WriteOperation,
        found: JsonObject,
        former: JsonObject | None = None,
        duplicates: Sequence[str] = (),
    ) -> JsonObject:
        """Decodes the object for its kind; unknown fields are dropped, reported or rejected by field validation."""
        with_type_meta = _with_type_meta(operation.resource, found)
        if operation.resource.is_custom:
            known, unknown = read_custom(operation.resource, with_type_meta)
        else:
            read = read_object(operation.resource, with_type_meta, former or {})
            known, unknown = read.object, read.unknown
        self._report_unknown_fields(operation, (*duplicates, *unknown))
        return known

    def configuration(self, operation: WriteOperation, found: JsonObject) -> JsonObject:
        """The applied configuration, decoded without defaults."""
        with_type_meta = _with_type_meta(operation.resource, found)
        if not operation.resource.is_custom:
            read = read_object(operation.resource, with_type_meta)
            if read.unknown:
                raise _untyped(operation, read.unknown)
            return read.object
        self._report_unknown_fields(operation, read_custom(operation.resource, with_type_meta)[1])
        return with_type_meta

    def _report_unknown_fields(self, operation: WriteOperation, unknown: tuple[str, ...]) -> None:
        if not unknown:
            return
        if operation.options.field_validation == "Strict":
            raise strict_error(operation.resource, unknown)
        if operation.options.field_validation == "Warn":
            operation.warnings.extend(text for text in unknown if text not in operation.warnings)

    def default(self, resource: ServedResource, found: JsonObject) -> JsonObject:
        """The object with the defaults of its kind."""
        if resource.is_custom:
            return default_custom(resource, found)
        filled = apply_defaults(resource, found)
        return default_crd(filled) if resource.key == CRDS and found.get("spec") else filled

    def completed(self, new: JsonObject, old: JsonObject | None, operation: WriteOperation) -> JsonObject:
        """The object with its server-owned fields."""
        completion = self._completions.get(operation.resource.key)
        return completion(new, old, operation) if completion else new

    def problems(self, operation: WriteOperation, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validation errors of the object."""
        if operation.resource.is_custom:
            return custom_problems(operation, new, old)
        further = self._checks.get(operation.resource.key)
        if old is not None and operation.subresource == "binding":
            old = _with_node_of(old, new)
        found = validate(operation.resource, new, old)
        return [*found, *further(new, old)] if further else found


def _with_node_of(pod: JsonObject, bound: JsonObject) -> JsonObject:
    """The old pod with the node of a binding, since validation forbids any other change of nodeName."""
    return {**pod, "spec": {**pod["spec"], "nodeName": bound["spec"]["nodeName"]}}


def _policy_problems(new: JsonObject, _: JsonObject | None) -> list[FieldError]:
    return policy_problems(new)


def _untyped(operation: WriteOperation, unknown: Sequence[str]) -> StatusError:
    """Errors for fields without schema: they cannot be owned, so apply rejects them under any field validation."""
    resource = operation.resource
    paths = [text.removeprefix('unknown field "').removesuffix('"') for text in unknown]
    lines = [f".{path}: field not declared in schema" for path in paths]
    why = lines[0] if len(lines) == 1 else "errors:\n  " + "\n  ".join(lines)
    where = f"{operation.namespace}/{operation.name}; {resource.group}/{resource.version}, Kind={resource.kind}"
    return StatusError(500, "", f"failed to create typed patch object ({where}): {why}")


def _with_type_meta(resource: ServedResource, found: JsonObject) -> JsonObject:
    """The object with kind and apiVersion, which clients may omit but must not get wrong."""
    version, kind = found.get("apiVersion") or "", found.get("kind") or ""
    if version and version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if kind and kind != resource.kind:
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"the kind in the data ({kind}) does not match the expected kind ({resource.kind})"
        )
    metadata = found.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    return {**found, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata or {}}
