"""Get and list, at one revision, optionally paged."""

from collections.abc import Sequence

from kohort.api.codec import Json
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.encoding.responses import ServerResponse
from kohort.embedded.server.encoding.serialization import ResponseFormat
from kohort.embedded.server.encoding.versions import EncodedObject, VersionConverter
from kohort.embedded.server.handlers.continue_token import ContinueToken, read_token, token_expired, write_token
from kohort.embedded.server.handlers.selection import Predicate, predicate, wanted_name
from kohort.embedded.server.requests.options import ListOptions
from kohort.embedded.storage import CompactedError, FutureRevisionError, StorageKey, Store, StoredObject
from kohort.kube.errors import ErrorSubject, StatusError, expired, not_found

_PAGE = 500


def too_large_version(requested: int, current: int) -> StatusError:
    """The error for a resourceVersion in the future."""
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    cause: dict[str, Json] = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def error_subject(resource: ServedResource, name: str = "") -> ErrorSubject:
    """Resource and name of an object in errors."""
    return ErrorSubject(resource.plural, resource.group, name)


class GetListHandler:
    """Handler of get and list."""

    def __init__(self, store: Store, versions: VersionConverter) -> None:
        self._store = store
        self._versions = versions

    def entry(self, resource: ServedResource, namespace: str, name: str) -> StoredObject:
        """A stored object; raises NotFound."""
        found = self._store.get(StorageKey(resource.key, namespace, name))
        if found is None:
            raise not_found(error_subject(resource, name))
        return found

    def find(self, key: str, namespace: str, name: str) -> StoredObject | None:
        """A stored object, or None."""
        return self._store.get(StorageKey(key, namespace, name))

    async def get(
        self, resource: ServedResource, namespace: str, name: str, response_format: ResponseFormat
    ) -> ServerResponse:
        """Returns one object."""
        found = self.entry(resource, namespace, name)
        (shown,) = await self._versions.served(resource, [found])
        return response_format.response(response_format.one(resource, shown))

    async def list(
        self, resource: ServedResource, namespace: str, options: ListOptions, response_format: ResponseFormat
    ) -> ServerResponse:
        """Returns a list of objects."""
        entries, metadata = self.select(resource, namespace, options)
        shown = await self._versions.served(resource, entries)
        return response_format.response(response_format.many(resource, shown, metadata))

    def select(
        self, resource: ServedResource, namespace: str, options: ListOptions
    ) -> tuple[Sequence[StoredObject], dict[str, Json]]:
        """The stored objects of one page, and the list's metadata."""
        start = read_token(options.continue_token) if options.continue_token else None
        chosen = predicate(resource, options)
        try:
            return self._page(resource, namespace, options, start, chosen)
        except CompactedError:
            if start is not None:
                raise token_expired() from None
            raise expired(
                f"The provided resource version is too old: {options.resource_version} ({self._store.oldest})"
            ) from None
        except FutureRevisionError as error:
            raise too_large_version(options.revision or 0, self._store.revision) from error

    def _page(
        self,
        resource: ServedResource,
        namespace: str,
        options: ListOptions,
        start: ContinueToken | None,
        chosen: Predicate | None,
    ) -> tuple[Sequence[StoredObject], dict[str, Json]]:
        at = start.revision if start else self._revision(options)
        single = wanted_name(options)
        if single is not None and at is None and start is None and (namespace or not resource.namespaced):
            return self._single(StorageKey(resource.key, namespace, single), chosen)
        after = start.key if start else None
        if chosen is None:
            listing = self._store.list(resource.key, namespace, at=at, limit=options.limit, after=after)
            return listing.entries, _list_metadata(listing.revision, listing.entries, listing.remaining)
        return self._filtered(resource, namespace, options, at, after, chosen)

    def _revision(self, options: ListOptions) -> int | None:
        """The revision to read at: old for an exact match or a continued list, else the current one."""
        requested = options.revision
        if requested is None:
            return None
        if requested > self._store.revision:
            raise too_large_version(requested, self._store.revision)
        paged = options.limit and not options.version_match
        return requested if options.version_match == "Exact" or paged else None

    def _single(self, key: StorageKey, chosen: Predicate | None) -> tuple[Sequence[StoredObject], dict[str, Json]]:
        found = self._store.get(key)
        entries = [found] if found is not None and (chosen is None or chosen(found.object)) else []
        return entries, _list_metadata(self._store.revision, entries, 0)

    def _filtered(
        self,
        resource: ServedResource,
        namespace: str,
        options: ListOptions,
        at: int | None,
        after: tuple[str, str] | None,
        chosen: Predicate,
    ) -> tuple[Sequence[StoredObject], dict[str, Json]]:
        """Selected objects up to the limit; the number that remains is unknown."""
        found: list[StoredObject] = []
        page = _PAGE if options.limit else 0
        while True:
            listing = self._store.list(resource.key, namespace, at=at, limit=page, after=after)
            at = listing.revision
            for entry in listing.entries:
                if chosen(entry.object):
                    if options.limit and len(found) == options.limit:
                        return found, _list_metadata(at, found, None)
                    found.append(entry)
            if not listing.remaining:
                return found, _list_metadata(at, found, 0)
            last = listing.entries[-1].key
            after = (last.namespace, last.name)


def _list_metadata(revision: int, entries: Sequence[EncodedObject], remaining: int | None) -> dict[str, Json]:
    """List metadata with revision and continue token; None remaining: more follow, the number is unknown."""
    metadata: dict[str, Json] = {"resourceVersion": str(revision)}
    if remaining == 0 or not entries:
        return metadata
    last = entries[-1].object["metadata"]
    metadata["continue"] = write_token(ContinueToken(revision, last.get("namespace", ""), last["name"]))
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return metadata
