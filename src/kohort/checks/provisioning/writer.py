"""Creates and deletes ProvisioningRequests with their pod templates (MK-22, MK-29, MK-30).

Templates come first, owned by the Workload; once the request exists it becomes their owner. What a crash leaves
belongs to the Workload or to the request, and is deleted with it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import PodTemplate
from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.checks import ProvisioningRequestConfigSpec
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.checks.provisioning.names import REQUESTS
from kohort.checks.provisioning.pod_sets import RequestedPodSet
from kohort.checks.provisioning.requests import (
    controller_reference,
    controller_uid,
    name_of,
    new_request,
    new_template,
)
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions, WriteOptions
from kohort.kube.patches import MergePatch

TEMPLATES: Final = PodTemplate.resource
_OPTIONS: Final = WriteOptions("kohort-provisioning")


class ForeignObjectError(ApiError):
    """An object that is not of this Workload has the name of one to create."""


class NotYetGoneError(ApiError):
    """An object of the name exists: of an earlier attempt, or not observed yet."""


class RequestWriter:
    """Writes requests and templates."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(
        self,
        workload: Workload,
        name: str,
        attempt: int,
        config: ProvisioningRequestConfigSpec,
        pod_sets: Sequence[RequestedPodSet],
    ) -> None:
        """Create a request; raises ForeignObjectError, NotYetGoneError, or KubeError."""
        request = new_request(workload, name, attempt, config, pod_sets)
        await self._expect_absent(workload, request)
        templates = [await self._create_template(workload, name, each) for each in pod_sets]
        created = await self._client.of(REQUESTS).create(request, options=_OPTIONS)
        await self._hand_over(created, templates)

    async def _expect_absent(self, workload: Workload, request: JsonObject) -> None:
        """Read the server, because the cache may not have an own request of a moment ago yet."""
        found = await self._get(REQUESTS, _key(request))
        if found is None:
            return
        if controller_uid(found) == workload.metadata.uid or found["metadata"].get("deletionTimestamp"):
            raise NotYetGoneError(f"{REQUESTS.kind} {name_of(request)} exists")
        raise ForeignObjectError(f"{REQUESTS.kind} {name_of(request)} belongs to another owner: delete it")

    async def _create_template(self, workload: Workload, request: str, pod_set: RequestedPodSet) -> JsonObject:
        """The created template, or that of an interrupted creation."""
        obj = new_template(workload, request, pod_set)
        try:
            return await self._client.of(TEMPLATES).create(obj, options=_OPTIONS)
        except StatusError as error:
            if not error.is_already_exists:
                raise
        found = await self._get(TEMPLATES, _key(obj))
        if found is None or found["metadata"].get("deletionTimestamp") or _is_of_request(found, request):
            raise NotYetGoneError(f"PodTemplate {name_of(obj)} is not deleted yet")
        if controller_uid(found) != workload.metadata.uid:
            raise ForeignObjectError(f"PodTemplate {name_of(obj)} belongs to another owner: delete it")
        return found

    async def _hand_over(self, request: JsonObject, templates: Iterable[JsonObject]) -> None:
        """Make a request the owner of its templates."""
        uid = request["metadata"]["uid"]
        owner = controller_reference(REQUESTS.api_version, REQUESTS.kind, name_of(request), uid)
        for each in templates:
            version = each["metadata"]["resourceVersion"]
            patch = MergePatch({"metadata": {"resourceVersion": version, "ownerReferences": [owner]}})
            await self._client.of(TEMPLATES).patch(_key(each), patch, _OPTIONS)

    async def delete(self, workload: Workload, request: JsonObject) -> None:
        """Delete a request and its templates; what is gone already is no error."""
        metadata = request["metadata"]
        await self._delete(REQUESTS, _key(request), metadata["uid"])
        owners = {workload.metadata.uid, metadata["uid"]}
        for name in _template_names(request):
            key = ObjectKey(metadata["namespace"], name)
            found = await self._get(TEMPLATES, key)
            if found is not None and controller_uid(found) in owners:
                await self._delete(TEMPLATES, key, found["metadata"]["uid"])

    async def _get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        try:
            return await self._client.of(resource).get(key)
        except StatusError as error:
            if error.is_not_found:
                return None
            raise

    async def _delete(self, resource: Resource, key: ObjectKey, uid: str) -> None:
        try:
            await self._client.of(resource).delete(key, DeletionOptions("Background", uid=uid))
        except StatusError as error:
            if not (error.is_not_found or error.is_conflict):
                raise


def _key(obj: JsonObject) -> ObjectKey:
    return ObjectKey(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _is_of_request(template: JsonObject, request: str) -> bool:
    """Whether a template belongs to a former request of that name, and is deleted with it."""
    owners = template["metadata"].get("ownerReferences") or ()
    return any((each.get("kind"), each.get("name")) == (REQUESTS.kind, request) for each in owners)


def _template_names(request: JsonObject) -> Iterator[str]:
    pod_sets: Any = (request.get("spec") or {}).get("podSets") or ()
    for each in pod_sets:
        name = (each.get("podTemplateRef") or {}).get("name")
        if name:
            yield name
