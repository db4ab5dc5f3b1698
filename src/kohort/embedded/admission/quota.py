"""ResourceQuotas: a ledger of what each namespace uses, kept by every commit, and checked before all that takes more.

Check and reservation happen in one step without waiting, so that no two writes can both take the last of anything.
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
    Usage,
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
"""What may take more than before when it is changed."""
_COMPUTED = ("requests.", "limits.", "cpu", "memory")


@dataclass(slots=True)
class _Account:
    """What one quota allows, what is used of it, and what is set aside for writes under way."""

    quota: JsonObject
    since: int
    """The revision at which the usage was counted; later changes are added to it."""
    hard: dict[str, Quantity]
    used: Usage
    reserved: dict[int, tuple[str, Usage]] = field(default_factory=dict)
    """By the identity of the write: whose uid, and how much."""

    def held(self) -> Usage:
        """Used and set aside."""
        total = self.used
        for _, amounts in self.reserved.values():
            total = added(total, amounts)
        return total

    def part(self, resource: str, found: JsonObject) -> Usage:
        """What an object takes of this quota."""
        if not is_in_scope(self.quota, resource, found):
            return {}
        return {name: amount for name, amount in usage_of(resource, found).items() if name in self.hard}

    def demand(self, attributes: AdmissionAttributes, new: JsonObject) -> Usage:
        """What a write takes more than is taken already."""
        resource, old = attributes.resource.key, attributes.old
        return grown(self.part(resource, old) if old else {}, self.part(resource, new))


class QuotaAdmission(NoopPlugin):
    """Refuses what no quota has room for."""

    def __init__(self, store: Store, store_writer: StoreWriter, resources: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._store_writer = store_writer
        self._resources = resources
        self._accounts: dict[str, dict[str, _Account]] = defaultdict(dict)
        self._dirty: dict[StorageKey, None] = {}
        self._publisher: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Count what the stored quotas are about."""
        for entry in self._store.list(QUOTAS).entries:
            self._open(entry)

    # Admission

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Set aside what the write takes, or refuse it."""
        new, accounts = attributes.object, self._accounts.get(attributes.namespace)
        if new is None or not accounts or not _is_charged(attributes, new):
            return
        for account in accounts.values():
            self._check(account, attributes, new)
        if attributes.dry_run:
            return
        for account in accounts.values():
            demand = account.demand(attributes, new)
            if demand:
                account.reserved[id(attributes)] = new["metadata"]["uid"], demand

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Give back what a failed write had set aside."""
        for account in self._accounts.get(attributes.namespace, {}).values():
            account.reserved.pop(id(attributes), None)

    def _check(self, account: _Account, attributes: AdmissionAttributes, new: JsonObject) -> None:
        name = account.quota["metadata"]["name"]
        demand = account.demand(attributes, new)
        if attributes.resource.key == "pods" and is_in_scope(account.quota, "pods", new):
            missing = _unspecified(account.hard, new)
            if missing:
                raise forbidden(attributes.about, f"failed quota: {name}: must specify {missing}")
        held = account.held()
        over = sorted(each for each, amount in demand.items() if _exceeds(account, held, each, amount))
        if over:
            parts = (("requested", demand), ("used", held), ("limited", account.hard))
            told = ", ".join(f"{word}: {_listed(amounts, over)}" for word, amounts in parts)
            raise forbidden(attributes.about, f"exceeded quota: {name}, {told}")

    # The ledger

    async def on_change(self, change: StorageEvent) -> None:
        """Keep the books; every commit of the server passes here."""
        key = change.entry.key
        if key.resource == QUOTAS:
            self._on_quota(change)
        accounts = self._accounts.get(key.namespace) if key.namespace else None
        if not accounts:
            return
        for account in accounts.values():
            if change.revision > account.since:
                self._book(account, change)
        _release(accounts.values(), change.entry.object["metadata"]["uid"])

    def _on_quota(self, change: StorageEvent) -> None:
        key = change.entry.key
        if change.kind is WatchEventType.DELETED:
            self._accounts[key.namespace].pop(key.name, None)
            if not self._accounts[key.namespace]:
                del self._accounts[key.namespace]
        elif change.previous is None or change.previous.object.get("spec") != change.entry.object.get("spec"):
            self._open(change.entry)

    def _open(self, entry: StoredObject) -> None:
        quota = entry.object
        hard = {name: Quantity.parse(amount) for name, amount in ((quota.get("spec") or {}).get("hard") or {}).items()}
        former = self._accounts[entry.key.namespace].get(entry.key.name)
        account = _Account(quota, self._store.revision, hard, {}, former.reserved if former else {})
        for resource in self._resources():
            for each in self._store.list(resource, entry.key.namespace).entries:
                account.used = added(account.used, account.part(resource, each.object))
        self._accounts[entry.key.namespace][entry.key.name] = account
        self._publish(entry.key)

    def _book(self, account: _Account, change: StorageEvent) -> None:
        resource = change.entry.key.resource
        before = account.part(resource, change.previous.object) if change.previous else {}
        after = account.part(resource, change.entry.object) if change.kind is not WatchEventType.DELETED else {}
        if before != after:
            account.used = subtracted(added(account.used, after), before)
            metadata = account.quota["metadata"]
            self._publish(StorageKey(QUOTAS, metadata["namespace"], metadata["name"]))

    # The status

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
        """Show the books in the quota's status."""
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
        """Stop writing; a restart counts anew."""
        if self._publisher is not None:
            self._publisher.cancel()
            await asyncio.gather(self._publisher, return_exceptions=True)


def _is_charged(attributes: AdmissionAttributes, new: JsonObject) -> bool:
    """Whether quotas look at the write: at all that is new, and at changes that may take more."""
    if attributes.subresource or attributes.verb not in ("CREATE", "UPDATE"):
        return False
    if attributes.old is None or attributes.resource.key in _CHARGED_ON_UPDATE:
        return True
    # A pod asks for the same all its life, but may come under a quota for pods that end by themselves.
    return attributes.resource.key == "pods" and is_terminating(attributes.old) != is_terminating(new)


def _release(accounts: Iterable[_Account], uid: str) -> None:
    """What was set aside for the object is in the books now; other writes to it lose the race and begin anew."""
    for account in accounts:
        account.reserved = {write: held for write, held in account.reserved.items() if held[0] != uid}


def _exceeds(account: _Account, held: Usage, name: str, amount: Quantity) -> bool:
    return held.get(name, NOTHING) + amount > account.hard[name]


def _listed(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, NOTHING)}" for name in names)


def _unspecified(hard: dict[str, Quantity], pod: JsonObject) -> str:
    """What every container must say under such a quota, and which of them do not."""
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
        silent = [each["name"] for each in containers if resource not in _spoken(each, kind)]
        if silent:
            found[name] = silent
    return "; ".join(f"{name} for: {','.join(names)}" for name, names in found.items())


def _spoken(container: JsonObject, kind: str) -> set[str]:
    resources = container.get("resources") or {}
    given = set(resources.get(kind) or ())
    return given | set(resources.get("limits") or ()) if kind == "requests" else given
