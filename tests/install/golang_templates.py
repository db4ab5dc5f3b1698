"""Renders as much of Helm's templates as our chart uses: conditions, loops and variables on own lines, expressions.

The real Helm renders the chart in `make test-peers`, where it is installed.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import yaml

Json = Any
_IF = re.compile(r"\{\{- if (.+) \}\}")
_RANGE = re.compile(r"\{\{- range (\$\w+) := (.+) \}\}")
_ELSE, _END = "{{- else }}", "{{- end }}"
_LET = re.compile(r"\{\{- (\$\w+) := (.+) \}\}")
_EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
_BLOCK = re.compile(r"\s*\{\{- (toYaml .+) \}\}")
_TOKEN = re.compile(r'"[^"]*"|[()|]|[^\s()|]+')


class NotRenderedError(Exception):
    """The template contains something that this renderer does not support."""


def _dig(*arguments: Json) -> Json:
    *names, otherwise, found = arguments
    for name in names:
        if name not in found:
            return otherwise
        found = found[name]
    return found


def _overwritten(found: Json, other: Json) -> Json:
    if not (isinstance(found, dict) and isinstance(other, dict)):
        return other
    return {**found, **{name: _overwritten(found.get(name), value) for name, value in other.items()}}


def _first_true(*values: Json) -> Json:
    return next((value for value in values if value), values[-1])


_FUNCTIONS: dict[str, Callable[..., Json]] = {
    "deepCopy": copy.deepcopy,
    "default": lambda otherwise, value: value or otherwise,
    "dict": lambda *members: dict(zip(members[::2], members[1::2], strict=True)),
    "dig": _dig,
    "first": lambda values: values[0],
    "has": lambda value, values: value in values,
    "index": lambda values, position: values[position],
    "last": lambda values: values[-1],
    "list": lambda *values: list(values),
    "lower": lambda text: text.lower(),
    "mergeOverwrite": _overwritten,
    "nindent": lambda spaces, text: "\n" + indent(text, " " * spaces),
    "not": lambda value: not value,
    "or": _first_true,
    "printf": lambda text, *values: text % values,
    "replace": lambda old, new, text: text.replace(old, new),
    "splitList": lambda separator, text: text.split(separator),
    "ternary": lambda yes, no, holds: yes if holds else no,
    "toJson": json.dumps,
    "toYaml": lambda value: yaml.safe_dump(value).rstrip("\n"),
}


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a loop up to its end."""
    depth = 1
    for line in lines:
        depth += bool(_IF.fullmatch(line) or _RANGE.fullmatch(line)) - (line == _END)
        if depth == 0:
            return
        yield line


@dataclass(frozen=True)
class Release:
    """What a template can refer to."""

    values: Json
    namespace: str
    variables: dict[str, Json] = field(default_factory=dict)

    def rendered(self, template: str) -> str:
        """The text after rendering."""
        return "".join(f"{line}\n" for line in self._lines(template.splitlines()))

    def _lines(self, lines: list[str]) -> Iterator[str]:
        conditions: list[bool] = []
        left = iter(lines)
        for line in left:
            if found := _RANGE.fullmatch(line):
                body = list(_until_end(left))
                for each in self._value(found[2]) if all(conditions) else ():
                    self.variables[found[1]] = each
                    yield from self._lines(body)
            elif found := _IF.fullmatch(line):
                conditions.append(all(conditions) and bool(self._value(found[1])))
            elif line == _ELSE:
                conditions.append(not conditions.pop() and all(conditions))
            elif line == _END:
                conditions.pop()
            elif found := _LET.fullmatch(line):
                self.variables[found[1]] = self._value(found[2])
            elif all(conditions):
                yield self._line(line)

    def _line(self, line: str) -> str:
        if found := _BLOCK.fullmatch(line):
            return str(self._value(found[1])).removeprefix("\n")
        return _EXPRESSION.sub(lambda found: str(self._value(found[1])), line)

    def _value(self, expression: str) -> Json:
        tokens = [found[0] for found in _TOKEN.finditer(expression)]
        value = self._pipeline(tokens)
        if tokens:
            raise NotRenderedError(expression)
        return value

    def _pipeline(self, tokens: list[str]) -> Json:
        value = self._command(tokens, [])
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            value = self._command(tokens, [value])
        return value

    def _command(self, tokens: list[str], piped: list[Json]) -> Json:
        function = _FUNCTIONS.get(tokens[0])
        if function is None:
            return self._operand(tokens)
        tokens.pop(0)
        arguments = []
        while tokens and tokens[0] not in ("|", ")"):
            arguments.append(self._operand(tokens))
        return function(*arguments, *piped)

    def _operand(self, tokens: list[str]) -> Json:
        word = tokens.pop(0)
        if word == "(":
            value = self._pipeline(tokens)
            tokens.pop(0)
            return value
        if word in _FUNCTIONS:
            return _FUNCTIONS[word]()
        if word.startswith(("$", ".")):
            return self._referred(word)
        return yaml.safe_load(word)

    def _referred(self, path: str) -> Json:
        path = path.removeprefix("$") if path.startswith("$.") else path
        if path == ".Release.Namespace":
            return self.namespace
        if path.startswith("$"):
            name, *members = path.split(".")
            return _dig(*members, None, self.variables[name])
        if not path.startswith(".Values."):
            raise NotRenderedError(path)
        return _dig(*path.removeprefix(".Values.").split("."), None, self.values)
