"""Validates custom resources by schema, with kube-apiserver's messages.

A schema is compiled once to closures. `ratcheting` removes errors of unchanged parts afterwards.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ErrorKind
from kohort.embedded.crds.formats import format_check
from kohort.embedded.crds.scalars import ScalarProblem, counted, not_whole, scalar_problems
from kohort.embedded.crds.value_paths import MapKey, ValuePath, steps_of


class SchemaViolation(NamedTuple):
    """An error and its path; errors in an alternative of a schema are tied to the value as a whole."""

    trail: ValuePath
    kind: ErrorKind
    detail: str
    value: Any = NO_VALUE
    tied: int | None = None
    """Number of path steps that are comparable with the former object; all by default."""
    is_placeless: bool = False
    """Whether the path is in the message only."""


Findings = list[SchemaViolation]
SchemaCheck = Callable[[Json, ValuePath, Findings], None]


def dotted(trail: ValuePath) -> str:
    """A path as written inside a message."""
    text = ""
    for step in steps_of(trail):
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else step)
    return text


def check_of(schema: Mapping[str, Any]) -> SchemaCheck:
    """The check of values by a schema."""
    return _check_of(schema) or _unchecked


def _unchecked(_value: Json, _trail: ValuePath, _found: Findings) -> None:
    pass


def _check_of(schema: Mapping[str, Any]) -> SchemaCheck | None:
    parts = [each for each in (_content_check(schema), *_combinations(schema)) if each]
    rest = _all_of_these(parts) if len(parts) > 1 else (parts[0] if parts else None)
    wanted = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type")]
    return rest if wanted == [None] else _typed_check([str(each) for each in wanted], rest, schema)


def _all_of_these(parts: list[SchemaCheck]) -> SchemaCheck:
    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        for part in parts:
            part(value, trail, found)

    return check


# Types

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _typed_check(wanted: list[str], rest: SchemaCheck | None, schema: Mapping[str, Any]) -> SchemaCheck:
    allowed = {kind for name in wanted for kind in _PYTHON_TYPES[name]}
    allowed |= {type(None)} if schema.get("nullable") else set()
    names = ",".join(wanted)
    on_null = _scalar_check({"enum": schema.get("enum")}) or _unchecked
    on_mistyped = _all_of_these([_scalar_check(schema) or _unchecked, *_combinations(schema)])

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        kind = type(value)
        if kind not in allowed:
            found.append(_mistyped(trail, *_type_mismatch(kind, names, str(schema.get("format") or ""))))
            if kind is float and names == "integer":
                found.append(_placed(not_whole(schema), trail))
            on_mistyped(value, trail, found)
        elif value is None:
            on_null(value, trail, found)
        elif rest is not None:
            rest(value, trail, found)

    return check


_FORMATS = {int: "int64", float: "float64"}


def _type_mismatch(kind: type, names: str, form: str) -> tuple[str, str]:
    """Expected and actual type; for a schema with a format, the format."""
    is_known = form in ("int32", "int64", "float", "double") or format_check(form) is not None
    if is_known and kind in (dict, int, float, bool):
        return form, _FORMATS.get(kind, "")
    return names, _NAMES.get(kind, kind.__name__)


def _mistyped(trail: ValuePath, wanted: str, given: str) -> SchemaViolation:
    detail = f'{dotted(trail)} in body must be of type {wanted}: "{given}"'
    return SchemaViolation(trail, ErrorKind.TYPE_INVALID, detail, given)


# Content


def _content_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    parts = [part for part in (_scalar_check(schema), _list_check(schema), _object_check(schema)) if part]
    return _all_of_these(parts) if len(parts) > 1 else (parts[0] if parts else None)


def _scalar_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    problems = scalar_problems(schema)
    if not problems:
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        for problem in problems:
            answer = problem(value)
            if answer is not None:
                found.append(_placed(answer, trail))

    return check


def _placed(answer: ScalarProblem, trail: ValuePath) -> SchemaViolation:
    detail = answer.detail.replace("{}", dotted(trail), 1)
    return SchemaViolation(trail, answer.kind, detail, answer.value, is_placeless=answer.is_placeless)


def _list_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    below = check_of(schema["items"]) if schema.get("items") else None
    least, most = schema.get("minItems"), schema.get("maxItems")
    if below is None and least is None and most is None:
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if type(value) is not list:
            return
        if below is not None:
            for index, item in enumerate(value):
                below(item, (trail, index), found)
        if least is not None and len(value) < least:
            detail = f"{dotted(trail)} in body should have at least {least} items"
            found.append(SchemaViolation(trail, ErrorKind.INVALID, detail, len(value)))
        if most is not None and len(value) > most:
            found.append(
                SchemaViolation(trail, ErrorKind.TOO_MANY, f"must have at most {counted(most, 'item')}", len(value))
            )

    return check


def _object_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    named = {name: check_of(below) for name, below in (schema.get("properties") or {}).items()}
    additional = schema.get("additionalProperties")
    unnamed = check_of(additional) if isinstance(additional, Mapping) else None
    required = tuple(schema.get("required") or ())
    size = _size_check(schema)
    if not (named or unnamed or required or size):
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if type(value) is not dict:
            return
        for name, member in value.items():
            below = named.get(name)
            if below is not None:
                below(member, (trail, name), found)
            elif unnamed is not None:
                unnamed(member, (trail, MapKey(name)), found)
        for name in required:
            if name not in value:
                found.append(SchemaViolation((trail, name), ErrorKind.REQUIRED, ""))
        if size is not None:
            size(value, trail, found)

    return check


def _size_check(schema: Mapping[str, Any]) -> SchemaCheck | None:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is None and most is None:
        return None

    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if least is not None and len(value) < least:
            detail = f"{dotted(trail)} in body should have at least {least} properties"
            found.append(SchemaViolation(trail, ErrorKind.INVALID, detail, len(value)))
        if most is not None and len(value) > most:
            found.append(
                SchemaViolation(trail, ErrorKind.TOO_MANY, f"must have at most {counted(most, 'item')}", len(value))
            )

    return check


# Combinations of schemas


def _combinations(schema: Mapping[str, Any]) -> list[SchemaCheck]:
    found: list[SchemaCheck] = []
    if not schema.get("x-kubernetes-int-or-string"):
        # Next to int-or-string, an `anyOf` only repeats the two types.
        found += [_any_of([check_of(each) for each in schema["anyOf"]])] if schema.get("anyOf") else []
    found += [_one_of([check_of(each) for each in schema["oneOf"]])] if schema.get("oneOf") else []
    found += [_all_of([check_of(each) for each in schema["allOf"]])] if schema.get("allOf") else []
    found += [_not(check_of(schema["not"]))] if schema.get("not") else []
    return found


def _tried(check: SchemaCheck, value: Json, trail: ValuePath) -> Findings:
    """Violations of one alternative, tied to the value of the alternatives."""
    found: Findings = []
    check(value, trail, found)
    if not found:
        return found
    depth = len(steps_of(trail))
    return [each._replace(tied=min(depth, depth if each.tied is None else each.tied)) for each in found]


def _combined(trail: ValuePath, text: str) -> SchemaViolation:
    return SchemaViolation(trail, ErrorKind.INVALID, f'"{dotted(trail)}" {text}', "", is_placeless=True)


def _fewest(results: list[Findings]) -> Findings:
    return min(results, key=lambda result: len(result))


def _any_of(checks: list[SchemaCheck]) -> SchemaCheck:
    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        results = []
        for each in checks:
            result = _tried(each, value, trail)
            if not result:
                return
            results.append(result)
        found.append(_combined(trail, "must validate at least one schema (anyOf)"))
        found += _fewest(results)

    return check


def _one_of(checks: list[SchemaCheck]) -> SchemaCheck:
    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        results = [_tried(each, value, trail) for each in checks]
        valid = sum(not result for result in results)
        if valid == 1:
            return
        text = f"{valid} valid alternatives" if valid else "none valid"
        found.append(_combined(trail, f"must validate one and only one schema (oneOf). Found {text}"))
        found += [] if valid else _fewest(results)

    return check


def _all_of(checks: list[SchemaCheck]) -> SchemaCheck:
    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        results = [_tried(each, value, trail) for each in checks]
        if any(results):
            more = ". None validated" if all(results) else ""
            found.append(_combined(trail, f"must validate all the schemas (allOf){more}"))
            found += [each for result in results for each in result]

    return check


def _not(inner: SchemaCheck) -> SchemaCheck:
    def check(value: Json, trail: ValuePath, found: Findings) -> None:
        if not _tried(inner, value, trail):
            found.append(_combined(trail, "must not validate the schema (not)"))

    return check
