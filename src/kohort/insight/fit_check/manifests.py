"""Snapshots from manifests, or with manifests applied to a snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kohort.api.codec import Json, from_json
from kohort.api.core.namespaces import Namespace
from kohort.api.documents import Document
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.v1beta2 import LocalQueue, Workload
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.resource import Resource
from kohort.controllers.devices.claims import TEMPLATES
from kohort.insight.fit_check.reads import ALSO_READ
from kohort.insight.listing import KindListing, ListedKind, ManifestKind, kind_of, listed_resource
from kohort.insight.snapshot import DECIDING, NAME_LABEL, Snapshot
from kohort.jobs.registry import group_kind

_KINDS: Final[tuple[ManifestKind, ...]] = (*DECIDING, *ALSO_READ, TEMPLATES)
KNOWN: Final[Mapping[tuple[str, str], ManifestKind]] = {
    (listed_resource(kind).group, listed_resource(kind).kind): kind for kind in _KINDS
}
"""Kinds that decisions depend on."""


def split(documents: Iterable[Document]) -> tuple[list[Document], list[Document]]:
    """Documents that describe the cluster, and those to be evaluated; Lists are expanded."""
    flat = [each for document in documents for each in _unpacked(document)]
    cluster = [each for each in flat if _kind_in(each) not in (None, Workload)]
    return cluster, [each for each in flat if _kind_in(each) in (None, Workload)]


def offline(documents: Sequence[Document], now: datetime) -> Snapshot:
    """A snapshot that consists of manifests only, including Workloads."""
    empty = Snapshot(now, {kind: KindListing() for kind in (*DECIDING, *ALSO_READ)})
    flat = [each for document in documents for each in _unpacked(document)]
    return with_manifests(empty, [each for each in flat if _kind_in(each) is not None])


def with_manifests(snapshot: Snapshot, documents: Iterable[Document]) -> Snapshot:
    """The snapshot with these objects applied."""
    found: dict[ListedKind, KindListing] = dict(snapshot.found)
    for document in documents:
        kind, obj = _object(document)
        key, known = kind_of(kind).identity(obj).key, found.get(kind, KindListing())
        found[kind] = KindListing({**known.objects, key: obj}, known.unseen, known.unreadable)
    found[Namespace] = _with_namespaces(found)
    return Snapshot(snapshot.taken, found, snapshot.rules)


def _with_namespaces(found: Mapping[ListedKind, KindListing]) -> KindListing:
    """Namespaces, including those that are referenced without a manifest."""
    read = found[Namespace]
    named = {key.namespace for kind in (LocalQueue, Workload) for key in found[kind].objects}
    missing = {name for name in named if name and ObjectKey("", name) not in read.objects}
    made = {
        ObjectKey("", name): Namespace(metadata=ObjectMeta(name=name, labels={NAME_LABEL: name})) for name in missing
    }
    return KindListing({**read.objects, **made}, read.unseen, read.unreadable)


def _unpacked(document: Document) -> list[Document]:
    value = document.value
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        return [Document(each, document.file, document.place) for each in value["items"]]
    return [document]


def _kind_in(document: Document) -> ManifestKind | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    return KNOWN.get(group_kind(str(value.get("apiVersion", "")), str(value.get("kind", ""))))


def _object(document: Document) -> tuple[ManifestKind, Any]:
    kind, value = _kind_in(document), document.value
    if kind is None:
        raise ApiError(
            f"{document.file}:{document.line}: unsupported kind {value.get('kind')} in the description of a cluster"
        )
    try:
        placed = _placed(value, kind)
        return kind, placed if isinstance(kind, Resource) else from_json(placed, kind)
    except DecodeError as error:
        raise ApiError(f"{document.file}:{document.line}: invalid {listed_resource(kind).kind}: {error}") from None


def _placed(value: Json, kind: ManifestKind) -> Json:
    """The object in version v1beta2, with the default namespace if it has none."""
    resource = listed_resource(kind)
    current = convert(value, V1BETA2) if resource.group == GROUP else value
    head = dict(current.get("metadata") or {})
    if resource.namespaced:
        head["namespace"] = head.get("namespace") or "default"
    return {**current, "metadata": head}
