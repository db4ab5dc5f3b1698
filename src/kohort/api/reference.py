"""Reference pages in Markdown, derived from the structs: one per kind, one for the Configuration, one for the gates.

`python -m kohort.api.reference DIRECTORY` writes them. Views are not described: the Kubernetes documentation has pages
of their own for them.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kohort.api import markers as m
from kohort.api.config import v1beta1 as config_v1beta1
from kohort.api.config import v1beta2 as config_v1beta2
from kohort.api.config.common import KIND
from kohort.api.crds import property_text
from kohort.api.docstrings import class_description
from kohort.api.gates import WITHOUT_EFFECT, Gate
from kohort.api.kinds import CustomObject, KindInfo, all_kinds, kind_of
from kohort.api.kueue.conversion import V1BETA1, V1BETA2
from kohort.api.kueue.group import GROUP
from kohort.api.rules import Rule
from kohort.api.schema import Schema, schema_of
from kohort.api.struct import View

GENERATED = "<!-- Written by `make docs` from the structs; edit those. -->"
ABSENT = "—"
ROOT = "(the object)"


# A node as text

_PATTERN_NAMES = {
    m.SUBDOMAIN_REGEX: "a DNS subdomain",
    m.LABEL_REGEX: "a DNS label",
    m.QUALIFIED_NAME_REGEX: "shaped like a label key",
}
_FORMAT_NAMES = {"date-time": "time", "duration": "duration"}


def _is_foreign(node: Schema) -> bool:
    return node.struct is not None and issubclass(node.struct, View)


def _type_name(node: Schema) -> str:
    """The type in one or two words, without its members."""
    if node.items is not None:
        return f"list of {_type_name(node.items)}"
    if node.additional is not None:
        return f"map of {_type_name(node.additional)}"
    if node.struct is not None and issubclass(node.struct, View):
        return node.struct.foreign_name or node.struct.__name__
    if node.type == "int-or-string":
        return "quantity"
    if node.type == "integer" and node.format:
        return node.format
    return _FORMAT_NAMES.get(node.format, node.type)


def _limits(node: Schema) -> list[str]:
    """Constraints of a value as short texts; the constraints of a list's items follow its own."""
    bounds = node.bounds
    limits = [
        *(["one of " + ", ".join(_code(value) for value in node.enum)] if node.enum else []),
        *_range(bounds.minimum, bounds.maximum, ""),
        *_range(bounds.min_length, bounds.max_length, " characters"),
        *_range(bounds.min_items, bounds.max_items, " items"),
        *_range(bounds.min_properties, bounds.max_properties, " entries"),
        *_pattern(node),
        *_uniqueness(node),
    ]
    below = node.items or node.additional
    return limits + [f"each {limit}" for limit in _limits(below)] if below else limits


def _range(least: int | None, most: int | None, unit: str) -> list[str]:
    if least is not None and most is not None:
        return [f"{least} to {most}{unit}"]
    if least is not None:
        return [f"at least {least}{unit}"]
    return [] if most is None else [f"at most {most}{unit}"]


def _pattern(node: Schema) -> list[str]:
    if not node.pattern or node.type == "int-or-string":
        return []
    return [_PATTERN_NAMES.get(node.pattern) or f"matches {_code(node.pattern)}"]


def _uniqueness(node: Schema) -> list[str]:
    if node.merge is None or node.merge.list_type == "atomic":
        return []
    keys = " and ".join(_code(key) for key in node.merge.keys)
    return [f"unique by {keys}" if keys else "without duplicates"]


def _default(node: Schema) -> str:
    if not node.has_default or _is_foreign(node):
        return ""
    return _code(node.default if node.default and isinstance(node.default, str) else json.dumps(node.default))


def _code(text: str) -> str:
    return f"`{text}`"


# Sections: one per struct


@dataclass(frozen=True)
class ReferenceSection:
    """A struct on a page, under the path of its first occurrence."""

    title: str
    node: Schema
    also_at: list[str] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """The anchor that GitHub generates for the heading."""
        kept = (letter for letter in self.title.lower() if letter.isalnum() or letter in " -_")
        return "".join(kept).replace(" ", "-")


def _below(node: Schema) -> Schema:
    """The item type of lists and maps; else the node itself."""
    inner = node.items or node.additional
    return _below(inner) if inner else node


def _suffix(node: Schema) -> str:
    if node.items is not None:
        return "[]" + _suffix(node.items)
    return "{}" + _suffix(node.additional) if node.additional is not None else ""


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _sections(root: Schema, title: str) -> dict[type, ReferenceSection]:
    """All structs below a root, in order of appearance."""
    sections: dict[type, ReferenceSection] = {}
    _collect(root, "", title, sections)
    return sections


