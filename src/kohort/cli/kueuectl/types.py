"""Parses `TYPE[.GROUP]/NAME` and resolves the resource: known types directly, others by discovery."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from kohort.api.core import views
from kohort.api.errors import ApiError
from kohort.api.resource import Resource
from kohort.cli.targets import KINDS
from kohort.kube.client import Client


class TypeNameError(ApiError):
    """An invalid or unknown `TYPE[.GROUP]/NAME`."""


@dataclass(frozen=True, slots=True)
class TypedName:
    """A type with optional group, and a name."""

    type: str
    group: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "TypedName":
        """Parse `job/a` or `jobs.batch/a`; raises TypeNameError."""
        parts = text.split("/")
        if len(parts) != 2 or not all(parts):
            raise TypeNameError(f"--for {text!r}: use TYPE[.GROUP]/NAME, e.g. job/train or jobs.batch/train")
        type_, _, group = parts[0].lower().partition(".")
        return cls(type_, group, parts[1])

    async def resource(self, client: Client) -> Resource:
        """The resource of the type; raises TypeNameError."""
        known = KINDS.get(self.type)
        if known is not None and self.group in ("", known.group):
            return known
        for view in views():
            resource = view.resource
            if self.group in ("", resource.group) and self.type in (resource.plural, resource.kind.lower()):
                return resource
        async for resource, names in _served(client, self.group):
            if self.type in names:
                return resource
        shown = f"{self.type}.{self.group}" if self.group else self.type
        raise TypeNameError(f"--for {shown}/{self.name}: the server has no resource type {shown!r}")


async def _served(client: Client, group: str) -> AsyncIterator[tuple[Resource, set[str]]]:
    """Resources of the preferred version of a group, or of all groups, with their names."""
    listed = (await client.get_json("/apis")).get("groups") or ()
    for each in listed:
        if group not in ("", each["name"]):
            continue
        api_version = each["preferredVersion"]["groupVersion"]
        served = await client.get_json(f"/apis/{api_version}")
        for entry in served.get("resources") or ():
            if "/" in entry["name"]:
                continue
            version = api_version.rpartition("/")[2]
            resource = Resource(each["name"], version, entry["kind"], entry["name"], namespaced=entry["namespaced"])
            names = {entry["name"], entry.get("singularName", ""), entry["kind"].lower(), *entry.get("shortNames", ())}
            yield resource, names
