"""`x-kubernetes-validations`: CEL rules of a schema, compiled once and evaluated on every write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import NO_VALUE, ErrorKind, FieldError, Path
from kohort.embedded.cel import CelError, CompileError, CostBudget, CostError, Program, compile_expression
from kohort.embedded.cel.adapter import Adapter, Paths, adapter_of
from kohort.embedded.cel.budget import STEPS_PER_OBJECT
from kohort.embedded.cel.values import NONE, Optional
from kohort.embedded.crds.field_paths import FieldPathError, normalized
from kohort.embedded.crds.ratcheting import MISSING, former, is_unchanged
from kohort.embedded.crds.scalars import shown_number
from kohort.embedded.crds.value_paths import START, MapKey, ValuePath, field_path

VARIABLES = ("self", "oldSelf")
MAX_MESSAGE = 5 * 1024

_REASONS = {
    "FieldValueRequired": ErrorKind.REQUIRED,
    "FieldValueForbidden": ErrorKind.FORBIDDEN,
    "FieldValueDuplicate": ErrorKind.DUPLICATE,
}


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One compiled rule; `problem` is its compilation error."""

    text: str
    program: Program | None
    problem: str
    message: str
    message_program: Program | None
    path: str
    """Path of the error relative to the rule, as part of a path."""
    kind: ErrorKind
    takes_optional_old: bool

    @property
    def is_transition(self) -> bool:
        """Whether the rule uses `oldSelf`."""
        return self.program is not None and "oldSelf" in self.program.used

    @property
    def name(self) -> str:
        """Name of the rule in evaluation errors."""
        return self.message or self.text


