"""Kubeconfigs of a cluster: its own file, and on demand a context in the files of kubectl.

The context has an entry in `extensions`: the folder of its cluster and the previous current context. So any later
process recognizes the entries of a cluster, also after a crash, and never replaces those of another one.
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
from kohort.local.kubeconfig_files import PARTS, KubeconfigDocument, default_file, edit, read_document
from kohort.local.runs import ClusterRun

log = logging.getLogger(__name__)

MARK: Final = "kohort"
"""Name of the extension in a context."""
_RENEW_SECONDS: Final = 3600.0
_PROBE_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class ContextOwner:
    """The cluster that owns a context."""

    context: str
    folder: Path
    """Folder of the cluster; unique per cluster."""
    is_persistent: bool = True
    """Whether its objects, and so its context, are kept after it stops."""


@dataclass(frozen=True, slots=True)
class KubeconfigMerge:
    """The files of kubectl to which the context is added."""

    files: tuple[Path, ...]
    """In their order of precedence."""
    is_current: bool = True
    """Whether it becomes the current context."""


@dataclass(frozen=True, slots=True)
class Published:
    """The kubeconfig files of a cluster, and the name of its context."""

    source: Path
    """The file that the API server writes and renews."""
    owner: ContextOwner
    own: Path
    """The kubeconfig of this cluster alone."""
    merge: KubeconfigMerge | None = None
    files: tuple[Path, ...] = ()
    """Files of kubectl; without a merge, an existing context of this cluster is kept up to date there."""

    @property
    def shared(self) -> Path | None:
        """The file of kubectl with the context."""
        return _file_of(self.merge.files, self.owner.context) if self.merge is not None else None

    def write(self) -> str:
        """Write all files, and return the previous current context; raises an ApiError."""
        config = self._write_own()
        if self.merge is not None:
            return add_context(self.merge, config, self.owner)
        self._keep_up_to_date(config)
        return ""

    def withdraw(self) -> None:
        """Restore kubectl's current context, and remove the one of an ephemeral cluster; errors are logged."""
        try:
            release_context(self.files, self.owner)
        except ApiError as error:
            log.warning("restoring the previous context failed: %s", error)

    async def follow(self) -> None:
        """Rewrite the files whenever the server has renewed its credentials, about once a year."""
        seen = self._modified()
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            if self._modified() != seen:
                seen = self._modified()
                try:
                    await asyncio.to_thread(self.renew)
                except (ApiError, OSError) as error:
                    log.warning("rewriting kubeconfig failed: %s", error)

    def renew(self) -> None:
        """Rewrite the files; the current context stays."""
        self._keep_up_to_date(self._write_own())

    def _write_own(self) -> KubeconfigDocument:
        config = renamed(read_document(self.source), self.owner.context)
        write_private(self.own, yaml.safe_dump(config, sort_keys=False).encode())
        return config

    def _keep_up_to_date(self, config: KubeconfigDocument) -> None:
        if not has_cluster(self.files, config, self.owner):
            return
        try:
            add_context(KubeconfigMerge(self.files, is_current=False), config, self.owner)
        except ApiError as error:
            log.warning("updating merged kubeconfig failed: %s", error)

    def _modified(self) -> int:
        return self.source.stat().st_mtime_ns


def renamed(config: KubeconfigDocument, name: str) -> KubeconfigDocument:
    """A kubeconfig of one cluster, with all entries renamed."""
    parts = {plural: [{"name": name, part: config[plural][0][part]}] for plural, part in PARTS}
    parts["contexts"][0]["context"] = {**parts["contexts"][0]["context"], "cluster": name, "user": name}
    return {**config, **parts, "current-context": name}


def current_context(files: tuple[Path, ...]) -> str:
    """The current context of kubectl; empty if none."""
    found = (str(read_document(each).get("current-context") or "") for each in files)
    return next(filter(None, found), "")


def current_context_text(files: tuple[Path, ...]) -> str:
    """A line about the current context of kubectl."""
    try:
        name = current_context(files)
    except ApiError as error:
        return str(error)
    return f"the current context of kubectl is {name}" if name else "kubectl has no current context"


def has_cluster(files: tuple[Path, ...], config: KubeconfigDocument, owner: ContextOwner) -> bool:
    """Whether one of the files has this cluster; False for unreadable files."""
    try:
        file = _file_of(files, owner.context)
        return file is not None and not _conflict(read_document(file), config, owner)
    except ApiError:
        return False


def add_context(merge: KubeconfigMerge, config: KubeconfigDocument, owner: ContextOwner) -> str:
    """Add or update the context in kubectl's files and make it current; returns the previous one.

    Raises an ApiError if entries of its name belong to another cluster, or a file cannot be written.
    """
    files, first = merge.files, default_file(merge.files)
    for each in files:
        _refuse_conflict(each, read_document(each), config, owner)
    target = _file_of(files, owner.context) or first
    previous = current_context(files)
    marked = {"folder": str(owner.folder), "keeps": owner.is_persistent}
    if merge.is_current and previous != owner.context:
        marked["previous"] = previous

    def merged(document: KubeconfigDocument) -> KubeconfigDocument:
        # Check again: the file was not locked before.
        _refuse_conflict(target, document, config, owner)
        found = _merged(document, config, marked)
        return using(found) if merge.is_current and target == first else found

    def using(document: KubeconfigDocument) -> KubeconfigDocument:
        return {"apiVersion": "v1", "kind": "Config", **document, "current-context": owner.context}

    edit(target, merged)
    if merge.is_current and target != first:
        edit(first, using)
    return previous


