"""What was made from a schema, found again by the schema's content.

A definition is a new object whenever it is written or loaded, mostly with the same schemas in it: without a cache a
change of its status, an apply that changes nothing and every further server of the process would compile them again.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

Made = TypeVar("Made")
Schema = Mapping[str, Any]


class ContentCache(Generic[Made]):
    """Immutable results by the content of the schemas they were made from; the least recently used one goes first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, Made] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(
        self, schema: Schema, make: Callable[[Schema], Made], is_kept: Callable[[Made], bool] | None = None
    ) -> Made:
        """The result for a schema, made where there is none; one that is not kept is made again the next time."""
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


def _digest(schema: Schema) -> bytes | None:
    """A digest of the content, in which the order of members counts as it does for messages; None if it is not JSON."""
    try:
        return sha256(msgspec.json.encode(schema)).digest()
    except (TypeError, ValueError, RecursionError):
        return None
