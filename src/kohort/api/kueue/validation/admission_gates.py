"""The `admission-gated-by` annotation of workloads and jobs (API-64)."""

import re
from collections.abc import Iterator, Mapping

from kohort.api.fields import ROOT, FieldError, forbidden, invalid, too_long
from kohort.api.kueue.keys import ADMISSION_GATED_BY_ANNOTATION
from kohort.api.names import check_subdomain

MAX_GATE_LENGTH = 63
PATH = (ROOT / "metadata" / "annotations")[ADMISSION_GATED_BY_ANNOTATION]

_URL_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def admission_gates(annotations: Mapping[str, str]) -> list[str]:
    """The admission gates of an object, in order."""
    text = annotations.get(ADMISSION_GATED_BY_ANNOTATION, "")
    return [gate.strip() for gate in text.split(",")] if text else []


def admission_gate_errors(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    """Problems of the annotation on its own."""
    gates = admission_gates(annotations)
    for gate in gates:
        if len(gate) > MAX_GATE_LENGTH:
            yield too_long(PATH, MAX_GATE_LENGTH, "API-64")
        else:
            problem = _gate_problem(gate)
            if problem:
                yield invalid(PATH, gate, problem, "API-64")
    if len(set(gates)) != len(gates):
        yield invalid(PATH, annotations[ADMISSION_GATED_BY_ANNOTATION], "each gate may be named once", "API-64")


def _gate_problem(gate: str) -> str:
    domain, slash, path = gate.partition("/")
    if not slash or not path or not _URL_PATH.fullmatch(path):
        return "a gate has the form example.com/name"
    return check_subdomain(domain) or ""


def admission_gate_update_errors(new: Mapping[str, str], old: Mapping[str, str]) -> Iterator[FieldError]:
    """Gates may be removed after creation, never added."""
    added = set(admission_gates(new)) - set(admission_gates(old))
    if added:
        yield forbidden(PATH, f"gates can't be added after creation: {', '.join(sorted(added))}", "API-64")
