"""Properties that hold for any input."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api.config.configurations import v1beta1, v1beta2
from kohort.api.codec import Json, decode, encode
from kohort.api.config import v1beta1 as old
from kohort.api.config.parsing import ParsedConfiguration, ParsingContext, effective, parse_configuration
from kohort.api.config.v1beta2 import API_VERSION, Configuration
from kohort.api.docstrings import class_description, field_descriptions
from kohort.api.schema import Schema, schema_of


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.text(max_size=5), values, max_size=3)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | objects(inner), max_leaves=10)


def text_of(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.enum:
        return st.sampled_from(schema.enum)
    if schema.format == "duration":
        return st.sampled_from(["0s", "90s", "1h", "-1s", "1.5ms", "soon", ""])
    return st.sampled_from(["", "a", "batch/job", "Foo.v1.example.com", "a b", "0"]) | st.text(max_size=5)


def shaped(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of about the right type, so that all that comes after the type check is reached."""
    match schema.type:
        case "object":
            members = {name: shaped(below) for name, below in schema.properties.items()}
            if schema.additional:
                return st.dictionaries(st.text(max_size=3), shaped(schema.additional), max_size=2)
            required = {name: members.pop(name) for name in schema.required}
            return st.fixed_dictionaries(required, optional=members)
        case "array":
            return st.lists(shaped(schema.items or schema), max_size=3)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-2, 70_000)
        case "number":
            return st.floats(-2, 2, allow_nan=False)
        case "int-or-string":
            return st.sampled_from([1, 0.5, "5Gi", "much"])
        case _:
            return text_of(schema)


settings_v1beta2 = shaped(schema_of(Configuration)).map(lambda settings: {**settings, **v1beta2()})
settings_v1beta1 = shaped(schema_of(old.Configuration)).map(lambda settings: {**settings, **v1beta1()})


def check(result: ParsedConfiguration) -> None:
    assert result.errors or result.config
    assert all(error.detail for error in result.errors)


@given(anything)
def test_any_json_value_gets_a_result(value: Json) -> None:
    check(parse_configuration(value))


@given(st.sampled_from([v1beta1, v1beta2]), st.sampled_from(sorted(schema_of(Configuration).properties)), anything)
def test_any_json_value_in_any_member_gets_a_result(version: Any, member: str, value: Json) -> None:
    check(parse_configuration({**version(), member: value}))


@given(settings_v1beta1 | settings_v1beta2, st.text(max_size=20))
def test_settings_of_the_right_types_get_a_result_with_and_without_a_flag(value: Json, flag: str) -> None:
    check(parse_configuration(value))
    check(parse_configuration(value, ParsingContext(gate_flag=flag)))


@given(settings_v1beta2)
def test_printing_the_effective_configuration_and_reading_it_again_changes_nothing(value: Json) -> None:
    """API-137"""
    first = parse_configuration(value)
    if first.config is None:
        return
    printed = effective(first.config)
    second = parse_configuration(printed)

    assert second.config
    assert effective(second.config) == printed
    assert sorted(map(str, second.errors)) == sorted(map(str, first.errors))


@given(settings_v1beta1)
def test_what_comes_from_v1beta1_is_v1beta2(value: Json) -> None:
    """API-137"""
    config = parse_configuration(value).config

    if config:
        assert config.api_version == API_VERSION
        assert decode(encode(config), Configuration) == config


def described(schema: Schema) -> list[str]:
    """Fields below a node that have no description."""
    below = [*schema.properties.values(), *(node for node in (schema.items, schema.additional) if node)]
    missing = [name for node in below for name in described(node)]
    if schema.struct is None or not schema.struct.__module__.startswith("kohort.api.config"):
        return missing
    docs = field_descriptions(schema.struct)
    missing += [f"{schema.struct.__name__}.{name}" for name in schema.attributes.values() if not docs.get(name)]
    return missing if class_description(schema.struct) else [*missing, schema.struct.__name__]


def test_every_field_of_both_versions_is_described() -> None:
    assert described(schema_of(Configuration)) == []
    assert described(schema_of(old.Configuration)) == []
