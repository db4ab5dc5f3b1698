"""Patch types by content type."""

from enum import Enum

from kohort.kube.errors import unsupported_media_type


class PatchKind(Enum):
    """A patch type; the value is its media type, in kube-apiserver's order."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"

    @classmethod
    def from_content_type(cls, header: str, accepted: "tuple[PatchKind, ...] | None" = None) -> "PatchKind":
        """The patch type of a Content-Type, if the resource supports it; parameters are ignored."""
        forms = tuple(cls) if accepted is None else accepted
        media_type = header.partition(";")[0].strip()
        for form in forms:
            if form.value == media_type:
                return form
        listed = ", ".join(form.value for form in forms)
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )


CUSTOM_RESOURCE_PATCHES = (PatchKind.JSON, PatchKind.MERGE, PatchKind.APPLY)
"""Patch types of custom resources, which have no strategic merge patch."""
