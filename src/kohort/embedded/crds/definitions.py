"""Validation of CustomResourceDefinitions: names, versions, columns, subresources, conversion.

`structure` validates their schemas.
"""

import re
from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import ROOT, FieldError, Path, duplicate, forbidden, invalid, not_supported, required
from kohort.api.names import check_dns1035_label, check_subdomain
from kohort.embedded.crds.conversion import REVIEW_VERSIONS
from kohort.embedded.crds.establishing import is_established
from kohort.embedded.crds.keywords import SchemaErrors
from kohort.embedded.crds.ratcheting import below
from kohort.embedded.crds.structure import structure_problems

_Members = Mapping[str, Any]

SPEC = ROOT / "spec"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SIMPLE_PATH = re.compile(r"(\.[a-zA-Z_][a-zA-Z0-9_-]*)+")
_IMMUTABLE = "field is immutable"


def validate_crd(crd: _Members, old: _Members | None = None) -> list[FieldError]:
    """Validation errors of a (defaulted) definition, or of its update."""
    spec = crd.get("spec") or {}
    found = [*_spec_problems(crd, spec), *_version_problems(spec), *_schema_problems(spec)]
    if old is not None:
        found += [*_change_problems(spec, old), *_stored_problems(crd)]
    return found


def _spec_problems(crd: _Members, spec: _Members) -> SchemaErrors:
    names = spec.get("names") or {}
    if (crd.get("metadata") or {}).get("name") != f"{names.get('plural', '')}.{spec.get('group', '')}":
        name = (crd.get("metadata") or {}).get("name", "")
        yield invalid(ROOT / "metadata" / "name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group_problems(str(spec.get("group") or ""))
    if not spec.get("scope"):
        yield required(SPEC / "scope", "")
    elif spec["scope"] not in ("Cluster", "Namespaced"):
        yield not_supported(SPEC / "scope", spec["scope"], ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        remedy = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid(SPEC / "preserveUnknownFields", value=True, detail=f"cannot set to true, {remedy}")
    yield from _name_problems(names)
    yield from _conversion_problems(spec.get("conversion") or {})


def _group_problems(group: str) -> SchemaErrors:
    path = SPEC / "group"
    if not group:
        yield required(path, "")
    elif problem := check_subdomain(group):
        yield invalid(path, group, problem)
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def _name_problems(names: _Members) -> SchemaErrors:
    path = SPEC / "names"
    for part in ("plural", "singular", "kind", "listKind"):
        text = str(names.get(part) or "")
        mixed = "may have mixed case, but should otherwise match: " if part in ("kind", "listKind") else ""
        if not text:
            yield required(path / part, "")
        elif problem := check_dns1035_label(text.lower() if mixed else text):
            yield invalid(path / part, text, mixed + problem)
    for part in ("shortNames", "categories"):
        for index, text in enumerate(names.get(part) or ()):
            if problem := check_dns1035_label(str(text)):
                yield invalid((path / part)[index], text, problem)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid(path / "listKind", names["listKind"], "kind and listKind may not be the same")


# Conversion


def _conversion_problems(conversion: _Members) -> SchemaErrors:
    path, strategy = SPEC / "conversion", str(conversion.get("strategy") or "")
    if not strategy:
        yield required(path / "strategy", "")
    elif strategy not in ("None", "Webhook"):
        yield not_supported(path / "strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook")
    if strategy == "Webhook":
        yield from _webhook_problems(webhook or {}, path / "webhook")
    elif webhook is not None:
        yield forbidden(path / "webhook", "should not be set when strategy is not set to Webhook")


def _webhook_problems(webhook: _Members, path: Path) -> SchemaErrors:
    client = webhook.get("clientConfig")
    if client is None:
        yield required(path / "clientConfig", "required when strategy is set to Webhook")
    elif bool(client.get("url")) == bool(client.get("service")):
        yield required(path / "clientConfig", "exactly one of url or service is required")
    versions = webhook.get("conversionReviewVersions") or ()
    if not versions:
        yield required(path / "conversionReviewVersions", "")
    elif not any(each in REVIEW_VERSIONS for each in versions):
        known = ", ".join(REVIEW_VERSIONS)
        yield invalid(path / "conversionReviewVersions", list(versions), f"must include at least one of {known}")


# Versions


def _version_problems(spec: _Members) -> SchemaErrors:
    versions, path = spec.get("versions") or (), SPEC / "versions"
    names = [str(each.get("name") or "") for each in versions]
    if len(set(names)) < len(names):
        yield invalid(path, names, "must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        yield invalid(path, names, "must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        if problem := check_dns1035_label(names[index]):
            yield invalid(path[index] / "name", names[index], problem)
        if version.get("deprecationWarning") and not version.get("deprecated"):
            detail = "can only be set for deprecated versions"
            yield invalid(path[index] / "deprecationWarning", version["deprecationWarning"], detail)
        yield from _column_problems(version, path[index] / "additionalPrinterColumns")
        yield from _scale_problems(version, path[index] / "subresources")
        yield from _selectable_problems(version, path[index] / "selectableFields")


def _column_problems(version: _Members, path: Path) -> SchemaErrors:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        place = path[index]
        if not column.get("name"):
            yield required(place / "name", "")
        if not column.get("type"):
            yield required(place / "type", f"must be one of {','.join(_COLUMN_TYPES)}")
        elif column["type"] not in _COLUMN_TYPES:
            yield invalid(place / "type", column["type"], f"must be one of {','.join(_COLUMN_TYPES)}")
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            yield invalid(place / "format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column.get("jsonPath"):
            yield required(place / "jsonPath", "")
        elif not str(column["jsonPath"]).startswith("."):
            yield invalid(place / "jsonPath", column["jsonPath"], "must be a simple json path starting with .")


def _scale_problems(version: _Members, path: Path) -> SchemaErrors:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for name, roots, is_required in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        given = str(scale.get(name) or "")
        if not given and is_required:
            yield required(path / f"scale.{name}", "")
        elif given and not _SIMPLE_PATH.fullmatch(given):
            yield invalid(path / f"scale.{name}", given, "must be a json path in the dot notation")
        elif given and not given.startswith(roots):
            where = " or ".join(root.rstrip(".") for root in roots)
            yield invalid(path / f"scale.{name}", given, f"should be a json path under {where}")


def _selectable_problems(version: _Members, path: Path) -> SchemaErrors:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, each in enumerate(version.get("selectableFields") or ()):
        place, given = path[index] / "jsonPath", str(each.get("jsonPath") or "")
        if not given:
            yield required(place, "")
        elif problem := _selectable_problem(given, schema):
            yield invalid(place, given, problem)
        elif given in seen:
            yield duplicate(place, given, "")
        seen.add(given)


def _selectable_problem(path: str, schema: _Members) -> str:
    if not _SIMPLE_PATH.fullmatch(path):
        return "is an invalid path: must be a simple json path"
    if path.split(".")[1] == "metadata":
        return "must not point to fields in metadata"
    for name in path.split(".")[1:]:
        if name not in (schema.get("properties") or {}):
            return "is an invalid path: does not refer to a valid field"
        schema = below(schema, name)
    if schema.get("type") not in ("string", "boolean", "integer"):
        return (
            "must point to a field of type string, boolean or integer. "
            "Enum string fields and strings with formats are allowed."
        )
    return ""


# Schemas


def _schema_problems(spec: _Members) -> SchemaErrors:
    """Errors of schemas; those of a schema shared by all versions are reported once, as in kube-apiserver."""
    schemas: list[Json] = [(each.get("schema") or {}).get("openAPIV3Schema") for each in spec.get("versions") or ()]
    if not schemas:
        return
    if all(each == schemas[0] for each in schemas):
        if schemas[0] is None:
            yield required((SPEC / "versions")[0] / "schema" / "openAPIV3Schema", "schemas are required")
        else:
            yield from structure_problems(schemas[0], SPEC / "validation" / "openAPIV3Schema")
        return
    for index, schema in enumerate(schemas):
        path = (SPEC / "versions")[index] / "schema" / "openAPIV3Schema"
        if schema is None:
            yield required(path, "schemas are required")
        else:
            yield from structure_problems(schema, path)


# Changes


def _change_problems(spec: _Members, old: _Members) -> SchemaErrors:
    former, names = old["spec"], spec.get("names") or {}
    if spec.get("group") != former["group"]:
        yield invalid(SPEC / "group", spec.get("group"), _IMMUTABLE)
    if names.get("plural") != former["names"]["plural"]:
        yield invalid(SPEC / "names" / "plural", names.get("plural"), _IMMUTABLE)
    if is_established(old):
        if spec.get("scope") != former["scope"]:
            yield invalid(SPEC / "scope", spec.get("scope"), _IMMUTABLE)
        if names.get("kind") != former["names"]["kind"]:
            yield invalid(SPEC / "names" / "kind", names.get("kind"), _IMMUTABLE)


def _stored_problems(crd: _Members) -> SchemaErrors:
    known = {each.get("name") for each in crd["spec"].get("versions") or ()}
    path = ROOT / "status" / "storedVersions"
    for index, name in enumerate((crd.get("status") or {}).get("storedVersions") or ()):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(path[index], name, detail)
