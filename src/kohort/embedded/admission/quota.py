"""ResourceQuota admission: usage per namespace, updated by every commit and checked before every write that adds to it.

Check and reservation are one step without awaiting, so that two writes cannot both take the last unit.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kohort.api.codec import JsonObject
from kohort.api.quantity import Quantity
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.admission.usage import (
    NOTHING,
    ObjectUsage,
    added,
    grown,
    is_in_scope,
    is_terminating,
    subtracted,
    usage_of,
)
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.storage import RevisionConflictError, StorageEvent, StorageKey, Store, StoredObject
from kohort.kube.errors import forbidden
from kohort.kube.watch_events import WatchEventType

QUOTAS = "resourcequotas"
_CHARGED_ON_UPDATE = ("persistentvolumeclaims", "services")
"""Resources whose usage an update may increase."""
_COMPUTED = ("requests.", "limits.", "cpu", "memory")


@dataclass(slots=True)
class _Account:
    """Hard limits, usage and reservations of one quota."""

    quota: JsonObject
    since: int
    """The revision at which usage was counted; later events are added to it."""
    hard: dict[str, Quantity]
    used: ObjectUsage
    reserved: dict[int, tuple[str, ObjectUsage]] = field(default_factory=dict)
    """UID and usage by the identity of the write in flight."""

    def total_used(self) -> ObjectUsage:
        """Usage including reservations."""
        total = self.used
        for _, amounts in self.reserved.values():
            total = added(total, amounts)
        return total

    def usage(self, resource: str, found: JsonObject) -> ObjectUsage:
        """The usage of an object under this quota."""
        if not is_in_scope(self.quota, resource, found):
            return {}
        return {name: amount for name, amount in usage_of(resource, found).items() if name in self.hard}

    def added_usage(self, attributes: AdmissionAttributes, new: JsonObject) -> ObjectUsage:
        """The additional usage of a write."""
        resource, old = attributes.resource.key, attributes.old
        return grown(self.usage(resource, old) if old else {}, self.usage(resource, new))


class QuotaAdmission(NoopPlugin):
    """Denies writes that exceed a quota."""

    def __init__(self, store: Store, store_writer: StoreWriter, resources: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._store_writer = store_writer
        self._resources = resources
        self._accounts: dict[str, dict[str, _Account]] = defaultdict(dict)
        self._dirty: dict[StorageKey, None] = {}
        self._publisher: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Counts the usage of the stored quotas."""
        for entry in self._store.list(QUOTAS).entries:
            self._load_quota(entry)

    # Admission

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Reserves the usage of the write, or denies it."""
        new, accounts = attributes.object, self._accounts.get(attributes.namespace)
        if new is None or not accounts or not _is_charged(attributes, new):
            return
        for account in accounts.values():
            self._check(account, attributes, new)
        if attributes.dry_run:
            return
        for account in accounts.values():
            added_usage = account.added_usage(attributes, new)
            if added_usage:
                account.reserved[id(attributes)] = new["metadata"]["uid"], added_usage

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Releases the reservation of a failed write."""
        for account in self._accounts.get(attributes.namespace, {}).values():
            account.reserved.pop(id(attributes), None)

    def _check(self, account: _Account, attributes: AdmissionAttributes, new: JsonObject) -> None:
        name = account.quota["metadata"]["name"]
        added_usage = account.added_usage(attributes, new)
        if attributes.resource.key == "pods" and is_in_scope(account.quota, "pods", new):
            missing = _unspecified(account.hard, new)
            if missing:
                raise forbidden(attributes.about, f"failed quota: {name}: must specify {missing}")
        total_used = account.total_used()
        over = sorted(each for each, amount in added_usage.items() if _is_exceeded(account, total_used, each, amount))
        if over:
            parts = (("requested", added_usage), ("used", total_used), ("limited", account.hard))
            details = ", ".join(f"{word}: {_listed(amounts, over)}" for word, amounts in parts)
            raise forbidden(attributes.about, f"exceeded quota: {name}, {details}")

    # Usage

    async def on_change(self, change: StorageEvent) -> None:
        """Post-commit hook that updates usage."""
        key = change.entry.key
        if key.resource == QUOTAS:
            self._on_quota(change)
        accounts = self._accounts.get(key.namespace) if key.namespace else None
        if not accounts:
            return
        for account in accounts.values():
            if change.revision > account.since:
                self._count(account, change)
        _release(accounts.values(), change.entry.object["metadata"]["uid"])

    def _on_quota(self, change: StorageEvent) -> None:
        key = change.entry.key
        if change.kind is WatchEventType.DELETED:
            self._accounts[key.namespace].pop(key.name, None)
            if not self._accounts[key.namespace]:
                del self._accounts[key.namespace]
        elif change.previous is None or change.previous.object.get("spec") != change.entry.object.get("spec"):
            self._load_quota(change.entry)

    def _load_quota(self, entry: StoredObject) -> None:
        quota = entry.object
        hard = {name: Quantity.parse(amount) for name, amount in ((quota.get("spec") or {}).get("hard") or {}).items()}
        former = self._accounts[entry.key.namespace].get(entry.key.name)
        account = _Account(quota, self._store.revision, hard, {}, former.reserved if former else {})
        for resource in self._resources():
            for each in self._store.list(resource, entry.key.namespace).entries:
                account.used = added(account.used, account.usage(resource, each.object))
        self._accounts[entry.key.namespace][entry.key.name] = account
        self._publish(entry.key)

    def _count(self, account: _Account, change: StorageEvent) -> None:
        resource = change.entry.key.resource
        before = account.usage(resource, change.previous.object) if change.previous else {}
        after = account.usage(resource, change.entry.object) if change.kind is not WatchEventType.DELETED else {}
        if before != after:
            account.used = subtracted(added(account.used, after), before)
            metadata = account.quota["metadata"]
            self._publish(StorageKey(QUOTAS, metadata["namespace"], metadata["name"]))

    # Status

    def _publish(self, key: StorageKey) -> None:
        self._dirty[key] = None
        if self._publisher is None or self._publisher.done():
            self._publisher = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        while self._dirty:
            key = next(iter(self._dirty))
            del self._dirty[key]
            await self._write(key)

    async def _write(self, key: StorageKey) -> None:
        """Writes usage into the quota's status."""
        entry, account = self._store.get(key), self._accounts.get(key.namespace, {}).get(key.name)
        if entry is None or account is None:
            return
        used = {name: str(account.used.get(name, NOTHING)) for name in account.hard}
        hard = {name: str(amount) for name, amount in account.hard.items()}
        status = {"hard": hard, "used": used}
        if entry.object.get("status") == status:
            return
        try:
            await self._store_writer.update(entry, {**entry.object, "status": status})
        except RevisionConflictError:
            self._dirty[key] = None

    async def close(self) -> None:
        """Stops writing status; a restart counts again."""
        if self._publisher is not None:
            self._publisher.cancel()
            await asyncio.gather(self._publisher, return_exceptions=True)


