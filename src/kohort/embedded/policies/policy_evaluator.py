"""Evaluates one policy with one parameter for one request: match conditions, variables, validations, annotations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import JsonMapping
from kohort.embedded.admission.attributes import AdmissionAttributes
from kohort.embedded.cel import CelError, CostBudget, compile_expression
from kohort.embedded.cel.budget import STEPS_PER_OBJECT
from kohort.embedded.cel.library.authorization import Ask, AuthorizerValue
from kohort.embedded.matching import admission_request, all_hold, request_resource
from kohort.embedded.policies.definitions import VARIABLES
from kohort.embedded.resources import ServedResource

MAX_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True)
class FailedValidation:
    """A validation that failed."""

    message: str
    reason: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """The request in the version of the policy, and the other CEL variables."""

    write: AdmissionAttributes
    resource: ServedResource
    params: JsonMapping | None
    namespace: JsonMapping | None
    ask: Ask


class _Variables(dict[str, Any]):
    """The variables of a policy, evaluated on first use."""

    def __init__(self, expressions: Mapping[str, str], compute: Callable[[str], Any]) -> None:
        super().__init__()
        self._expressions, self._compute = expressions, compute

    def __missing__(self, name: str) -> Any:
        value = self[name] = self._compute(self._expressions[name])
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._expressions


class PolicyEvaluator:
    """One policy with one parameter for one request."""

    def __init__(self, spec: JsonMapping, case: PolicyInput) -> None:
        self.spec, write = spec, case.write
        self.budget = CostBudget(STEPS_PER_OBJECT)
        expressions = {str(each.get("name")): str(each.get("expression")) for each in spec.get("variables") or ()}
        self.values = (
            write.object,
            write.old,
            admission_request(write, case.resource),
            case.params,
            case.namespace,
            AuthorizerValue(case.ask),
            request_resource(case.ask, write),
            _Variables(expressions, self._value),
        )

    @property
    def ignores(self) -> bool:
        """Whether evaluation errors are ignored by failurePolicy."""
        return bool(self.spec.get("failurePolicy") == "Ignore")

    def _value(self, expression: str) -> Any:
        return compile_expression(expression.strip(), VARIABLES).evaluate(self.budget, *self.values)

    def findings(self) -> Iterator[FailedValidation]:
        """Every failed validation, and evaluation errors unless ignored."""
        try:
            if not self._meets_conditions():
                return
        except CelError as error:
            if not self.ignores:
                yield FailedValidation(str(error), "Invalid")
            return
        for index, validation in enumerate(self.spec.get("validations") or ()):
            yield from self._finding(validation, index)

    def _meets_conditions(self) -> bool:
        return all_hold(self.spec.get("matchConditions") or (), self._value)

    def _finding(self, validation: JsonMapping, index: int) -> Iterator[FailedValidation]:
        expression = str(validation.get("expression")).strip()
        try:
            holds = self._value(expression)
        except CelError as error:
            if not self.ignores:
                yield FailedValidation(f"expression '{expression}' resulted in error: {error}", "Invalid", index)
            return
        if holds is not True:
            yield FailedValidation(self._message(validation), str(validation.get("reason") or "Invalid"), index)

    def _message(self, validation: JsonMapping) -> str:
        expression = str(validation.get("messageExpression") or "").strip()
        if expression:
            try:
                text = self._value(expression)
            except CelError:
                # A failing message expression does not admit the request.
                text = ""
            if isinstance(text, str) and text.strip() and "\n" not in text.strip() and len(text) <= MAX_MESSAGE:
                return text.strip()
        message = str(validation.get("message") or "").strip()
        return message or f"failed expression: {str(validation.get('expression')).strip()}"

    def annotations(self) -> Iterator[tuple[str, str]]:
        """Audit annotations; null values and failures are omitted."""
        for annotation in self.spec.get("auditAnnotations") or ():
            try:
                text = self._value(str(annotation.get("valueExpression")))
            except CelError:
                continue
            if isinstance(text, str):
                yield str(annotation.get("key")), text