def read_rule(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> ValidationRule:
    """Reads a rule from a schema."""
    program, problem = None, ""
    try:
        program = compile_expression(str(raw.get("rule") or ""), VARIABLES)
    except CompileError as error:
        problem = str(error)
    return ValidationRule(
        text=str(raw.get("rule") or "").strip(),
        program=program,
        problem=problem,
        message=str(raw.get("message") or "").strip(),
        message_program=_message_program(raw),
        path=_field_path(raw, schema),
        kind=_REASONS.get(str(raw.get("reason") or ""), ErrorKind.INVALID),
        takes_optional_old=bool(raw.get("optionalOldSelf")),
    )


def _field_path(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    try:
        return normalized(str(raw.get("fieldPath") or "").strip(), schema)
    except FieldPathError:
        # Such a definition is rejected; a stored one reports at the rule's own path.
        return ""


def _message_program(raw: Mapping[str, Any]) -> Program | None:
    text = str(raw.get("messageExpression") or "")
    try:
        return compile_expression(text, VARIABLES) if text else None
    except CompileError:
        return None


@dataclass(frozen=True, slots=True)
class RuleNode:
    """The rules at a path of a schema, and the paths below with rules."""

    schema: Mapping[str, Any]
    rules: tuple[ValidationRule, ...]
    adapter: Adapter | None
    named: Mapping[str, "RuleNode"] = field(default_factory=dict)
    items: "RuleNode | None" = None
    additional: "RuleNode | None" = None
    all_of: tuple["RuleNode", ...] = ()


def rules_of(schema: Mapping[str, Any], shaping: Mapping[str, Any] | None = None) -> RuleNode | None:
    """The rules of a schema; None without any.

    A schema in `allOf` has no types of its own: values have the types of the enclosing schema (`shaping`).
    """
    shaping = shaping or schema
    named = {name: _below(each, shaping, "properties", name) for name, each in (schema.get("properties") or {}).items()}
    items, additional = schema.get("items"), schema.get("additionalProperties")
    rules = tuple(read_rule(each, shaping) for each in schema.get("x-kubernetes-validations") or ())
    node = RuleNode(
        schema=shaping,
        rules=rules,
        adapter=adapter_of(shaping, _paths(rules)) if rules else None,
        named={name: each for name, each in named.items() if each},
        items=rules_of(items, shaping.get("items")) if isinstance(items, Mapping) else None,
        additional=_additional(additional, shaping),
        all_of=tuple(each for part in schema.get("allOf") or () if (each := rules_of(part, shaping))),
    )
    return node if node.rules or node.named or node.items or node.additional or node.all_of else None


def _paths(rules: tuple[ValidationRule, ...]) -> Paths:
    programs = (program for rule in rules for program in (rule.program, rule.message_program) if program)
    return frozenset(path for program in programs for path in program.paths)


def _below(schema: Mapping[str, Any], shaping: Mapping[str, Any], part: str, name: str) -> RuleNode | None:
    return rules_of(schema, (shaping.get(part) or {}).get(name))


def _additional(schema: Any, shaping: Mapping[str, Any]) -> RuleNode | None:
    outer = shaping.get("additionalProperties")
    return rules_of(schema, outer if isinstance(outer, Mapping) else None) if isinstance(schema, Mapping) else None


class RuleCheck:
    """Evaluates all rules for one object."""

    def __init__(self, root: Mapping[str, Any], new: Json, old: Json) -> None:
        self.root, self.new, self.old = root, new, old
        self.budget = CostBudget(STEPS_PER_OBJECT)
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []

    def run(self, node: RuleNode) -> None:
        """Evaluates the rules; results are in `errors` and `warnings`."""
        try:
            self._visit(node, self.new, self.old, START)
        except CostError:
            detail = "validation failed due to running out of cost budget, no further validation rules will be run"
            self.errors.append(FieldError(Path(), ErrorKind.INVALID, detail, NO_VALUE, source="cel"))

    def _visit(self, node: RuleNode, value: Json, old: Json, trail: ValuePath) -> None:
        if value is None:
            return
        if node.rules:
            self._check(node, value, old, trail)
        for part in node.all_of:
            self._visit(part, value, old, trail)
        for below, member, former_member, step in _members(node, value, old):
            self._visit(below, member, former_member, (trail, step))

    def _check(self, node: RuleNode, value: Json, old: Json, trail: ValuePath) -> None:
        has_old = old is not MISSING and old is not None
        adapt = node.adapter
        shaped = adapt(value) if adapt else value
        shaped_old = (adapt(old) if adapt else old) if has_old else None
        for rule in node.rules:
            if rule.is_transition and not has_old and not rule.takes_optional_old:
                continue
            former_value = _optional(shaped_old, has_old=has_old) if rule.takes_optional_old else shaped_old
            self._apply(rule, node, value, (shaped, former_value), trail)

    def _apply(
        self, rule: ValidationRule, node: RuleNode, value: Json, values: tuple[Any, Any], trail: ValuePath
    ) -> None:
        kind = str(node.schema.get("type") or "")
        if rule.program is None:
            self._fail(trail, f"rule compile error: {rule.problem}", kind)
            return
        try:
            holds = rule.program.evaluate(self.budget, *values)
        except CostError as error:
            text = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._fail(trail, f"'{error}': {text}: {rule.name}", kind)
            raise
        except CelError as error:
            self._fail(trail, _evaluation_problem(error, rule), kind)
            return
        if holds is not True:
            shown = NO_VALUE if kind in ("object", "array") else shown_number(value)
            self._report(rule, self._message(rule, values), shown, trail)

    def _fail(self, trail: ValuePath, detail: str, kind: str) -> None:
        self.errors.append(FieldError(field_path(trail), ErrorKind.INVALID, detail, kind, source="cel"))

    def _report(self, rule: ValidationRule, detail: str, shown: Any, trail: ValuePath) -> None:
        path = field_path(trail)
        if rule.path:
            path = Path((path.text + rule.path).removeprefix("."))
        value = shown if rule.kind in (ErrorKind.INVALID, ErrorKind.DUPLICATE) else NO_VALUE
        if rule.kind is ErrorKind.DUPLICATE:
            # kube-apiserver reports a duplicate value without its content.
            detail = ""
        error = FieldError(path, rule.kind, detail, value, source="cel")
        unchanged = self.old is not MISSING and is_unchanged(trail, self.new, self.old, self.root)
        if unchanged and not rule.is_transition:
            self.warnings.append(str(error))
        else:
            self.errors.append(error)

    def _message(self, rule: ValidationRule, values: tuple[Any, Any]) -> str:
        if rule.message_program is not None:
            try:
                text = rule.message_program.evaluate(self.budget, *values)
            except CelError:
                # A failing message expression neither accepts the value nor hides the error.
                text = ""
            if _is_message(text):
                return str(text).strip()
        return rule.message or f"failed rule: {rule.text}"


def _is_message(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and "\n" not in text.strip() and len(text) <= MAX_MESSAGE


def _optional(value: Any, *, has_old: bool) -> Optional:
    return Optional((value,)) if has_old else NONE


def _evaluation_problem(error: CelError, rule: ValidationRule) -> str:
    if str(error).startswith("no such overload"):
        text = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {text}: {rule.name}"
    return f"{error} evaluating rule: {rule.name}"


def _members(node: RuleNode, value: Json, old: Json) -> Iterator[tuple[RuleNode, Json, Json, str | int]]:
    if isinstance(value, dict):
        for name, below in node.named.items():
            if name in value:
                yield below, value[name], former(old, value, name, node.schema), name
        if node.additional is not None:
            for name in value.keys() - (node.schema.get("properties") or {}).keys():
                yield node.additional, value[name], former(old, value, name, node.schema), MapKey(name)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield node.items, item, former(old, value, index, node.schema), index
