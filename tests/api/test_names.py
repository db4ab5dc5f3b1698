from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.fields import ErrorKind, Path
from kohort.api.names import (
    MAX_ANNOTATIONS_BYTES,
    annotation_errors,
    check_annotation_key,
    check_dns1035_label,
    check_label,
    check_label_value,
    check_qualified_name,
    check_subdomain,
    label_errors,
)

LABELS = Path("metadata.labels")
ANNOTATIONS = Path("metadata.annotations")
CHECKS = [check_label, check_subdomain, check_dns1035_label, check_qualified_name, check_label_value]


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (check_label, "team-a"),
        (check_label, "0"),
        (check_label, "a" * 63),
        (check_subdomain, "team-a.example.com"),
        (check_subdomain, "a" * 253),
        (check_dns1035_label, "web-1"),
        (check_qualified_name, "cpu"),
        (check_qualified_name, "nvidia.com/gpu"),
        (check_qualified_name, "My.Name_1"),
        (check_qualified_name, f"{'a' * 253}/{'B' * 63}"),
        (check_label_value, ""),
        (check_label_value, "A_b.c-1"),
        (check_annotation_key, "Example.COM/Key"),
    ],
)
def test_a_valid_name_is_fine(check: Callable[[str], str | None], value: str) -> None:
    """API-17."""
    assert check(value) is None


@pytest.mark.parametrize(
    ("check", "value", "reason"),
    [
        (check_label, "", "must not be empty"),
        (check_label, "Team", "use lower case"),
        (check_label, "a.b", "is malformed"),
        (check_label, "a\n", "is malformed"),
        (check_label, "-a", "start and end"),
        (check_label, "a" * 64, "write at most 63"),
        (check_label, "é", "is malformed"),
        (check_subdomain, "a..b", "is malformed"),
        (check_subdomain, "a.-b", "is malformed"),
        (check_subdomain, "a" * 254, "write at most 253"),
        (check_dns1035_label, "1-web", "start with a letter"),
        (check_qualified_name, "", "name part must not be empty"),
        (check_qualified_name, "a/b/c", "more than one '/'"),
        (check_qualified_name, "/gpu", "prefix part must not be empty"),
        (check_qualified_name, "Nvidia.com/gpu", "prefix part is malformed"),
        (check_qualified_name, "nvidia.com/", "name part must not be empty"),
        (check_qualified_name, f"{'a' * 254}/b", "prefix part has 254 characters"),
        (check_qualified_name, f"a/{'b' * 64}", "name part has 64 characters"),
        (check_label_value, "-", "start and end"),
        (check_label_value, "a" * 64, "write at most 63"),
        (check_annotation_key, "a b", "name part is malformed"),
    ],
)
def test_a_bad_name_is_refused_with_its_remedy(check: Callable[[str], str | None], value: str, reason: str) -> None:
    """API-17."""
    assert reason in (check(value) or "")


@given(st.text(), st.sampled_from(CHECKS))
def test_every_reason_is_one_line(value: str, check: Callable[[str], str | None]) -> None:
    assert len((check(value) or "fine").splitlines()) == 1


def test_every_bad_key_and_value_of_labels_is_reported_at_the_map() -> None:
    """API-39, API-58."""
    errors = label_errors({"ok": "yes", "-bad": "fine", "a/b/c": "no good"}, LABELS, "API-39")
    assert [(error.path, error.value, error.kind, error.rule) for error in errors] == [
        (LABELS, "-bad", ErrorKind.INVALID, "API-39"),
        (LABELS, "a/b/c", ErrorKind.INVALID, "API-39"),
        (LABELS, "no good", ErrorKind.INVALID, "API-39"),
    ]


def test_good_labels_have_no_errors() -> None:
    assert label_errors({"app.kubernetes.io/name": "kohort", "empty": ""}, LABELS) == []


def test_annotation_keys_are_checked_in_lower_case_and_values_are_free() -> None:
    """API-58."""
    errors = annotation_errors({"Example.com/Note": "any text, even with spaces\n", "bad key": ""}, ANNOTATIONS)
    assert [(error.path, error.value) for error in errors] == [(ANNOTATIONS, "bad key")]


def test_annotations_are_measured_together_in_bytes() -> None:
    """API-58."""
    most = {"a": "x" * (MAX_ANNOTATIONS_BYTES // 2 - 1), "b": "é" * (MAX_ANNOTATIONS_BYTES // 4 - 1) + "x"}
    assert annotation_errors(most, ANNOTATIONS) == []
    (error,) = annotation_errors(most | {"b": "é" * (MAX_ANNOTATIONS_BYTES // 4)}, ANNOTATIONS)
    assert (error.path, error.kind) == (ANNOTATIONS, ErrorKind.TOO_LONG)
    assert "262144" in error.detail


def test_a_lone_surrogate_in_an_annotation_is_measured_not_tripped_over() -> None:
    assert annotation_errors({"a": "\ud800"}, ANNOTATIONS) == []
