"""Validation of CEL rules in schemas: they compile, and use `oldSelf` only where a former value exists."""

from collections.abc import Mapping

from kohort.api.fields import Path, invalid, not_supported, required
from kohort.embedded.cel import CompileError, Program, compile_expression
from kohort.embedded.cel.adapter import escaped
from kohort.embedded.cel.names import member_accesses
from kohort.embedded.cel.parser import parse
from kohort.embedded.crds.field_paths import FieldPathError, normalized
from kohort.embedded.crds.keywords import RawSchema, SchemaErrors
from kohort.embedded.crds.rules import VARIABLES

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def rule_problems(schema: RawSchema, path: Path, uncorrelatable: Path | None = None) -> SchemaErrors:
    """Errors of all rules at and below a path; below an `uncorrelatable` list there is no former value."""
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        place = (path / "x-kubernetes-validations")[index]
        yield from _text_problems(rule, place)
        yield from _path_problems(rule, schema, place)
        yield from _program_problems(rule, schema, place, uncorrelatable)
    for name, below in (schema.get("properties") or {}).items():
        yield from rule_problems(below, (path / "properties")[name], uncorrelatable)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from rule_problems(schema["additionalProperties"], path / "additionalProperties", uncorrelatable)
    if isinstance(schema.get("items"), Mapping):
        has_identity = schema.get("x-kubernetes-list-type") == "map"
        yield from rule_problems(schema["items"], path / "items", uncorrelatable if has_identity else path)


def _text_problems(rule: RawSchema, path: Path) -> SchemaErrors:
    text, message = str(rule.get("rule") or "").strip(), rule.get("message")
    if not text:
        yield required(path / "rule", "rule is not specified")
    if message is not None and not str(message).strip() and message != "":
        yield invalid(path / "message", message, "must be non-empty if specified")
    elif "\n" in str(message or "").strip():
        yield invalid(path / "message", message, "must not contain line breaks")
    elif "\n" in text and not message:
        yield required(path / "message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not str(rule["messageExpression"]).strip():
        yield required(path / "messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") and rule["reason"] not in _REASONS:
        yield not_supported(path / "reason", rule["reason"], _REASONS)


def _path_problems(rule: RawSchema, schema: RawSchema, path: Path) -> SchemaErrors:
    given = str(rule.get("fieldPath") or "")
    if not given:
        return
    if not given.strip():
        yield invalid(path / "fieldPath", given, "must be non-empty if specified")
    elif "\n" in given:
        yield invalid(path / "fieldPath", given, "must not contain line breaks")
    else:
        try:
            normalized(given.strip(), schema)
        except FieldPathError as error:
            yield invalid(path / "fieldPath", given, f"fieldPath must be a valid path: {error}")


def _undefined_problems(text: str, schema: RawSchema, path: Path) -> SchemaErrors:
    """The first undefined field in a rule."""
    tree = parse(text)
    accesses = [access for variable in VARIABLES for access in member_accesses(tree, variable)]
    for members, position in sorted(accesses, key=lambda access: access[1]):
        if not _is_defined(members, schema):
            error = CompileError(f"undefined field '{members[-1]}'", text, position)
            yield invalid(path / "rule", text, f"compilation failed: {error}")
            return


def _is_defined(members: tuple[str, ...], schema: RawSchema) -> bool:
    for name in members:
        named = {escaped(each): below for each, below in (schema.get("properties") or {}).items()}
        additional = schema.get("additionalProperties")
        if name in named:
            schema = named[name]
        elif isinstance(additional, Mapping):
            schema = additional
        else:
            # For values that are no objects or have no schema, evaluation reports it.
            return schema.get("type") != "object"
    return True


def _program_problems(rule: RawSchema, schema: RawSchema, path: Path, uncorrelatable: Path | None) -> SchemaErrors:
    text = str(rule.get("rule") or "").strip()
    if not text:
        return
    program: Program | None = None
    try:
        program = compile_expression(text, VARIABLES)
        compile_expression(str(rule.get("messageExpression") or "''").strip(), VARIABLES)
    except CompileError as error:
        word = "rule" if program is None else "messageExpression"
        yield invalid(path / word, rule.get(word), f"compilation failed: {error}")
    if program is None:
        return
    yield from _undefined_problems(text, schema, path)
    if "oldSelf" in program.used and uncorrelatable is not None:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        yield invalid(path / "rule", text, detail)
    if rule.get("optionalOldSelf") and "oldSelf" not in program.used:
        yield invalid(path / "optionalOldSelf", value=True, detail="may not be set if oldSelf is not used in rule")
