"""Loads the recordings of tests/golden; their README.md files describe the formats."""

import json
from pathlib import Path
from typing import Any

Json = Any

FOLDER = Path(__file__).parents[2] / "golden"
SOME_TIME = "2026-01-31T12:00:00Z"


def api_recording(name: str) -> Json:
    """The cases recorded from an API server, with masks in place of values that differ from run to run."""
    return json.loads(_text("api", name))


def api_recording_with_times(name: str) -> Json:
    """The same with valid times in place of their masks."""
    return json.loads(_text("api", name).replace("<time>", SOME_TIME))


def job_recording(name: str) -> Json:
    """The cases recorded from Kueue's job integrations."""
    return json.loads(_text("jobs", name))


def _text(folder: str, name: str) -> str:
    return (FOLDER / folder / f"{name}.json").read_text(encoding="utf-8")
