import pytest

from lint.harness_names import harness_faults


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("tests/a/worlds.py", "", ["tests/a/worlds.py:1: worlds"]),
        ("tests/a/world.py", "", ["tests/a/world.py:1: world"]),
        ("tests/a/job_house.py", "", ["tests/a/job_house.py:1: house"]),
        ("tests/a/harness.py", "x = 1\nclass JobWorld: ...", ["tests/a/harness.py:2: world (in JobWorld)"]),
        ("tests/a/harness.py", "class Player: ...\nclass WorldwideQuota: ...", []),
    ],
)
def test_metaphors_in_names_of_modules_and_classes_are_found(path: str, text: str, found: list[str]) -> None:
    assert harness_faults(path, text) == found
