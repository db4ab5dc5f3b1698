"""Kubeconfigs of a cluster: one of its own, and on demand a context in the files that kubectl uses.

The context carries a mark in its `extensions`: the folder of its cluster and the context that was current before. So
any later process recognizes the entries of a cluster, also after a crash, and never replaces those of another one.
"""

import asyncio
import logging
import socket
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from kohort.api.errors import ApiError
from kohort.embedded.auth.files import write_private
from kohort.local.directories import ClusterDirectory
from kohort.local.kubeconfig_files import PARTS, Document, default_file, edit, read_document
from kohort.local.runs import ClusterRun

log = logging.getLogger(__name__)

MARK: Final = "kohort"
"""Name of the extension in a context."""
_LOOK_EVERY: Final = 3600.0
_PROBE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Owner:
    """The cluster whose context it is."""

    context: str
    folder: Path
    """Where the cluster has its things; no two clusters share one."""
    keeps: bool = True
    """Whether its objects, and so its context, are there after it."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The files of kubectl that are to have the context."""

    files: tuple[Path, ...]
    """In their order of precedence."""
    uses: bool = True
    """Whether it becomes the current context."""


@dataclass(frozen=True, slots=True)
class Published:
    """Where the way to a cluster is written down, and under which name."""

    source: Path
    """As the API server writes and renews it."""
    owner: Owner
    own: Path
    """A file that holds nothing else."""
    merge: Merge | None = None
    files: tuple[Path, ...] = ()
    """Files of kubectl; without a merge, the context is kept up to date there if they have this cluster already."""

    @property
    def shared(self) -> Path | None:
        """The file of kubectl that has the context."""
        return _file_of(self.merge.files, self.owner.context) if self.merge is not None else None

    def write(self) -> str:
        """Write all of them, and return the context that was current before; raises an ApiError."""
        config = self._write_own()
        if self.merge is not None:
            return add_context(self.merge, config, self.owner)
        self._keep_up_to_date(config)
        return ""

    def withdraw(self) -> None:
        """Restore kubectl's current context, and remove the one of a cluster that keeps nothing; errors are logged."""
        try:
            release_context(self.files, self.owner)
        except ApiError as error:
            log.warning("the previous context was not restored: %s", error)

    async def follow(self) -> None:
        """Write them again whenever the server has renewed its own, which happens once in a year."""
        seen = self._state()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._state() != seen:
                seen = self._state()
                try:
                    await asyncio.to_thread(self.renew)
                except (ApiError, OSError) as error:
                    log.warning("the kubeconfig could not be renewed: %s", error)

    def renew(self) -> None:
        """Write them again; the context that is current stays."""
        self._keep_up_to_date(self._write_own())

    def _write_own(self) -> Document:
        config = renamed(read_document(self.source), self.owner.context)
        write_private(self.own, yaml.safe_dump(config, sort_keys=False).encode())
        return config

    def _keep_up_to_date(self, config: Document) -> None:
        if not has_cluster(self.files, config, self.owner):
            return
        try:
            add_context(Merge(self.files, uses=False), config, self.owner)
        except ApiError as error:
            log.warning("a kubeconfig that has this cluster could not be kept up to date: %s", error)

    def _state(self) -> int:
        return self.source.stat().st_mtime_ns


def renamed(config: Document, name: str) -> Document:
    """A kubeconfig of one cluster, with everything in it under this name."""
    parts = {plural: [{"name": name, part: config[plural][0][part]}] for plural, part in PARTS}
    parts["contexts"][0]["context"] = {**parts["contexts"][0]["context"], "cluster": name, "user": name}
    return {**config, **parts, "current-context": name}


def current_context(files: tuple[Path, ...]) -> str:
    """The context that kubectl uses; empty where none is current."""
    found = (str(read_document(each).get("current-context") or "") for each in files)
    return next(filter(None, found), "")


def current_in_words(files: tuple[Path, ...]) -> str:
    """The context that kubectl uses, for people."""
    try:
        name = current_context(files)
    except ApiError as error:
        return str(error)
    return f"the current context of kubectl is {name}" if name else "kubectl has no current context"


def has_cluster(files: tuple[Path, ...], config: Document, owner: Owner) -> bool:
    """Whether one of the files has this very cluster; a file that can't be read has not."""
    try:
        file = _file_of(files, owner.context)
        return file is not None and not _conflict(read_document(file), config, owner)
    except ApiError:
        return False


def add_context(merge: Merge, config: Document, owner: Owner) -> str:
    """Add the context to kubectl's files, or renew it there, and make it current; returns the one before.

    Raises an ApiError where entries of its name belong to another cluster, or a file can't be written.
    """
    files, first = merge.files, default_file(merge.files)
    for each in files:
        _refuse_conflict(each, read_document(each), config, owner)
    target = _file_of(files, owner.context) or first
    previous = current_context(files)
    marked = {"folder": str(owner.folder), "keeps": owner.keeps}
    if merge.uses and previous != owner.context:
        marked["previous"] = previous

    def merged(document: Document) -> Document:
        # Again, because only now the file is locked.
        _refuse_conflict(target, document, config, owner)
        found = _merged(document, config, marked)
        return using(found) if merge.uses and target == first else found

    def using(document: Document) -> Document:
        return {"apiVersion": "v1", "kind": "Config", **document, "current-context": owner.context}

    edit(target, merged)
    if merge.uses and target != first:
        edit(first, using)
    return previous


