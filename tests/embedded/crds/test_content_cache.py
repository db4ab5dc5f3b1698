"""Results that schemas of the same content share."""

from typing import Any

import pytest

from embedded.crds.definitions import crd, version
from kohort.embedded.crds import default_crd, objects, prune_and_default, resources_of, shape, structure, validate_crd
from kohort.embedded.crds.content_cache import ContentCache

Json = Any


def colored(default: str) -> Json:
    return {"type": "object", "properties": {"color": {"type": "string", "default": default}}}


def problem_paths(definition: Json) -> list[str]:
    return [str(each.path) for each in validate_crd(default_crd(definition))]


def shirt() -> Json:
    return {"apiVersion": "stable.example.com/v1", "kind": "Shirt", "metadata": {"name": "a"}, "spec": {}}


def test_schemas_of_the_same_content_share_a_result() -> None:
    cache: ContentCache[object] = ContentCache(4)
    first = cache.get(colored("red"), lambda _: object())
    assert cache.get(colored("red"), lambda _: object()) is first
    assert cache.get(colored("blue"), lambda _: object()) is not first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"maximum": 1}, {"maximum": 1.0}),
        ({"maximum": 1}, {"maximum": True}),
        ({"maximum": 1}, {"maximum": "1"}),
        ({"default": None}, {}),
        ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}),
    ],
)
def test_schemas_that_could_be_treated_differently_share_nothing(one: Json, other: Json) -> None:
    cache: ContentCache[object] = ContentCache(4)
    assert cache.get(one, lambda _: object()) is not cache.get(other, lambda _: object())


def test_the_least_recently_used_result_is_dropped_first() -> None:
    cache: ContentCache[object] = ContentCache(2)
    red, blue = (cache.get(colored(name), lambda _: object()) for name in ("red", "blue"))
    assert cache.get(colored("red"), lambda _: object()) is red
    cache.get(colored("green"), lambda _: object())
    assert len(cache) == 2
    assert cache.get(colored("red"), lambda _: object()) is red
    assert cache.get(colored("blue"), lambda _: object()) is not blue


def test_what_is_not_json_is_not_kept() -> None:
    cache: ContentCache[int] = ContentCache(2)
    assert cache.get({"default": object()}, lambda _: 7) == 7
    assert cache.get({"default": "\ud800"}, lambda _: 8) == 8
    assert len(cache) == 0


def test_problems_of_a_schema_are_found_each_time_and_named_by_their_path() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {}}}}}
    entry = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    good = version("v2", storage=False)
    below = "openAPIV3Schema.properties[spec].properties[a].type"
    for _ in range(2):
        assert problem_paths(crd(entry)) == [f"spec.validation.{below}"]
        assert problem_paths(crd(good, entry)) == [f"spec.versions[1].schema.{below}"]


def test_a_schema_is_validated_and_compiled_once_for_all_definitions_that_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = colored("once")
    assert problem_paths(crd(version(spec=schema))) == []
    shape(resources_of(crd(version(spec=schema)))[0], shirt())

    def again(*_: Json) -> Json:
        raise AssertionError("made again")

    monkeypatch.setattr(structure, "_all_problems", again)
    monkeypatch.setattr(objects, "compile_kind", again)
    assert problem_paths(crd(version(spec=colored("once")), plural="hats")) == []
    shaped = shape(resources_of(crd(version(spec=colored("once")), plural="hats"))[0], shirt())
    assert shaped.object["spec"] == {"color": "once"}


def test_a_change_of_the_definition_or_of_an_object_does_not_reach_others_with_the_same_schema() -> None:
    def definition() -> Json:
        return crd(
            version(
                spec={
                    "type": "object",
                    "properties": {
                        "sizes": {"type": "object", "default": {"s": 1}, "x-kubernetes-preserve-unknown-fields": True}
                    },
                }
            )
        )

    first, second = definition(), definition()
    resource, other = resources_of(first)[0], resources_of(second)[0]
    shape(resource, shirt()).object["spec"]["sizes"]["s"] = 2
    prune_and_default(first, shirt())["spec"]["sizes"]["s"] = 2
    spec = first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["sizes"]["default"]["s"] = 3
    assert shape(other, shirt()).object["spec"] == {"sizes": {"s": 1}}
    assert prune_and_default(second, shirt())["spec"] == {"sizes": {"s": 1}}
