"""Reads the simulation annotations of a pod; invalid values are reported and replaced by defaults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from msgspec import structs

from kohort.embedded.nodes.runtime import RuntimeValue

PREFIX = "kohort.dev/"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
FOREVER = float("inf")
_MAX_SECONDS = 10 * 365 * 24 * 3600.0
_MAX_FAILURES = 1_000_000
_FAILED = 1
_NUMBER = "a number of seconds from 0 to ten years"


class SimulatedPodPlan(RuntimeValue):
    """Timing and outcome of a simulated pod."""

    start: float
    """Seconds from the arrival of the pod to the start of its first container."""
    init: float
    """Seconds that each init container runs."""
    run: float
    """Seconds that the containers run."""
    stop: float
    """Seconds that the containers take to stop."""
    failing: int = 0
    """Number of runs that fail; later ones succeed."""
    failure_code: int = _FAILED
    reason: str = "Error"
    """Termination reason of a failing container."""
    waiting: str = ""
    """Why the containers never start."""
    ready: float = 0.0
    """Seconds that the containers run before they are ready."""

    def code_of(self, attempt: int) -> int:
        """Exit code of a run; the first is number 0."""
        return self.failure_code if attempt < self.failing else 0


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values used without annotations."""

    start_seconds: float = 0.0
    run_seconds: float = 10.0
    """For pods that finish; pods with restartPolicy Always run until they are deleted."""


@dataclass(slots=True)
class ParsedPlan:
    """A plan and the problems found in the annotations."""

    plan: SimulatedPodPlan
    problems: list[str] = field(default_factory=list)


class _InvalidValueError(Exception):
    """An invalid value; the message states what is expected."""


def read_plan(pod: Mapping[str, Any], defaults: Defaults) -> ParsedPlan:
    """The plan of a pod."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    texts = {
        name.removeprefix(PREFIX): text
        for name, text in (metadata.get("annotations") or {}).items()
        if name.startswith(PREFIX)
    }
    ends = spec.get("restartPolicy", "Always") != "Always"
    plan = SimulatedPodPlan(defaults.start_seconds, 0.0, defaults.run_seconds if ends else FOREVER, 0.0)
    reading = ParsedPlan(plan)
    found = _Annotations(texts, reading.problems)
    reading.plan = _failures(found, _times(found, plan), metadata)
    return reading


class _Annotations:
    """The annotations of a pod; each is read once, and an invalid one is reported once."""

    def __init__(self, texts: Mapping[str, str], problems: list[str]) -> None:
        self._texts = texts
        self._problems = problems

    def read(self, name: str, reader: Callable[[str], Any], default: Any) -> Any:
        text = self._texts.get(name)
        if text is None:
            return default
        try:
            return reader(text.strip())
        except (_InvalidValueError, ValueError) as error:
            wanted = str(error) if isinstance(error, _InvalidValueError) else "another value"
            self._problems.append(f'{PREFIX}{name}: "{text[:64]}" is not {wanted}; ignored')
            return default


def _times(found: _Annotations, plan: SimulatedPodPlan) -> SimulatedPodPlan:
    return SimulatedPodPlan(
        found.read("start-seconds", _seconds, plan.start),
        found.read("init-seconds", _seconds, plan.init),
        found.read("run-seconds", _seconds_or_forever, plan.run),
        found.read("stop-seconds", _seconds, plan.stop),
        ready=found.read("ready-seconds", _seconds_or_never, plan.ready),
    )


def _failures(found: _Annotations, plan: SimulatedPodPlan, metadata: Mapping[str, Any]) -> SimulatedPodPlan:
    code = found.read("exit-code", _exit_code, None)
    times = found.read("fail-times", _whole, None)
    reason = found.read("fail-reason", _word, "")
    fails = _is_chosen(found, metadata)
    if times is None:
        times = _MAX_FAILURES if fails or (fails is None and code) else 0
    elif fails is False:
        times = 0
    return structs.replace(
        plan,
        failing=times,
        failure_code=code or (137 if reason == "OOMKilled" else _FAILED),
        reason=reason or "Error",
        waiting=found.read("fail-waiting", _word, ""),
    )


def _is_chosen(found: _Annotations, metadata: Mapping[str, Any]) -> bool | None:
    """Whether this pod is selected to fail; None without such an annotation."""
    rate = found.read("fail-rate", _rate, None)
    indexes = found.read("fail-indexes", _indexes, None)
    if rate is None and indexes is None:
        return None
    by_rate = rate is not None and _fraction(str(metadata.get("uid") or "")) < rate
    index = str((metadata.get("annotations") or {}).get(COMPLETION_INDEX, ""))
    return by_rate or (indexes is not None and index.isdigit() and any(int(index) in each for each in indexes))


def _fraction(uid: str) -> float:
    """A stable number from 0 to 1 derived from the UID."""
    return int.from_bytes(blake2b(uid.encode(), digest_size=6).digest()) / 2**48


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= _MAX_SECONDS:
        raise _InvalidValueError(_NUMBER)
    return number


def _seconds_or_forever(text: str) -> float:
    return _seconds_or(text, "forever")


def _seconds_or_never(text: str) -> float:
    return _seconds_or(text, "never")


def _seconds_or(text: str, without_end: str) -> float:
    if text == without_end:
        return FOREVER
    try:
        return _seconds(text)
    except _InvalidValueError:
        raise _InvalidValueError(f'{_NUMBER}, or "{without_end}"') from None


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text) < 256):
        raise _InvalidValueError("a number from 0 to 255")
    return int(text)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise _InvalidValueError("a whole number from 0 to 999999")
    return int(text)


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise _InvalidValueError("a number from 0 to 1")
    return number


def _word(text: str) -> str:
    if not (text.isascii() and text.isalnum() and len(text) < 64):
        raise _InvalidValueError("one word such as OOMKilled")
    return text


def _indexes(text: str) -> list[range]:
    """Parses `0,3-5`: single indexes and inclusive ranges."""
    found = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit()) or (last and not (last.isascii() and last.isdigit())):
            raise _InvalidValueError("a list of indexes and ranges such as 0,3-5")
        found.append(range(int(first[:9]), int((last or first)[:9]) + 1))
    return found