def _collect(node: Schema, path: str, title: str, sections: dict[type, ReferenceSection]) -> None:
    if node.struct is None or _is_foreign(node):
        return
    if node.struct in sections:
        sections[node.struct].also_at.append(path)
        return
    sections[node.struct] = ReferenceSection(title or path, node)
    for name, member in node.properties.items():
        place = _join(path, name) + _suffix(member)
        _collect(_below(member), place, "", sections)


def _section_text(section: ReferenceSection, sections: dict[type, ReferenceSection]) -> Iterator[str]:
    yield f"## {section.title}"
    if section.node.struct is not None:
        yield class_description(section.node.struct)
    if section.also_at:
        yield f"The same at {', '.join(_code(path) for path in section.also_at)}."
    yield from _fields(section.node, sections)


def _fields(node: Schema, sections: dict[type, ReferenceSection]) -> Iterator[str]:
    rows = [_field_row(node, name, sections) for name in node.properties]
    yield _table(("Field", "Type", "Required", "Default", "Limits", "Description"), rows)
    rules = [f"- {rule}" for rule in _rules(node)]
    if rules:
        yield "Rules:"
        yield "\n".join(rules)


def _field_row(owner: Schema, name: str, sections: dict[type, ReferenceSection]) -> Sequence[str]:
    node = owner.properties[name]
    return (
        _code(name + _suffix(node)),
        _linked_type(node, sections),
        "yes" if name in owner.required else "",
        _default(node),
        "; ".join(_limits(node)),
        property_text(owner, name) or _METADATA,
    )


_METADATA = "Standard object metadata: name, labels, annotations and so on."


def _linked_type(node: Schema, sections: dict[type, ReferenceSection]) -> str:
    section = sections.get(_below(node).struct or object)
    name = _type_name(node)
    return f"[{name}](#{section.anchor})" if section else name


def _rules(node: Schema) -> Iterator[str]:
    """Rules of the struct, then those of its fields."""
    yield from (_rule_text(rule) for rule in node.rules)
    for name, member in node.properties.items():
        own = member.rules if member.struct is None else ()
        yield from (f"{_code(name)}: {_rule_text(rule)}" for rule in own)


def _rule_text(rule: Rule) -> str:
    return f"{rule.message} ({rule.spec})"


# Differences between versions


@dataclass(frozen=True)
class FieldVariants:
    """The properties of a field that can differ between versions."""

    type: str
    required: bool
    default: str
    limits: tuple[str, ...]
    rules: tuple[str, ...]


def _places(node: Schema, path: str = "") -> Iterator[tuple[str, FieldVariants]]:
    for name, member in node.properties.items():
        place, inner = _join(path, name) + _suffix(member), _below(member)
        yield place, _place(member, inner, required=name in node.required)
        if not _is_foreign(inner):
            yield from _places(inner, place)


def _place(node: Schema, inner: Schema, *, required: bool) -> FieldVariants:
    rules = dict.fromkeys(rule.message for each in (node, inner) for rule in each.rules)
    return FieldVariants(_type_name(node), required, _default(node), tuple(_limits(node)), tuple(rules))


def _all_places(root: Schema) -> dict[str, FieldVariants]:
    return {ROOT: _place(root, root, required=True), **dict(_places(root))}


def _difference_rows(old: Schema, new: Schema) -> Iterator[Sequence[str]]:
    before, after = _all_places(old), _all_places(new)
    lone = before.keys() ^ after.keys()
    for path in sorted(before.keys() | after.keys()):
        if path in lone and not any(parent in lone for parent in _parents(path)):
            yield _code(path), _type_of(before.get(path)), _type_of(after.get(path))
        elif path not in lone and before[path] != after[path]:
            yield _code(path), _what_differs(before[path], after[path]), _what_differs(after[path], before[path])


def _parents(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[:depth]) for depth in range(1, len(parts)))


def _type_of(place: FieldVariants | None) -> str:
    return place.type if place else ABSENT


def _what_differs(this: FieldVariants, other: FieldVariants) -> str:
    words = []
    if this.type != other.type:
        words.append(this.type)
    if this.required != other.required:
        words.append("required" if this.required else "optional")
    if this.default != other.default:
        words.append(f"default {this.default}" if this.default else "no default")
    words.extend(limit for limit in this.limits if limit not in other.limits)
    words.extend(f"rule: {rule}" for rule in this.rules if rule not in other.rules)
    return "; ".join(words) or "no such limit"


