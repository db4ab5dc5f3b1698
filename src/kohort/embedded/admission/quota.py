"""ResourceQuotas: a ledger of what each namespace uses, kept by every commit, and checked before every create.

Check and reservation happen in one step without waiting, so that no two creates can both take the last of anything.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kohort.api.quantity import Quantity
from kohort.embedded.admission.attributes import Attributes, Object, Silent
from kohort.embedded.admission.usage import NOTHING, Usage, added, is_in_scope, subtracted, usage_of
from kohort.embedded.server.commits import Commits
from kohort.embedded.store import Change, Changed, Entry, Key, Kind, Store
from kohort.kube.errors import forbidden

QUOTAS = "resourcequotas"
_COMPUTED = ("requests.", "limits.", "cpu", "memory")


@dataclass(slots=True)
class _Account:
    """What one quota allows, what is used of it, and what is set aside for writes under way."""

    quota: Object
    since: int
    """The revision at which the usage was counted; later changes are added to it."""
    hard: dict[str, Quantity]
    used: Usage
    reserved: dict[str, Usage] = field(default_factory=dict)

    def held(self) -> Usage:
        """Used and set aside."""
        total = self.used
        for amounts in self.reserved.values():
            total = added(total, amounts)
        return total

    def part(self, resource: str, found: Object) -> Usage:
        """What an object takes of this quota."""
        if not is_in_scope(self.quota, resource, found):
            return {}
        return {name: amount for name, amount in usage_of(resource, found).items() if name in self.hard}


class QuotaAdmission(Silent):
    """Refuses what no quota has room for."""

    def __init__(self, store: Store, commits: Commits, resources: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._commits = commits
        self._resources = resources
        self._accounts: dict[str, dict[str, _Account]] = defaultdict(dict)
        self._dirty: dict[Key, None] = {}
        self._publisher: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Count what the stored quotas are about."""
        for entry in self._store.list(QUOTAS).entries:
            self._open(entry)

    # Admission

    async def validate(self, attributes: Attributes) -> None:
        """Set aside what a new object takes, or refuse it."""
        new = attributes.object
        if attributes.verb != "CREATE" or new is None or attributes.subresource:
            return
        accounts = self._accounts.get(attributes.namespace)
        if not accounts:
            return
        for account in accounts.values():
            self._check(account, attributes, new)
        if attributes.dry_run:
            return
        for account in accounts.values():
            part = account.part(attributes.resource.key, new)
            if part:
                account.reserved[new["metadata"]["uid"]] = part

    def settle(self, attributes: Attributes) -> None:
        """Give back what a failed write had set aside."""
        if attributes.verb == "CREATE" and attributes.object is not None:
            self._release(attributes.namespace, attributes.object["metadata"].get("uid", ""))

    def _release(self, namespace: str, uid: str) -> None:
        for account in self._accounts.get(namespace, {}).values():
            account.reserved.pop(uid, None)

    def _check(self, account: _Account, attributes: Attributes, new: Object) -> None:
        name = account.quota["metadata"]["name"]
        part = account.part(attributes.resource.key, new)
        if attributes.resource.key == "pods" and is_in_scope(account.quota, "pods", new):
            missing = _unspecified(account.hard, new)
            if missing:
                raise forbidden(attributes.about, f"failed quota: {name}: must specify {missing}")
        held = account.held()
        over = sorted(each for each, amount in part.items() if _exceeds(account, held, each, amount))
        if over:
            parts = (("requested", part), ("used", held), ("limited", account.hard))
            told = ", ".join(f"{word}: {_listed(amounts, over)}" for word, amounts in parts)
            raise forbidden(attributes.about, f"exceeded quota: {name}, {told}")

    # The ledger

    async def on_change(self, change: Change) -> None:
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
        if change.kind is Kind.ADDED:
            self._release(key.namespace, change.entry.object["metadata"]["uid"])

    def _on_quota(self, change: Change) -> None:
        key = change.entry.key
        if change.kind is Kind.DELETED:
            self._accounts[key.namespace].pop(key.name, None)
            if not self._accounts[key.namespace]:
                del self._accounts[key.namespace]
        elif change.previous is None or change.previous.object.get("spec") != change.entry.object.get("spec"):
            self._open(change.entry)

    def _open(self, entry: Entry) -> None:
        quota = entry.object
        hard = {name: Quantity.parse(amount) for name, amount in ((quota.get("spec") or {}).get("hard") or {}).items()}
        former = self._accounts[entry.key.namespace].get(entry.key.name)
        account = _Account(quota, self._store.revision, hard, {}, former.reserved if former else {})
        for resource in self._resources():
            for each in self._store.list(resource, entry.key.namespace).entries:
                account.used = added(account.used, account.part(resource, each.object))
        self._accounts[entry.key.namespace][entry.key.name] = account
        self._publish(entry.key)

    def _book(self, account: _Account, change: Change) -> None:
        resource = change.entry.key.resource
        before = account.part(resource, change.previous.object) if change.previous else {}
        after = account.part(resource, change.entry.object) if change.kind is not Kind.DELETED else {}
        if before != after:
            account.used = subtracted(added(account.used, after), before)
            metadata = account.quota["metadata"]
            self._publish(Key(QUOTAS, metadata["namespace"], metadata["name"]))

    # The status

    def _publish(self, key: Key) -> None:
        self._dirty[key] = None
        if self._publisher is None or self._publisher.done():
            self._publisher = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        while self._dirty:
            key = next(iter(self._dirty))
            del self._dirty[key]
            await self._write(key)

    async def _write(self, key: Key) -> None:
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
            await self._commits.update(entry, {**entry.object, "status": status})
        except Changed:
            self._dirty[key] = None

    async def close(self) -> None:
        """Stop writing; a restart counts anew."""
        if self._publisher is not None:
            self._publisher.cancel()
            await asyncio.gather(self._publisher, return_exceptions=True)


def _exceeds(account: _Account, held: Usage, name: str, amount: Quantity) -> bool:
    return amount.nanos > 0 and held.get(name, NOTHING) + amount > account.hard[name]


def _listed(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, NOTHING)}" for name in names)


def _unspecified(hard: dict[str, Quantity], pod: Object) -> str:
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


def _spoken(container: Object, kind: str) -> set[str]:
    resources = container.get("resources") or {}
    given = set(resources.get(kind) or ())
    return given | set(resources.get("limits") or ()) if kind == "requests" else given
