"""Kind information of v1beta1, derived from v1beta2."""

from dataclasses import replace

from kohort.api.kinds import CustomObject, KindInfo, PrinterColumn
from kohort.api.kueue.group import deprecated_for_v1beta2


def like(sibling: type[CustomObject], columns: tuple[PrinterColumn, ...] | None = None) -> KindInfo:
    """The information of the v1beta2 kind in this version: served, deprecated, not stored (API-1, API-2)."""
    info = sibling.info
    return replace(
        info,
        resource=replace(info.resource, version="v1beta1"),
        is_storage=False,
        deprecation=deprecated_for_v1beta2(info.resource.kind),
        selectable_fields=(),
        columns=info.columns if columns is None else columns,
    )
