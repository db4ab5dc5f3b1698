"""UIDs of the embedded server: unique, valid, and in the order of creation."""

import time
import uuid

import pytest

from kohort.embedded.server.registry.uids import OrderedUids


def test_each_uid_is_greater_than_the_one_before() -> None:
    source = OrderedUids()
    made = [source.new() for _ in range(10_000)]
    assert made == sorted(set(made))


def test_a_clock_that_is_set_back_does_not_reorder_them(monkeypatch: pytest.MonkeyPatch) -> None:
    source = OrderedUids()
    before = source.new()
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    assert source.new() > before


def test_they_are_uuids_of_version_7_with_the_time_of_creation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_767_225_600_123_000_000)
    found = uuid.UUID(OrderedUids().new())
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert found.int >> 80 == 1_767_225_600_123
