"""Maintains the ControllerRevisions of StatefulSets."""

from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.embedded.controllers.controller_ref import BY_OWNER, owner_uid
from kohort.embedded.controllers.serving import StatefulSetView, TemplateJson
from kohort.embedded.controllers.statefulsets.plan import RevisionNames
from kohort.embedded.controllers.statefulsets.revisions import (
    StatefulSetRevision,
    equal_revision,
    in_order,
    new_revision,
    next_number,
    outdated,
)
from kohort.embedded.controllers.unobserved_writes import UnobservedWrites
from kohort.embedded.controllers.views import ControllerPod, controller_of, key_of
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import MergePatch

_MAX_COLLISIONS = 20


@dataclass(frozen=True, slots=True)
class SetRevisions:
    """Current and update revision of a set."""

    names: RevisionNames
    templates: dict[str, TemplateJson]
    """The templates of the two revisions by name."""
    collisions: int


class RevisionHistory:
    """The ControllerRevisions of all StatefulSets."""

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        self._client = client
        self._unobserved = UnobservedWrites[StatefulSetRevision](client.clock)
        self._revisions = informers.of(StatefulSetRevision)
        self._revisions.index(BY_OWNER, owner_uid)
        self._revisions.subscribe(self._unobserved.observe)

    async def of(self, found: StatefulSetView) -> SetRevisions:
        """The history of a set, with its current template as the newest revision."""
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

    def _known(self, found: StatefulSetView) -> list[StatefulSetRevision]:
        uid = found.metadata.uid
        cached = [self._unobserved.latest(each) for each in self._revisions.cache.find(BY_OWNER, uid)]
        uids = {each.metadata.uid for each in cached}
        return in_order([*cached, *(each for each in self._unobserved.missing(uid) if each.metadata.uid not in uids)])

    async def _make(self, found: StatefulSetView, number: int, collisions: int) -> tuple[StatefulSetRevision, int]:
        """Creates a revision; a name collision increments collisionCount."""
        for count in range(collisions, collisions + _MAX_COLLISIONS):
            body = new_revision(found, number, count)
            try:
                return await self._create(body), count
            except StatusError as error:
                if not error.is_already_exists:
                    raise
            present = await self._revisions.objects.get(ObjectKey(found.metadata.namespace, body["metadata"]["name"]))
            owner = controller_of(present.metadata)
            if owner is not None and owner.uid == found.metadata.uid and equal_revision(found, [present]):
                return self._unobserved.wrote(present), count
        return await self._create(new_revision(found, number, collisions + _MAX_COLLISIONS)), collisions

    async def _create(self, body: dict[str, Json]) -> StatefulSetRevision:
        plain = self._client.of(StatefulSetRevision.resource)
        return self._unobserved.wrote(self._revisions.objects.kind.read(plain.kind.body(await plain.create(body))))

    async def _renumber(self, revision: StatefulSetRevision, number: int) -> StatefulSetRevision:
        """Makes an old revision the newest after a rollback."""
        patch = MergePatch({"metadata": {"uid": revision.metadata.uid}, "revision": number})
        return self._unobserved.wrote(await self._revisions.objects.patch(key_of(revision.metadata), patch))

    async def trim(self, found: StatefulSetView, pods: list[ControllerPod], names: RevisionNames) -> None:
        """Deletes revisions beyond revisionHistoryLimit."""
        for each in outdated(found, self._known(found), pods, (names.current, names.update)):
            try:
                await self._revisions.objects.delete(key_of(each.metadata), DeletionOptions(uid=each.metadata.uid))
            except StatusError as error:
                if not error.is_not_found:
                    raise