def _is_charged(attributes: AdmissionAttributes, new: JsonObject) -> bool:
    """Whether the write is charged: every create, and updates that may increase usage."""
    if attributes.subresource or attributes.verb not in ("CREATE", "UPDATE"):
        return False
    if attributes.old is None or attributes.resource.key in _CHARGED_ON_UPDATE:
        return True
    # The requests of a pod do not change, but an update may bring it into the scope Terminating.
    return attributes.resource.key == "pods" and is_terminating(attributes.old) != is_terminating(new)


def _release(accounts: Iterable[_Account], uid: str) -> None:
    """Releases the reservations for an object whose usage is counted; concurrent writes to it conflict and retry."""
    for account in accounts:
        account.reserved = {write: total_used for write, total_used in account.reserved.items() if total_used[0] != uid}


def _is_exceeded(account: _Account, total_used: ObjectUsage, name: str, amount: Quantity) -> bool:
    return total_used.get(name, NOTHING) + amount > account.hard[name]


def _listed(amounts: ObjectUsage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, NOTHING)}" for name in names)


def _unspecified(hard: dict[str, Quantity], pod: JsonObject) -> str:
    """Resources that every container must specify under such a quota, and the containers that do not."""
    found: dict[str, list[str]] = {}
    for name in sorted(hard):
        if not name.startswith(_COMPUTED) or "storage" in name:
            continue
        kind, _, resource = (
            name.rpartition(".") if name.startswith(("requests.", "limits.")) else ("requests", "", name)
        )
        if resource not in ("cpu", "memory"):
            continue
        containers = (pod.get("spec") or {}).get("containers") or ()
        silent = [each["name"] for each in containers if resource not in _specified(each, kind)]
        if silent:
            found[name] = silent
    return "; ".join(f"{name} for: {','.join(names)}" for name, names in found.items())


def _specified(container: JsonObject, kind: str) -> set[str]:
    resources = container.get("resources") or {}
    given = set(resources.get(kind) or ())
    return given | set(resources.get("limits") or ()) if kind == "requests" else given
