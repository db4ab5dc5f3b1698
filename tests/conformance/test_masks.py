"""Masks hide what always differs between two servers, and nothing else."""

import pytest

from conformance.differences import Difference
from conformance.masks import masked
from conformance.script import OutputFormat
from conformance.step_results import StepResult, difference_of, read


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        ("uid: 0a1b2c3d-0000-4000-8000-123456789abc", "uid: <uid>"),
        ('  resourceVersion: "123"', "  resourceVersion: <revision>"),
        ('"resourceVersion": "123",', '"resourceVersion": <revision>,'),
        ('creationTimestamp: "2026-01-01T00:00:00Z"', 'creationTimestamp: "<time>"'),
        ("a     1      2m30s", "a  1  <age>"),
        ("a     1      30s   x", "a  1  <age>  x"),
        ("https://127.0.0.1:6443/api", "https://<server>/api"),
        ("--- /tmp/x/LIVE-12345/v1.ConfigMap", "--- LIVE/v1.ConfigMap"),
        ('E1116 06:47:02.204234  14048 reflector.go:2] err="context deadline exceeded"\nerror: x', "error: x"),
        ("note\nI1116 06:47:02.204234  14 reflector.go:2] very short watch: x\nerror: x", "note\nerror: x"),
        ("E1116 06:47:02.204234  14 memcache.go:2] refused", "E1116 06:47:02.204234  14 memcache.go:2] refused"),
        ("    deep:  x", "    deep:  x"),
        ("replicas: 3", "replicas: 3"),
        ("nginx:1.27 30 3x 10.1.0.0", "nginx:1.27 30 3x 10.1.0.0"),
    ],
)
def test_only_what_can_not_be_equal_is_blotted_out(output: str, seen: str) -> None:
    assert masked(output, ()) == seen


def test_json_is_compared_by_value_and_what_is_none_as_text() -> None:
    assert read('{"b": 1, "a": 2}', OutputFormat.JSON) == read('{"a":2,"b":1}', OutputFormat.JSON)
    assert read("404 page not found", OutputFormat.JSON) == "404 page not found"


def test_a_difference_covers_no_more_than_its_pattern() -> None:
    difference = Difference("version", r"v\d+")
    real, ours = str(StepResult(0, "Server: v1\nall well")), str(StepResult(0, "Server: v2\nall ill"))
    assert "+all ill" in difference_of(difference.masked(real), difference.masked(ours))
    assert "Server: v2" not in difference_of(difference.masked(real), difference.masked(ours))