def release_context(files: tuple[Path, ...], owner: Owner) -> None:
    """Make the context current again that was so before, and remove the one of a cluster that keeps nothing."""
    home = _file_of(files, owner.context)
    mark = _mark_of(_entry(read_document(home), "contexts", owner.context)) if home is not None else {}
    if home is None or mark.get("folder") != str(owner.folder):
        return
    names = {str(each.get("name")) for file in files for each in read_document(file).get("contexts") or ()}
    others = names - {owner.context}
    restored = None
    if "previous" in mark or not owner.keeps:
        previous = mark.get("previous")
        restored = previous if previous in others else ""
        if not restored and owner.keeps and not others:
            # The only context there is: better a cluster that is stopped than none.
            restored = owner.context
    for file in files:
        if file.exists():
            edit(file, partial(_released, owner=owner, previous=mark.get("previous"), current=restored))


def release_crashed(place: ClusterDirectory, run: ClusterRun) -> None:
    """The same for a run whose process did not come to do it; raises an ApiError."""
    if run.ended is None:
        folder = place.folder if run.keeps else place.passing
        release_context(tuple(map(Path, run.kubectl_files)), Owner(run.context, folder, run.keeps))


def _merged(document: Document, config: Document, marked: Document) -> Document:
    found: Document = {"apiVersion": "v1", "kind": "Config", **deepcopy(document)}
    name = config["current-context"]
    for plural, part in PARTS:
        entries = found[plural] = found.get(plural) or []
        ours, before = deepcopy(config[plural][0]), _entry(found, plural, name)
        if plural == "contexts":
            ours[part] = _context(before, ours[part], marked)
        if before is None:
            entries.append(ours)
        else:
            before[part] = ours[part]
    found.setdefault("current-context", "")
    return found


def _context(before: Document | None, ours: Document, marked: Document) -> Document:
    """Our context with what people added to theirs: a namespace, other extensions, and the previous context."""
    kept = {key: value for key, value in _mark_of(before).items() if key == "previous"}
    theirs = _part(before, "context")
    mark = {"name": MARK, "extension": {**kept, **marked}}
    return {**theirs, **ours, "extensions": [*_other_extensions(theirs), mark]}


def _released(document: Document, owner: Owner, previous: str | None, current: str | None) -> Document:
    found, name = deepcopy(document), owner.context
    if not owner.keeps:
        for plural, _ in PARTS:
            if plural in found:
                found[plural] = [each for each in found[plural] or [] if each.get("name") != name]
    for each in found.get("contexts") or []:
        mark = _mark_of(each)
        if each.get("name") == name:
            mark.pop("previous", None)
        elif mark.get("previous") == name:
            mark["previous"] = previous or ""
    if current is not None and found.get("current-context") == name:
        found["current-context"] = current
    return found


def _refuse_conflict(path: Path, document: Document, config: Document, owner: Owner) -> None:
    what = _conflict(document, config, owner)
    if what:
        raise ApiError(
            f"{path}: {what} {owner.context} is there already and belongs to another cluster: "
            "choose another --name, or leave --merge-kubeconfig out"
        )


def _conflict(document: Document, config: Document, owner: Owner) -> str:
    """Which entry of the cluster's name belongs to somebody else; empty where none does."""
    name = owner.context
    clusters, users, contexts = (_entry(document, plural, name) for plural, _ in PARTS)
    context = _part(contexts, "context")
    if contexts is not None and (context.get("cluster"), context.get("user")) != (name, name):
        return "context"
    if clusters is None:
        return "" if users in (None, config["users"][0]) else "user"
    cluster = _part(clusters, "cluster")
    authority = config["clusters"][0]["cluster"].get("certificate-authority-data")
    if authority is not None and cluster.get("certificate-authority-data") == authority:
        return ""
    mark = _mark_of(contexts)
    if mark.get("folder") == str(owner.folder) or _is_left_over(mark, cluster):
        return ""
    return "cluster"


def _is_left_over(mark: Document, cluster: Document) -> bool:
    """Whether it is of a cluster that kept nothing and was killed."""
    if mark.get("keeps", True):
        return False
    address = urlsplit(str(cluster.get("server")))
    with suppress(OSError, ValueError):
        socket.create_connection((address.hostname or "", address.port or 443), _PROBE_SECONDS).close()
        return False
    return True


def _file_of(files: tuple[Path, ...], context: str) -> Path | None:
    """The file that defines a context: the first, as for kubectl."""
    return next((each for each in files if _entry(read_document(each), "contexts", context) is not None), None)


def _entry(document: Document, plural: str, name: str) -> Document | None:
    return next((each for each in document.get(plural) or [] if each.get("name") == name), None)


def _part(entry: Document | None, name: str) -> Document:
    """The object that a named entry holds; empty where it holds none."""
    found = (entry or {}).get(name)
    return found if isinstance(found, dict) else {}


def _mark_of(entry: Document | None) -> Document:
    """Our extension of a context; empty where there is none."""
    for each in _extensions(_part(entry, "context")):
        if isinstance(each, dict) and each.get("name") == MARK and isinstance(each.get("extension"), dict):
            found: Document = each["extension"]
            return found
    return {}


def _other_extensions(context: Document) -> list[Any]:
    return [each for each in _extensions(context) if not (isinstance(each, dict) and each.get("name") == MARK)]


def _extensions(context: Document) -> list[Any]:
    found = context.get("extensions")
    return found if isinstance(found, list) else []
