"""Keeps the history of templates of each StatefulSet on the server."""

from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.embedded.controllers.serving import SeenStatefulSet, Template
from kohort.embedded.controllers.statefulsets.plan import RevisionNames
from kohort.embedded.controllers.statefulsets.revisions import (
    BY_OWNER,
    SeenRevision,
    equal_revision,
    in_order,
    new_revision,
    next_number,
    outdated,
    owner_uid,
)
from kohort.embedded.controllers.unobserved_writes import UnobservedWrites
from kohort.embedded.controllers.views import ControllerPod, controller_of, key_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import MergePatch

_MOST_COLLISIONS = 20


@dataclass(frozen=True, slots=True)
class SetRevisions:
    """Where a set comes from and goes to."""

    names: RevisionNames
    templates: dict[str, Template]
    """The templates of the two revisions, by name."""
    collisions: int


class RevisionHistory:
    """The ControllerRevisions of all StatefulSets."""

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        self._client = client
        self._lag = UnobservedWrites[SeenRevision](client.clock)
        self._revisions = informers.of(SeenRevision)
        self._revisions.index(BY_OWNER, owner_uid)
        self._revisions.subscribe(self._lag.observe)

    async def of(self, found: SeenStatefulSet) -> SetRevisions:
        """The history of a set, with its present template as the newest revision."""
        known = self._known(found)
        collisions = found.status.collision_count or 0
        update = equal_revision(found, known)
        if update is None:
            update, collisions = await self._make(found, next_number(known), collisions)
        elif update is not known[-1]:
            update = await self._renumber(update, next_number(known))
        current = next((each for each in known if each.metadata.name == found.status.current_revision), update)
        if current.metadata.name == update.metadata.name:
            current = update
        names = RevisionNames(current.metadata.name, update.metadata.name)
        templates = {names.current: current.template, names.update: update.template}
        return SetRevisions(names, templates, collisions)

    def _known(self, found: SeenStatefulSet) -> list[SeenRevision]:
        uid = found.metadata.uid
        cached = [self._lag.latest(each) for each in self._revisions.cache.find(BY_OWNER, uid)]
        uids = {each.metadata.uid for each in cached}
        return in_order([*cached, *(each for each in self._lag.missing(uid) if each.metadata.uid not in uids)])

    async def _make(self, found: SeenStatefulSet, number: int, collisions: int) -> tuple[SeenRevision, int]:
        """A new revision; under another name where somebody else's stands in the way."""
        for count in range(collisions, collisions + _MOST_COLLISIONS):
            body = new_revision(found, number, count)
            try:
                return await self._create(body), count
            except StatusError as error:
                if not error.is_already_exists:
                    raise
            present = await self._revisions.objects.get(ObjectKey(found.metadata.namespace, body["metadata"]["name"]))
            owner = controller_of(present.metadata)
            if owner is not None and owner.uid == found.metadata.uid and equal_revision(found, [present]):
                return self._lag.wrote(present), count
        return await self._create(new_revision(found, number, collisions + _MOST_COLLISIONS)), collisions

    async def _create(self, body: dict[str, Json]) -> SeenRevision:
        plain = self._client.of(SeenRevision.resource)
        return self._lag.wrote(self._revisions.objects.kind.read(plain.kind.body(await plain.create(body))))

    async def _renumber(self, revision: SeenRevision, number: int) -> SeenRevision:
        """The set has gone back to a template of its past, which thereby becomes its newest."""
        patch = MergePatch({"metadata": {"uid": revision.metadata.uid}, "revision": number})
        return self._lag.wrote(await self._revisions.objects.patch(key_of(revision.metadata), patch))

    async def trim(self, found: SeenStatefulSet, pods: list[ControllerPod], names: RevisionNames) -> None:
        """Forget what is beyond the history that a set keeps."""
        for each in outdated(found, self._known(found), pods, (names.current, names.update)):
            try:
                await self._revisions.objects.delete(key_of(each.metadata), DeletionOptions(uid=each.metadata.uid))
            except StatusError as error:
                if not error.is_not_found:
                    raise
