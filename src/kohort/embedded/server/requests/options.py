"""Query parameters of reads, writes and deletes, parsed and validated with kube-apiserver's errors."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kohort.api.codec import Json
from kohort.api.fields import ROOT, ErrorKind, FieldError, forbidden, not_supported, required
from kohort.api.fields import invalid as field_invalid
from kohort.api.selector_text import FieldSelector, parse_field_selector, parse_label_selector
from kohort.api.selectors import EVERYTHING, Selector, SelectorError
from kohort.embedded.managed_fields import manager_of, validate_manager
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.kube.errors import ErrorSubject, StatusError, bad_request, invalid

FieldValidationDirective = Literal["Strict", "Warn", "Ignore"]
_FIELD_VALIDATIONS: tuple[FieldValidationDirective, ...] = ("Ignore", "Strict", "Warn")
_PROPAGATIONS = ("Foreground", "Background", "Orphan")
_MATCHES = ("Exact", "NotOlderThan")
ALL_FIELDS = FieldSelector(())
_GROUP_VERSION = "meta.k8s.io/v1"
_INTEGER = re.compile("[+-]?[0-9]+")
_INT64 = 2**63
_MAX_DIGITS = 1024
"""Leading zeros are allowed, up to this many digits."""


class _Shown:
    """A value that errors show without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of a list or watch."""

    labels: Selector = EVERYTHING
    fields: FieldSelector = ALL_FIELDS
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    version_match: str = ""
    timeout: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None

    @property
    def revision(self) -> int | None:
        """The requested revision; None for the current one."""
        return int(self.resource_version) if self.resource_version not in ("", "0") else None


def list_options(request: ServerRequest) -> ListOptions:
    """Parses the options of a list, watch or deletecollection."""
    options = ListOptions(
        _labels(request.parameter("labelSelector")),
        _fields(request.parameter("fieldSelector")),
        limit=max(0, _number(request, "limit") or 0),
        continue_token=request.parameter("continue"),
        resource_version=_resource_version(request),
        version_match=request.parameter("resourceVersionMatch"),
        timeout=_number(request, "timeoutSeconds"),
        bookmarks=request.flag("allowWatchBookmarks"),
        initial_events=request.flag("sendInitialEvents") if request.parameter("sendInitialEvents") else None,
    )
    problems = _list_problems(options, request)
    if problems:
        raise invalid(ErrorSubject("", "meta.k8s.io", kind="ListOptions"), problems)
    return options


def _labels(text: str) -> Selector:
    try:
        return parse_label_selector(text)
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


def _fields(text: str) -> FieldSelector:
    try:
        return parse_field_selector(text)
    except SelectorError:
        raise bad_request(f"invalid selector: '{text[:256]}'; can't understand '{text[:256]}'") from None


def _list_problems(options: ListOptions, request: ServerRequest) -> list[FieldError]:
    match, watching = ROOT / "resourceVersionMatch", request.flag("watch")
    if options.initial_events is not None and not watching:
        return [forbidden(ROOT / "sendInitialEvents", "sendInitialEvents is forbidden for list")]
    if options.initial_events is not None and options.version_match != "NotOlderThan":
        return [forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")]
    if not options.version_match:
        return []
    if watching and options.initial_events is None:
        problem = forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        if options.version_match == "NotOlderThan":
            return [problem]
        return [problem, not_supported(match, options.version_match, ("NotOlderThan",))]
    if options.version_match not in _MATCHES:
        return [not_supported(match, options.version_match, (*_MATCHES, ""))]
    if options.continue_token:
        return [forbidden(match, "resourceVersionMatch is forbidden when continue is provided")]
    if not options.resource_version and not watching:
        return [forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided")]
    if options.version_match == "Exact" and options.resource_version == "0":
        return [forbidden(match, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
    return []


def _number(request: ServerRequest, name: str) -> int | None:
    text = request.parameter(name)
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text[:64]}": invalid syntax')
    if len(text) > _MAX_DIGITS or not -_INT64 <= int(text) < _INT64:
        raise bad_request(f'strconv.ParseInt: parsing "{text[:64]}": value out of range')
    return int(text)


def _resource_version(request: ServerRequest) -> str:
    text = request.parameter("resourceVersion")
    if text and (not text.isascii() or not text.isdigit() or len(text) > 19):
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text[:64]}": '
            f'strconv.ParseUint: parsing "{text[:64]}": invalid syntax'
        )
    return text


@dataclass(frozen=True, slots=True)
class WriteRequestOptions:
    """Options of a create, update or patch."""

    dry_run: bool = False
    manager: str = "unknown"
    field_validation: FieldValidationDirective = "Warn"
    force: bool = False
    given: Mapping[str, Json] = field(default_factory=dict)
    """The options that the client set, under their API names."""

    def shown(self, kind: str) -> dict[str, Json]:
        """As webhooks see it: a patch has UpdateOptions, or CreateOptions if it creates."""
        return {"kind": kind, "apiVersion": _GROUP_VERSION, **self.given}


def write_options(request: ServerRequest, kind: str) -> WriteRequestOptions:
    """Parses the options of a create, update or patch; `kind` names them in errors, e.g. `PatchOptions`."""
    problems = _dry_run_problems(request.parameters("dryRun"))
    validation = request.parameter("fieldValidation") or "Warn"
    if validation not in _FIELD_VALIDATIONS:
        problems.append(not_supported(ROOT / "fieldValidation", validation, ("", *_FIELD_VALIDATIONS)))
    manager = request.parameter("fieldManager")
    problems += validate_manager(manager, ROOT / "fieldManager")
    problems += _force_problems(request, kind)
    if problems:
        raise _invalid_options(kind, problems)
    return WriteRequestOptions(
        dry_run=bool(request.parameters("dryRun")),
        manager=manager or manager_of(request.headers.get("User-Agent", "")) or "unknown",
        field_validation=next(each for each in _FIELD_VALIDATIONS if each == validation),
        force=request.flag("force"),
        given=_given(request),
    )


def _given(request: ServerRequest) -> dict[str, Json]:
    dry_run = request.parameters("dryRun")
    texts = {name: request.parameter(name) for name in ("fieldManager", "fieldValidation")}
    return {**({"dryRun": dry_run} if dry_run else {}), **{name: text for name, text in texts.items() if text}}


APPLY_TYPES = ("application/apply-patch+yaml", "application/apply-patch+cbor")


def _force_problems(request: ServerRequest, kind: str) -> list[FieldError]:
    if kind != "PatchOptions":
        return []
    if request.content_type in APPLY_TYPES:
        if not request.parameter("fieldManager"):
            return [required(ROOT / "fieldManager", "is required for apply patch")]
        return []
    if request.parameter("force"):
        return [forbidden(ROOT / "force", "may not be specified for non-apply patch")]
    return []


def _dry_run_problems(values: list[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    shown = "[" + " ".join(f'"{value}"' for value in values) + "]"
    return [FieldError(ROOT / "dryRun", ErrorKind.NOT_SUPPORTED, 'supported values: "All"', _Shown(shown))]


def _invalid_options(kind: str, problems: list[FieldError]) -> StatusError:
    return invalid(ErrorSubject("", "meta.k8s.io", kind=kind), problems)


@dataclass(frozen=True, slots=True)
class DeleteRequestOptions:
    """Options of a delete."""

    grace_period: int | None = None
    propagation: str = ""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    given: Mapping[str, Json] = field(default_factory=dict)
    """The options that the client set, under their API names."""

    def shown(self, **effective: Json) -> dict[str, Json]:
        """As webhooks see it, with the server's defaults."""
        return {"kind": "DeleteOptions", "apiVersion": _GROUP_VERSION, **self.given, **effective}


