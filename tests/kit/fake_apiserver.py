"""A small API server in memory: revisions, paged lists, watches with bookmarks, writes with conflicts.

It always behaves as specified; faults in transport are injected by `kit.faults`. What a server itself can do to its
clients (compact its history, restart with another one) are methods for the test to call.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from kit.responses import CannedResponse
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.kube import errors
from kohort.kube.errors import ErrorSubject, StatusError
from kohort.kube.transport import Request, Response

StorageKey = tuple[str, ObjectKey]
"""Collection (`pods`) and object key."""


@dataclass(frozen=True)
class HistoryEntry:
    """One event of the history."""

    revision: int
    type: str
    collection: str
    object: dict[str, Any]


@dataclass(frozen=True)
class ResourcePath:
    """The parts of a request path."""

    collection: str
    namespace: str
    name: str = ""
    subresource: str = ""

    @classmethod
    def parse(cls, path: str) -> "ResourcePath":
        parts = [unquote(part) for part in path.strip("/").split("/")]
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            namespace, parts = parts[1], parts[2:]
        return cls(parts[0], namespace, *parts[1:3])

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)


class FakeApiServer:
    """The server as a Transport in the same process."""

    def __init__(self) -> None:
        self.revision = 0
        self.oldest = 0
        self.objects: dict[StorageKey, dict[str, Any]] = {}
        self.history: list[HistoryEntry] = []
        self.snapshots: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[Request] = []
        self.expires_in_stream = False
        """Whether an expired watch gets an ERROR event instead of the HTTP status."""
        self.warning = ""
        self.responses: dict[str, CannedResponse] = {}
        """Canned responses by path: discovery documents, logs."""
        self._uids = itertools.count(1)
        self._tokens = itertools.count(1)
        self._moved = asyncio.Event()
        self._ended = asyncio.Event()
        self._bookmarks = 0

    # Called by tests

    def put(self, collection: str, key: tuple[str, str], **content: Any) -> dict[str, Any]:
        """Create or change an object."""
        old = self.objects.get((collection, ObjectKey(*key)))
        metadata = dict(old["metadata"]) if old else {"name": key[1], "uid": f"uid-{next(self._uids)}"}
        if key[0]:
            metadata["namespace"] = key[0]
        return self._write("MODIFIED" if old else "ADDED", collection, {"metadata": metadata, **content})

    def remove(self, collection: str, key: tuple[str, str]) -> None:
        """Delete an object, if it is there."""
        if (collection, ObjectKey(*key)) in self.objects:
            self._write("DELETED", collection, deepcopy(self.objects[collection, ObjectKey(*key)]))

    def compact(self) -> None:
        """Drop the history: older watches and unfinished lists have expired."""
        self.oldest = self.revision
        self.history.clear()
        self.snapshots.clear()

    def bookmark(self) -> None:
        """Send the current revision to every watch."""
        self._bookmarks += 1
        self._wake()

    def end_watches(self) -> None:
        """Close every watch, as a server does when its timeout passes."""
        self._ended.set()
        self._ended = asyncio.Event()

    def restart_empty(self) -> None:
        """Restart with an empty store and with revisions from the start."""
        self.__dict__.update(FakeApiServer().__dict__ | {"requests": self.requests, "_uids": self._uids})

    def roll_back(self, entries: int) -> None:
        """Restart with the state of some revisions ago, as from a backup."""
        kept = self.history[: max(0, len(self.history) - entries)]
        lost = {(entry.collection, _key(entry.object)) for entry in self.history[len(kept) :]}
        for place in lost:
            self.objects.pop(place, None)
        for entry in kept:
            place = (entry.collection, _key(entry.object))
            if place in lost and entry.type == "DELETED":
                self.objects.pop(place, None)
            elif place in lost:
                self.objects[place] = entry.object
        self.history = kept
        self.revision = kept[-1].revision if kept else self.oldest
        self.snapshots.clear()

    def state(self, collection: str) -> dict[ObjectKey, dict[str, Any]]:
        """All objects of a collection."""
        return {place[1]: found for place, found in self.objects.items() if place[0] == collection}

    # Called by clients

    async def send(self, request: Request, timeout: float) -> Response:
        self.requests.append(request)
        headers = {"Warning": f'299 - "{self.warning}"'} if self.warning else {}
        try:
            if request.path in self.responses:
                return self.responses[request.path]
            return self._route(request, headers)
        except StatusError as error:
            seconds = {"Retry-After": str(int(error.retry_after))} if error.retry_after else {}
            return CannedResponse(error.code, json.dumps(error.to_status()).encode(), headers | seconds)

    async def close(self) -> None:
        self.end_watches()

    def _route(self, request: Request, headers: dict[str, str]) -> Response:
        target, query = ResourcePath.parse(request.path), dict(request.query)
        if request.method == "GET" and query.get("watch") == "1":
            return self._watch(target, query)
        handlers = {"GET": self._get, "POST": self._create, "PUT": self._update, "PATCH": self._patch}
        handler = self._delete if request.method == "DELETE" else handlers[request.method]
        return CannedResponse(200, json.dumps(handler(target, request)).encode(), headers)

    def _get(self, target: ResourcePath, request: Request) -> dict[str, Any]:
        return self._found(target) if target.name else self._list(target, dict(request.query))

    def _found(self, target: ResourcePath) -> dict[str, Any]:
        found = self.objects.get((target.collection, target.key))
        if found is None:
            raise errors.not_found(ErrorSubject(target.collection, name=target.name))
        return found

    def _list(self, target: ResourcePath, query: dict[str, str]) -> dict[str, Any]:
        limit = int(query.get("limit", "0"))
        token, _, start = query.get("continue", "").partition(":")
        if token and token not in self.snapshots:
            raise errors.expired("the provided continue parameter is too old")
        if not token:
            token = f"{self.revision}-{next(self._tokens)}"
            self.snapshots[token] = self._selected(target)
        items, first = self.snapshots[token], int(start or 0)
        end = first + limit if limit else len(items)
        metadata = {"resourceVersion": token.partition("-")[0]}
        if end < len(items):
            metadata["continue"] = f"{token}:{end}"
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items[first:end]}

    def _selected(self, target: ResourcePath) -> list[dict[str, Any]]:
        return [
            found
            for (collection, key), found in sorted(self.objects.items())
            if collection == target.collection and target.namespace in ("", key.namespace)
        ]

    def _create(self, target: ResourcePath, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(request.body)
        if target.subresource:
            return body
        metadata = {"uid": f"uid-{next(self._uids)}", **body["metadata"]}
        if target.namespace:
            metadata["namespace"] = target.namespace
        if (target.collection, ObjectKey(target.namespace, metadata["name"])) in self.objects:
            raise errors.already_exists(ErrorSubject(target.collection, name=metadata["name"]))
        return self._write("ADDED", target.collection, {**body, "metadata": metadata})

    def _update(self, target: ResourcePath, request: Request) -> dict[str, Any]:
        return self._replace(target, json.loads(request.body))

    def _patch(self, target: ResourcePath, request: Request) -> dict[str, Any]:
        patch = json.loads(request.body)
        if isinstance(patch, list):
            patch = {operation["path"].strip("/"): operation.get("value") for operation in patch}
        return self._replace(target, merge(self._found(target), patch))

    def _replace(self, target: ResourcePath, new: dict[str, Any]) -> dict[str, Any]:
        old = self._found(target)
        if new["metadata"].get("resourceVersion", "") not in ("", old["metadata"]["resourceVersion"]):
            raise errors.conflict(ErrorSubject(target.collection, name=target.name), errors.MODIFIED)
        return self._write("MODIFIED", target.collection, new)

    def _delete(self, target: ResourcePath, _request: Request) -> dict[str, Any]:
        self._found(target)
        self.remove(target.collection, target.key)
        return {"kind": "Status", "status": "Success"}

    def _write(self, what: str, collection: str, obj: dict[str, Any]) -> dict[str, Any]:
        self.revision += 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}
        if what == "DELETED":
            del self.objects[collection, _key(obj)]
        else:
            self.objects[collection, _key(obj)] = obj
        self.history.append(HistoryEntry(self.revision, what, collection, obj))
        self._wake()
        return obj

    # Watches

    def _watch(self, target: ResourcePath, query: dict[str, str]) -> Response:
        since = int(query["resourceVersion"])
        if since > self.revision:
            cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            raise StatusError(504, "Timeout", f"Too large resource version: {since}", {"causes": [cause]})
        if since < self.oldest:
            gone = errors.expired(f"too old resource version: {since} ({self.oldest})")
            if not self.expires_in_stream:
                raise gone
            return CannedResponse(200, json.dumps({"type": "ERROR", "object": gone.to_status()}).encode() + b"\n")
        return _Stream(self, target, since)

    def _wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def after(self, revision: int, target: ResourcePath) -> list[HistoryEntry]:
        """The events that a watch has not sent yet."""
        first = len(self.history)
        while first and self.history[first - 1].revision > revision:
            first -= 1
        return [
            entry
            for entry in self.history[first:]
            if entry.collection == target.collection and target.namespace in ("", _key(entry.object).namespace)
        ]


class _Stream:
    """The response to a watch request."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, api: FakeApiServer, target: ResourcePath, since: int) -> None:
        self._api, self._target, self._since = api, target, since
        self._ended = api._ended
        self._closed = asyncio.Event()

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    async def close(self) -> None:
        self._closed.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        bookmarks = self._api._bookmarks
        while not (self._ended.is_set() or self._closed.is_set()):
            moved = self._api._moved
            frames = b"".join(_frame(entry.type, entry.object) for entry in self._api.after(self._since, self._target))
            self._since = max(self._since, self._api.revision)
            if bookmarks != self._api._bookmarks:
                bookmarks = self._api._bookmarks
                frames += _frame("BOOKMARK", {"metadata": {"resourceVersion": str(self._api.revision)}})
            if frames:
                yield frames
            elif not moved.is_set():
                await _first(moved, self._ended, self._closed)


def _frame(what: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": what, "object": obj}).encode() + b"\n"


async def _first(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _key(obj: dict[str, Any]) -> ObjectKey:
    return ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
