"""Names of Workloads, which other tools compute too (JOB-39 to JOB-41, GS-15)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.resource import Resource
from kohort.jobs.names import workload_name

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
SHORT = FeatureGates(DEFAULT_GATES.on | {Gate.ShortWorkloadNames})
LONG_NAME = "a" * 60
LONG_UID = "0a1b2c3d-0000-4000-8000-000000000018"


@pytest.mark.parametrize(("extra", "name"), [("", "job-name-ef3a1"), ("1", "job-name-2514c")])
def test_check_values_of_the_specification(extra: str, name: str) -> None:
    assert workload_name(JOBS, "name", "uid", DEFAULT_GATES, extra) == name


def test_a_long_name_is_cut_and_its_hash_stays() -> None:
    assert workload_name(JOBS, LONG_NAME, LONG_UID, DEFAULT_GATES) == f"job-{LONG_NAME}-540e6"
    assert workload_name(JOBS, LONG_NAME, LONG_UID, SHORT) == f"job-{'a' * 53}-540e6"


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,300}[a-z0-9])?", fullmatch=True), st.uuids().map(str))
def test_names_fit_and_end_in_five_hex_digits(owner: str, uid: str) -> None:
    for gates, longest in ((DEFAULT_GATES, 253), (SHORT, 63)):
        name = workload_name(JOBS, owner, uid, gates)
        assert len(name) <= longest
        assert name.startswith("job-")
        assert set(name[-5:]) <= set("0123456789abcdef")