def delete_options(request: ServerRequest, body: Mapping[str, Json]) -> DeleteRequestOptions:
    """Parses the options of a delete, from the body or else from the query."""
    options = _delete_body(body) if body else _delete_query(request)
    problems = _dry_run_problems(_texts(body.get("dryRun")) or request.parameters("dryRun"))
    if options.propagation and options.propagation not in _PROPAGATIONS:
        problems.append(not_supported(ROOT / "propagationPolicy", options.propagation, (*_PROPAGATIONS, "nil")))
    if _gives_both(request, body):
        why = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(field_invalid(ROOT / "propagationPolicy", options.propagation, why))
    if problems:
        raise _invalid_options("DeleteOptions", problems)
    dry = bool(_texts(body.get("dryRun")) or request.parameters("dryRun"))
    return replace(options, dry_run=dry)


_DELETE_MEMBERS = ("gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun")


def _gives_both(request: ServerRequest, body: Mapping[str, Json]) -> bool:
    if body.get("orphanDependents") is not None:
        return bool(body.get("propagationPolicy"))
    return bool(request.parameter("orphanDependents") and request.parameter("propagationPolicy"))


def _delete_query(request: ServerRequest) -> DeleteRequestOptions:
    grace = _number(request, "gracePeriodSeconds")
    given: dict[str, Json] = {} if grace is None else {"gracePeriodSeconds": grace}
    if request.parameter("propagationPolicy"):
        given["propagationPolicy"] = request.parameter("propagationPolicy")
    if request.parameter("orphanDependents"):
        given["orphanDependents"] = request.flag("orphanDependents")
    if request.parameters("dryRun"):
        given["dryRun"] = request.parameters("dryRun")
    return DeleteRequestOptions(
        grace_period=grace,
        propagation=request.parameter("propagationPolicy")
        or _legacy_propagation(request.parameter("orphanDependents")),
        given=given,
    )


def _legacy_propagation(orphan: str) -> str:
    if not orphan:
        return ""
    return "Orphan" if orphan.lower() == "true" else "Background"


def _delete_body(body: Mapping[str, Json]) -> DeleteRequestOptions:
    preconditions = body.get("preconditions") or {}
    grace, orphan = body.get("gracePeriodSeconds"), body.get("orphanDependents")
    if not isinstance(preconditions, dict) or not (grace is None or type(grace) is int):
        raise bad_request("DeleteOptions: gracePeriodSeconds must be a number and preconditions an object")
    return DeleteRequestOptions(
        grace_period=grace,
        propagation=str(body.get("propagationPolicy") or "")
        or _legacy_propagation("" if orphan is None else str(orphan)),
        uid=str(preconditions.get("uid") or ""),
        resource_version=str(preconditions.get("resourceVersion") or ""),
        given={name: body[name] for name in _DELETE_MEMBERS if body.get(name) not in (None, "", [])},
    )


def _texts(value: Json) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
