"""The four forms of a patch, told apart by the request's content type alone."""

from enum import Enum

from kohort.kube.errors import unsupported_media_type


class PatchKind(Enum):
    """A form of patch; the value is its media type. The order is the one in which servers list them."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"

    @classmethod
    def from_content_type(cls, header: str, accepted: "tuple[PatchKind, ...] | None" = None) -> "PatchKind":
        """The form that a Content-Type names, if the resource takes it; parameters such as charset do not matter."""
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
"""What custom resources take: nobody told how to merge their lists strategically."""