def release_context(files: tuple[Path, ...], owner: ContextOwner) -> None:
    """Restore the previous current context, and remove the context of an ephemeral cluster."""
    home = _file_of(files, owner.context)
    mark = _mark_of(_entry(read_document(home), "contexts", owner.context)) if home is not None else {}
    if home is None or mark.get("folder") != str(owner.folder):
        return
    names = {str(each.get("name")) for file in files for each in read_document(file).get("contexts") or ()}
    others = names - {owner.context}
    restored = None
    if "previous" in mark or not owner.is_persistent:
        previous = mark.get("previous")
        restored = previous if previous in others else ""
        if not restored and owner.is_persistent and not others:
            # The only context: a stopped cluster is better than none.
            restored = owner.context
    for file in files:
        if file.exists():
            edit(file, partial(_released, owner=owner, previous=mark.get("previous"), current=restored))


def release_crashed(directory: ClusterDirectory, run: ClusterRun) -> None:
    """Call `release_context` for a run that was killed; raises an ApiError."""
    if run.ended is None:
        folder = directory.folder if run.keeps else directory.ephemeral_folder
        release_context(tuple(map(Path, run.kubectl_files)), ContextOwner(run.context, folder, run.keeps))


def _merged(document: KubeconfigDocument, config: KubeconfigDocument, marked: KubeconfigDocument) -> KubeconfigDocument:
    found: KubeconfigDocument = {"apiVersion": "v1", "kind": "Config", **deepcopy(document)}
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


def _context(
    before: KubeconfigDocument | None, ours: KubeconfigDocument, marked: KubeconfigDocument
) -> KubeconfigDocument:
    """The new context with what users added: a namespace, other extensions, and the previous context."""
    kept = {key: value for key, value in _mark_of(before).items() if key == "previous"}
    theirs = _part(before, "context")
    mark = {"name": MARK, "extension": {**kept, **marked}}
    return {**theirs, **ours, "extensions": [*_other_extensions(theirs), mark]}


def _released(
    document: KubeconfigDocument, owner: ContextOwner, previous: str | None, current: str | None
) -> KubeconfigDocument:
    found, name = deepcopy(document), owner.context
    if not owner.is_persistent:
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


def _refuse_conflict(path: Path, document: KubeconfigDocument, config: KubeconfigDocument, owner: ContextOwner) -> None:
    what = _conflict(document, config, owner)
    if what:
        raise ApiError(
            f"{path}: {what} {owner.context} already exists and belongs to another cluster: "
            "choose another --name, or omit --merge-kubeconfig"
        )


def _conflict(document: KubeconfigDocument, config: KubeconfigDocument, owner: ContextOwner) -> str:
    """Kind of the entry of this name that belongs to another cluster; empty if none does."""
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


def _is_left_over(mark: KubeconfigDocument, cluster: KubeconfigDocument) -> bool:
    """Whether it belongs to an ephemeral cluster that was killed."""
    if mark.get("keeps", True):
        return False
    address = urlsplit(str(cluster.get("server")))
    with suppress(OSError, ValueError):
        socket.create_connection((address.hostname or "", address.port or 443), _PROBE_SECONDS).close()
        return False
    return True


def _file_of(files: tuple[Path, ...], context: str) -> Path | None:
    """The file that defines a context: the first one, as for kubectl."""
    return next((each for each in files if _entry(read_document(each), "contexts", context) is not None), None)


def _entry(document: KubeconfigDocument, plural: str, name: str) -> KubeconfigDocument | None:
    return next((each for each in document.get(plural) or [] if each.get("name") == name), None)


def _part(entry: KubeconfigDocument | None, name: str) -> KubeconfigDocument:
    """The object of a named entry; empty if absent."""
    found = (entry or {}).get(name)
    return found if isinstance(found, dict) else {}


def _mark_of(entry: KubeconfigDocument | None) -> KubeconfigDocument:
    """Kohort's extension of a context; empty if absent."""
    for each in _extensions(_part(entry, "context")):
        if isinstance(each, dict) and each.get("name") == MARK and isinstance(each.get("extension"), dict):
            found: KubeconfigDocument = each["extension"]
            return found
    return {}


def _other_extensions(context: KubeconfigDocument) -> list[Any]:
    return [each for each in _extensions(context) if not (isinstance(each, dict) and each.get("name") == MARK)]


def _extensions(context: KubeconfigDocument) -> list[Any]:
    found = context.get("extensions")
    return found if isinstance(found, list) else []