def _differences(old: type, new: type) -> str:
    rows = list(_difference_rows(schema_of(old), schema_of(new)))
    return _table(("Field", "v1beta1", "v1beta2"), rows) if rows else "None."


# Pages


def pages() -> dict[str, str]:
    """All pages, text by file name."""
    kinds = [kind for kind in all_kinds(GROUP) if kind.info.is_storage]
    return {
        "README.md": _index(kinds),
        **{_file(kind): _kind_page(kind) for kind in kinds},
        "configuration.md": _configuration_page(),
        "feature-gates.md": _gates_page(),
    }


def _file(kind: type[CustomObject]) -> str:
    return f"{kind.info.singular}.md"


def _struct_page(struct: type, facts: str, former: type) -> str:
    """The page of a struct, with the differences of its older version."""
    sections = _sections(schema_of(struct), "Fields")
    _root, *others = sections.values()
    return _page(
        f"# {struct.__name__}",
        class_description(struct),
        facts,
        "## Fields",
        *_fields(schema_of(struct), sections),
        *(text for section in others for text in _section_text(section, sections)),
        "## Differences in v1beta1",
        _differences(former, struct),
    )


def _kind_page(kind: type[CustomObject]) -> str:
    former = kind_of(V1BETA1, kind.info.resource.kind)
    if former is None:
        raise TypeError(f"{kind.__name__} has no v1beta1")
    return _struct_page(kind, _table(("", ""), _facts(kind.info)), former)


def _facts(info: KindInfo) -> list[Sequence[str]]:
    columns = [f"{column.name}{' (wide)' if column.wide else ''}" for column in info.columns]
    return [
        ("API versions", f"{_code(V1BETA2)} (stored), {_code(V1BETA1)}"),
        ("Scope", "namespaced" if info.resource.namespaced else "cluster"),
        ("Names", ", ".join(map(_code, (info.resource.plural, info.singular, *info.short_names)))),
        ("Status", "a subresource" if info.has_status else "none"),
        ("Columns", ", ".join(columns) or "Age"),
        ("Field selectors", ", ".join(map(_code, info.selectable_fields)) or "none"),
    ]


def _configuration_page() -> str:
    facts = (
        f"The manager's configuration file: {_code(f'apiVersion: {config_v1beta2.API_VERSION}')},"
        f" {_code(f'kind: {KIND}')}. The older {_code(config_v1beta1.API_VERSION)} is supported too."
    )
    return _struct_page(config_v1beta2.Configuration, facts, config_v1beta1.Configuration)


def _gates_page() -> str:
    rows = [_gate_row(gate) for gate in sorted(Gate, key=lambda gate: gate.name)]
    idle = [(_code(name), _switch(WITHOUT_EFFECT[name])) for name in sorted(WITHOUT_EFFECT)]
    return _page(
        "# Feature gates",
        "Set them in the [Configuration](configuration.md) under `featureGates`, or with `--feature-gates`, not both.",
        _table(("Gate", "Default", "Stage", "Since", "Needs", "Purpose"), rows),
        "## Without effect",
        "Accepted with a warning, so that a configuration for Kueue need not change (API-147).",
        _table(("Gate", "Default in Kueue"), idle),
    )


def _gate_row(gate: Gate) -> Sequence[str]:
    traits = gate.value
    state = _switch(traits.default) + (" (locked)" if traits.locked else "")
    needs = ", ".join(_code(need.name) for need in gate.needs)
    return _code(gate.name), state, traits.stage.value, traits.since, needs, traits.purpose


def _switch(on: bool) -> str:  # noqa: FBT001  the value is what gets printed, not a switch
    return "on" if on else "off"


def _index(kinds: Sequence[type[CustomObject]]) -> str:
    rows = [
        (f"[{kind.__name__}]({_file(kind)})", ", ".join(map(_code, kind.info.short_names)), class_description(kind))
        for kind in sorted(kinds, key=lambda kind: kind.__name__)
    ]
    return _page(
        "# Reference",
        f"All fields of all kinds of {_code(GROUP)}, version v1beta2, with the differences of v1beta1."
        " A number such as API-24 refers to a rule of [the specification](../spec/README.md).",
        _table(("Kind", "Short names", ""), rows),
        "See also: the manager's [Configuration](configuration.md) and its [feature gates](feature-gates.md), the"
        " [job frameworks](frameworks.md) and the [commands](commands.md).",
    )


# Markdown


def _page(*parts: str) -> str:
    return "\n\n".join((GENERATED, *parts)) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str]) -> None:
    """Write the pages into the given directory."""
    if len(arguments) != 1:
        sys.exit("usage: python -m kohort.api.reference DIRECTORY")
    directory = Path(arguments[0])
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
