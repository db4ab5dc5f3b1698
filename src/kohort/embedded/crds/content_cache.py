"""Cache of results by the content of a schema.

A definition is a new object on every write or load, mostly with the same schemas: without the cache, a status update,
an apply without changes and every further server in the process would compile them again.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

Made = TypeVar("Made")
_Schema = Mapping[str, Any]


class ContentCache(Generic[Made]):
    """Immutable results by schema content; evicts the least recently used one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, Made] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self, schema: _Schema, make: Callable[[_Schema], Made], is_kept: Callable[[Made], bool] | None = None
    ) -> Made:
        """The result for a schema, computed if missing."""
        key = _digest(schema)
        if key is None:
            return make(schema)
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        made = make(schema)
        if is_kept is None or is_kept(made):
            with self._lock:
                self._entries[key] = made
                if len(self._entries) > self._size:
                    self._entries.popitem(last=False)
        return made


def _digest(schema: _Schema) -> bytes | None:
    """A digest of the content, including the order of members; None if it is not JSON."""
    try:
        return sha256(msgspec.json.encode(schema)).digest()
    except (TypeError, ValueError, RecursionError):
        return None
