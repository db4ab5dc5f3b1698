"""Checks a single document: the rules of its kind, its errors, and the facts that later checks need."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kohort.api.codec import Json, from_json
from kohort.api.config import common as config
from kohort.api.config.parsing import parse_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.documents import Document
from kohort.api.errors import ApiError
from kohort.api.fields import ROOT, FieldError, Path
from kohort.api.gates import FeatureGates
from kohort.api.kueue import group as kueue
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.facts import ManifestFacts, kueue_facts, namespace_facts
from kohort.api.manifests.job_labels import job_label_errors
from kohort.api.manifests.known_kinds import is_known_kind
from kohort.api.manifests.kubernetes_objects import kubernetes_errors
from kohort.api.manifests.kueue_objects import judge, renamed_fields
from kohort.api.manifests.origins import Origin
from kohort.api.manifests.submissions import JOB_KINDS, submission_of
from kohort.api.meta import ObjectMeta
from kohort.api.objects import head_errors
from kohort.api.unsupported import Notice, notices, queue_field


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning about a single object."""

    path: Path
    code: WarningCode
    message: str


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of the check of a document."""

    errors: list[FieldError]
    remarks: list[Remark] = field(default_factory=list)
    facts: ManifestFacts | Configuration | None = None


def examine(document: Document, origin: Origin, gates: FeatureGates) -> Examined:
    """Checks a document by the rules of its kind."""
    unusable = head_errors(document.value)
    if unusable:
        return Examined(unusable)
    match origin.group:
        case kueue.GROUP:
            return _kueue_object(document, origin, gates)
        case config.GROUP:
            return _configuration(document.value)
    return _kubernetes_object(document, origin)


def _kueue_object(document: Document, origin: Origin, gates: FeatureGates) -> Examined:
    judged = judge(document.value, gates)
    if not judged.hub:
        return Examined(judged.errors)
    remarks = [_old_version(document.value, origin)] if origin.api_version != V1BETA2 else []
    return Examined(
        judged.errors, [*remarks, *_unsupported(notices(document.value))], _kept_facts(document, origin, judged.hub)
    )


def _kept_facts(document: Document, origin: Origin, hub: Json) -> ManifestFacts | None:
    try:
        return kueue_facts(document, origin, hub)
    except ApiError:
        # Any pod template is stored in a Workload, even an invalid one.
        return None


def _old_version(value: Json, origin: Origin) -> Remark:
    """W302: v1beta1 is served, but deprecated (API-2)."""
    renamed = renamed_fields(value)
    note = f"; renamed fields: {', '.join(renamed)}" if renamed else ""
    return Remark(
        ROOT / "apiVersion", WarningCode.OLD_VERSION, f"{origin.api_version} is deprecated; use {V1BETA2}{note}"
    )


def _configuration(value: Json) -> Examined:
    """A configuration of the manager; settings without effect are W303."""
    result = parse_configuration(value)
    remarks = [Remark(ROOT, WarningCode.IDLE_SETTING, text) for text in result.warnings]
    remarks += _unsupported(result.unsupported)
    return Examined(result.errors, remarks, None if result.errors else result.config)


def _unsupported(found: Iterable[Notice]) -> list[Remark]:
    """W401: features that this version of Kohort accepts and does not support."""
    return [Remark(notice.path, WarningCode.NOT_SUPPORTED, notice.message) for notice in found]


def _kubernetes_object(document: Document, origin: Origin) -> Examined:
    value = document.value
    errors = kubernetes_errors(value)
    if errors:
        return Examined(errors)
    metadata = from_json(value.get("metadata") or {}, ObjectMeta)
    if (origin.api_version, origin.kind) == ("v1", "Namespace"):
        return Examined([], facts=namespace_facts(origin, metadata.labels))
    errors = job_label_errors(metadata) if (origin.group, origin.kind) in JOB_KINDS else []
    remarks = _unsupported(notices(value))
    if not is_known_kind(origin.group, origin.kind) and (origin.group, origin.kind) not in JOB_KINDS:
        remarks.append(_unknown_kind(value, origin))
    return Examined(errors, remarks, submission_of(document, origin))


def _unknown_kind(value: Json, origin: Origin) -> Remark:
    """W402: only the metadata of such an object is checked."""
    message = f"unknown kind {origin.kind} in {origin.api_version}, only its metadata was checked"
    path = queue_field(value)
    if path is None:
        return Remark(ROOT / "kind", WarningCode.UNKNOWN_KIND, message)
    unqueued = "no Workload is created for it unless integrations.externalFrameworks or an installed framework has it"
    return Remark(path, WarningCode.UNKNOWN_KIND, f"{message}; {unqueued}")
