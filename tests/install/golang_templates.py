"""Renders as much of Helm's templates as our chart uses: values, conditions on lists, and YAML of a value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import yaml

Json = Any
_IF = re.compile(r"\{\{- if (.+) \}\}")
_END = "{{- end }}"
_EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
_HAS = re.compile(r'\(has "([^"]+)" ([.\w]+)\)')


class NotRenderedError(Exception):
    """The template says something that this renderer does not know."""


@dataclass(frozen=True)
class Release:
    """What a template can refer to."""

    values: Json
    namespace: str

    def rendered(self, template: str) -> str:
        """The text after rendering."""
        return "".join(f"{line}\n" for line in self._lines(template.splitlines()))

    def _lines(self, lines: list[str]) -> Iterator[str]:
        shown = True
        for line in lines:
            condition = _IF.fullmatch(line)
            if condition:
                shown = self._holds(condition[1])
            elif line == _END:
                shown = True
            elif shown:
                yield _EXPRESSION.sub(lambda found: self._text(found[1]), line)

    def _holds(self, condition: str) -> bool:
        if condition.startswith("or "):
            parts = _HAS.findall(condition)
            assert " ".join(["or", *(f'(has "{name}" {path})' for name, path in parts)]) == condition
            return any(name in self._value(path) for name, path in parts)
        return bool(self._value(condition))

    def _text(self, expression: str) -> str:
        block = re.fullmatch(r"toYaml (\S+) \| indent (\d+)", expression)
        if block:
            return indent(yaml.safe_dump(self._value(block[1])).rstrip("\n"), " " * int(block[2]))
        return str(self._value(expression))

    def _value(self, path: str) -> Json:
        if path == ".Release.Namespace":
            return self.namespace
        if not path.startswith(".Values."):
            raise NotRenderedError(path)
        value = self.values
        for name in path.removeprefix(".Values.").split("."):
            value = value[name]
        return value
