"""YAML output: block style, insertion order, reproducible."""

from collections.abc import Sequence

import yaml

from kohort.api.codec import Json

_DUMPER = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper
_NEVER_WRAP = 2**20


class _Lines(_DUMPER):  # type: ignore[misc, valid-type]  # one of two classes, by what the library was built with
    """Writes multi-line strings as literal blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Lines.add_representer(str, _text)


def to_yaml(value: Json) -> str:
    """A value as YAML."""
    return str(
        yaml.dump(
            value, Dumper=_Lines, sort_keys=False, allow_unicode=True, width=_NEVER_WRAP, default_flow_style=False
        )
    )


def to_documents(objects: Sequence[Json]) -> str:
    """Objects as a stream of YAML documents."""
    return "".join(f"---\n{to_yaml(each)}" for each in objects)
