"""Rows of storage: volumes, claims and classes."""

from datetime import datetime
from typing import Any

from kohort.api.codec import JsonMapping
from kohort.embedded.tables.cells import (
    UNSET,
    Cells,
    TableLayout,
    age,
    default_marked,
    dig,
    is_deleted,
    layout,
    name_of,
)

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _phase(obj: JsonMapping) -> str:
    return "Terminating" if is_deleted(obj) else dig(obj, "status", "phase") or ""


def _volume(obj: JsonMapping, now: datetime) -> Cells:
    spec, claim = obj.get("spec") or {}, dig(obj, "spec", "claimRef")
    return (
        name_of(obj),
        dig(spec, "capacity", "storage") or "0",
        _access(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        dig(obj, "status", "reason") or "",
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    )


def _claim(obj: JsonMapping, now: datetime) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    is_bound = bool(spec.get("volumeName"))
    return (
        name_of(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        dig(status, "capacity", "storage") or "0" if is_bound else "",
        _access(status.get("accessModes")) if is_bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    )


def _storage_class(obj: JsonMapping, now: datetime) -> Cells:
    return (
        default_marked(obj, "storageclass.kubernetes.io/is-default-class"),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    )


STORAGE: dict[str, TableLayout] = {
    "persistentvolumeclaims": layout(
        "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode+", _claim
    ),
    "persistentvolumes": layout(
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age"
        "|VolumeMode+",
        _volume,
    ),
    "storageclasses.storage.k8s.io": layout(
        "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", _storage_class
    ),
}
