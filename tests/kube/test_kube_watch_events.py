import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.core.config_objects import ConfigMap
from kohort.api.meta import ObjectKey
from kohort.kube.errors import LostResponseError, StatusError, expired
from kohort.kube.resource_types import UndecodableObject, typed_resource
from kohort.kube.watch_events import LineSplitter, WatchEvent, WatchEventType, decode_events

KIND = typed_resource(ConfigMap)


def frame(what: str, obj: Any) -> bytes:
    return json.dumps({"type": what, "object": obj}).encode()


def config_map(name: str, version: str, **data: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": name, "uid": "u", "resourceVersion": version}, "data": data}


def read(*lines: bytes) -> list[WatchEvent[ConfigMap]]:
    return list(decode_events(list(lines), KIND))


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.integers(1, 9))
def test_lines_are_the_same_wherever_the_network_cuts(lines: list[bytes], size: int) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cutter = LineSplitter()
    found = [line for at in range(0, len(text), size) for line in cutter.feed(text[at : at + size])]
    assert found == [line for line in lines if line.strip()]
    assert not cutter.is_cut


def test_a_line_of_many_megabytes_in_many_pieces_is_one_line() -> None:
    cutter, piece = LineSplitter(), b"x" * 65536
    assert [line for _ in range(160) for line in cutter.feed(piece)] == []
    assert [len(line) for line in cutter.feed(b"\n")] == [160 * 65536]


def test_a_line_without_end_is_given_up() -> None:
    cutter = LineSplitter(limit=1000)
    with pytest.raises(LostResponseError, match="exceeds 1000 bytes"):
        cutter.feed(b"x" * 1001)


def test_what_did_not_end_in_a_newline_is_known_to_be_cut() -> None:
    cutter = LineSplitter()
    assert cutter.feed(b"one\ntw") == [b"one"]
    assert cutter.is_cut


def test_events_carry_type_revision_and_object() -> None:
    added, mark = read(
        frame("ADDED", config_map("a", "5", key="1")), frame("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    )
    assert (added.type, added.version) == (WatchEventType.ADDED, "5")
    assert isinstance(added.object, ConfigMap)
    assert added.object.data == {"key": "1"}
    assert mark == WatchEvent(WatchEventType.BOOKMARK, "9", None)


def test_an_error_event_is_raised_as_the_status_it_is() -> None:
    with pytest.raises(StatusError) as caught:
        read(frame("ERROR", expired("too old").to_status()))
    assert caught.value.is_expired


@pytest.mark.parametrize("line", [b"{", b"[]", b"17", frame("SURPRISE", {}), frame("ADDED", None), frame("ADDED", [])])
def test_what_is_no_event_ends_the_watch(line: bytes) -> None:
    with pytest.raises(LostResponseError):
        read(line)


def test_an_object_that_cannot_be_read_is_reported_by_name() -> None:
    (change,) = read(frame("MODIFIED", {**config_map("odd", "6"), "data": ["not", "a", "map"]}))
    assert isinstance(change.object, UndecodableObject)
    assert change.object.identity.key == ObjectKey("ns", "odd")
    assert change.version == "6"
