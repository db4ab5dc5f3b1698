"""Renamed parts of the plugin API are available under their old names for one release."""

from importlib import import_module

import pytest

RENAMED = (
    ("contract", "Reads", "ClusterReader"),
    ("contract", "Watch", "WatchedKind"),
    ("contract", "told_stopped", "stopped_event"),
    ("podsets", "PodSet", "JobPodSet"),
    ("podsets", "Template", "JsonObject"),
    ("effects", "tell", "record_event"),
    ("effects", "Tell", "RecordEvent"),
    ("effects", "Object", "JsonObject"),
)


@pytest.mark.parametrize(("module", "old", "new"), RENAMED)
def test_an_old_name_works_with_a_warning(module: str, old: str, new: str) -> None:
    found = import_module(f"kohort.jobs.{module}")
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated: use {new}"):
        assert getattr(found, old) is getattr(found, new)


def test_other_names_are_unknown() -> None:
    found = import_module("kohort.jobs.contract")
    with pytest.raises(AttributeError, match="has no attribute 'Unknown'"):
        _ = found.Unknown
