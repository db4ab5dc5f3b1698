import pytest

from lint.unique_names import duplicate_names


@pytest.mark.parametrize(
    "definition", ["class Usage: ...", "Usage = dict[str, int]", "Usage: TypeAlias = dict[str, int]"]
)
def test_a_public_name_defined_twice_is_found_with_both_modules(definition: str) -> None:
    sources = {"engine/quota.py": definition, "embedded/usage.py": "class Usage: ..."}
    assert duplicate_names(sources) == ["Usage: defined in embedded/usage.py, engine/quota.py"]


@pytest.mark.parametrize("definition", ["class _Usage: ...", "USAGE = 1", "T = TypeVar('T')", "usage = 1"])
def test_private_names_constants_and_type_variables_may_repeat(definition: str) -> None:
    assert duplicate_names({"a.py": definition, "b.py": definition}) == []


def test_the_two_versions_of_an_api_are_one_definition() -> None:
    sources = {"api/v1beta1/queues.py": "class Cohort: ...", "api/v1beta2/queues.py": "class Cohort: ..."}
    assert duplicate_names(sources) == []
    sources["engine/records.py"] = "class Cohort: ..."
    assert duplicate_names(sources) == ["Cohort: defined in api/v1beta1/queues.py, engine/records.py"]


def test_names_of_upstream_may_repeat() -> None:
    assert duplicate_names({"api/config.py": "class FairSharing: ...", "api/queues.py": "class FairSharing: ..."}) == []
