"""JSON Patch (RFC 6902) with kube-apiserver's extensions: negative indices, and `replace` that also adds.

The document is copied once and changed in place. Every failure is a 422.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kohort.api.codec import Json
from kohort.embedded.patches.failures import not_decoded, unprocessable
from kohort.kube.errors import StatusError

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""Limit of the bytes added by all `copy` operations of one patch."""

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")

Operation = dict[str, Json]


def apply_json_patch(obj: Json, patch: Json) -> Json:
    """The object after all operations, in order."""
    return _Document(obj).after(_operations(patch))


def _operations(patch: Json) -> list[Operation]:
    if patch is not None and not isinstance(patch, list):
        raise not_decoded(patch, "Go value of type []handlers.jsonPatchOp")
    operations = [_operation(one) for one in patch or []]
    if len(operations) > MAX_OPERATIONS:
        why = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")
    return operations


def _operation(operation: Json) -> Operation:
    if operation is None:
        return {}
    if not isinstance(operation, dict):
        raise not_decoded(operation, "Go value of type handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise not_decoded(value, f"Go struct field jsonPatchOp.{name} of type string")
    return operation


class _Document:
    """The object during patching."""

    def __init__(self, obj: Json) -> None:
        self.root = _copy(obj)
        self.copied = 0

    def after(self, operations: list[Operation]) -> Json:
        for operation in operations:
            name = operation.get("op")
            perform = _PERFORM.get(name) if isinstance(name, str) else None
            if perform is None:
                raise unprocessable()
            perform(self, operation)
        return self.root

    def add(self, operation: Operation) -> None:
        self.put(_tokens(operation, "path"), _copy(operation.get("value")))

    def remove(self, operation: Operation) -> None:
        self.take(_tokens(operation, "path"))

    def replace(self, operation: Operation) -> None:
        tokens, value = _tokens(operation, "path"), _copy(operation.get("value"))
        if not tokens:
            if not isinstance(value, dict | list):
                raise unprocessable()
            self.root = value
            return
        container, last = self.container(tokens)
        if isinstance(container, dict):
            container[last] = value
        else:
            container[_position(last, len(container))] = value

    def move(self, operation: Operation) -> None:
        value = self.take(_tokens(operation, "from"))
        self.put(_tokens(operation, "path"), value)

    def copy(self, operation: Operation) -> None:
        source, target = _tokens(operation, "from"), _tokens(operation, "path")
        value = self.get(source)
        encoded = msgspec.json.encode(value)
        self.copied += len(encoded)
        if self.copied > MAX_COPIED_BYTES:
            raise unprocessable()
        self.put(target, msgspec.json.decode(encoded))

    def test(self, operation: Operation) -> None:
        tokens = _tokens(operation, "path")
        found = self.get(tokens) if tokens else self.root
        if not same(found, operation.get("value")):
            raise unprocessable()

    def get(self, tokens: list[str]) -> Json:
        """The value at a path; a missing member is null, a missing item an error."""
        container, last = self.container(tokens)
        if isinstance(container, dict):
            return container.get(last)
        return container[_position(last, len(container))]

    def put(self, tokens: list[str], value: Json) -> None:
        container, last = self.container(tokens)
        if isinstance(container, dict):
            container[last] = value
        elif last == "-":
            container.append(value)
        else:
            container.insert(_position(last, len(container) + 1), value)

    def take(self, tokens: list[str]) -> Json:
        container, last = self.container(tokens)
        if isinstance(container, list):
            return container.pop(_position(last, len(container)))
        if last not in container:
            raise unprocessable()
        return container.pop(last)

    def container(self, tokens: list[str]) -> tuple[Any, str]:
        """The object or list that contains a path, and the last token."""
        if not tokens:
            raise unprocessable()
        value = self.root
        for token in tokens[:-1]:
            if isinstance(value, dict):
                value = value.get(token)
            elif isinstance(value, list):
                value = value[_position(token, len(value))]
        if not isinstance(value, dict | list):
            raise unprocessable()
        return value, tokens[-1]


_PERFORM: dict[str, Callable[[_Document, Operation], None]] = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "copy": _Document.copy,
    "test": _Document.test,
}


def _tokens(operation: Operation, name: str) -> list[str]:
    """The tokens of a pointer. Text before the first slash and unknown escapes are ignored."""
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise unprocessable()
    steps = pointer.split("/")[1:]
    if pointer and not steps:
        raise unprocessable()
    return [_unescaped(step) if "~" in step else step for step in steps]


def _unescaped(step: str) -> str:
    return re.sub("~[01]", lambda found: "~" if found[0] == "~0" else "/", step)


def _position(token: str, length: int) -> int:
    """The index of a token in a list of this length; negative ones count from the end."""
    index = int(token) if _INDEX.fullmatch(token) else length
    if not -length <= index < length:
        raise unprocessable()
    return index % length


def same(one: Json, other: Json) -> bool:
    """Strict JSON equality: true is not 1, and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _copy(value: Json) -> Json:
    return msgspec.json.decode(msgspec.json.encode(value)) if isinstance(value, dict | list) else value
