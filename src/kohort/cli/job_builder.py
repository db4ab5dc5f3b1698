"""A batch/v1 Job from what `kohort submit` was told: pure, so that `--dry-run=client` shows the very object.

A Job that is told to run once fails at its first failure; pods that are pushed aside (drained, preempted) do not count,
since that is nobody's mistake.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.errors import ApiError
from kohort.api.names import check_label, check_label_value, check_qualified_name
from kohort.api.quantity import Quantity, QuantityError
from kohort.api.times import SECOND, parse_duration
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL, PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL

CONTAINER: Final = "main"
GPU: Final = "nvidia.com/gpu"
NO_IMAGE: Final = "none"
"""Where pods run as processes nobody asks for the image, but a pod must name one."""
_DOLLARS: Final = re.compile(r"\$\([^)]*\)|\$\$")
LONGEST_NAME: Final = 52
"""Room for the five characters of a generated name and for the index and suffix of pods in 63 characters."""
_INTERPRETERS: Final = re.compile(r"(python|pypy|bash|sh|zsh|perl|ruby|node|Rscript|julia)[0-9.]*")
_LAUNCHERS: Final = frozenset({"torchrun", "deepspeed", "accelerate", "uv", "env", "time", "nice", "run", "launch"})
_NO_NAME_SIGN: Final = re.compile(r"[^a-z0-9]+")


class SubmitError(ApiError):
    """What was asked for makes no Job; says which option and what to write."""


@dataclass(frozen=True, slots=True)
class PodResources:
    """What each pod asks for; empty where nothing was said."""

    cpu: str = ""
    memory: str = ""
    gpus: int = 0
    gpu_resource: str = GPU

    def resources(self) -> JsonObject:
        """Requests and limits: of memory and GPUs a pod gets what it asks for and no more."""
        gpus = {self.gpu_resource: str(self.gpus)} if self.gpus else {}
        memory = {"memory": self.memory} if self.memory else {}
        cpu = {"cpu": self.cpu} if self.cpu else {}
        requests, limits = {**cpu, **memory, **gpus}, {**memory, **gpus}
        return {name: value for name, value in (("requests", requests), ("limits", limits)) if value}


@dataclass(frozen=True, slots=True)
class JobShape:
    """How many pods, and how they count."""

    parallel: int = 1
    completions: int | None = None
    """As many as run side by side, if not said."""
    is_indexed: bool = False
    retries: int = 0


@dataclass(frozen=True, slots=True)
class JobArguments:
    """What a Job is to be."""

    command: Sequence[str]
    namespace: str
    queue: str = ""
    """Empty leaves it to the namespace's LocalQueue `default` (JOB-67)."""
    name: str = ""
    """Empty for one that the server makes, after the command."""
    priority: str = ""
    image: str = NO_IMAGE
    workdir: str = ""
    max_seconds: int | None = None
    amounts: PodResources = PodResources()
    shape: JobShape = JobShape()
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)


def build_job(wish: JobArguments) -> JsonObject:
    """The Job, suspended: the queue starts it. Raises SubmitError."""
    _check(wish)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(wish), "spec": _spec(wish)}


def name_after(command: Sequence[str]) -> str:
    """A name that tells what runs: `train` for `python -u train.py`, `bash` where there is nothing better."""
    words = [word for word in command if not _is_assignment(word)]
    place = next((place for place, word in enumerate(words) if not _says_nothing(word)), 0)
    told = words[place] if words else ""
    is_module = place > 0 and words[place - 1] == "-m"
    stem = told.rpartition(".")[2] if is_module else PurePosixPath(told).stem
    name = _NO_NAME_SIGN.sub("-", stem.lower()).strip("-")[:LONGEST_NAME].strip("-")
    return name or "job"


def seconds_of(text: str, option: str) -> int:
    """A duration in whole seconds: `4h`, `1h30m`, `2d`, or a plain number; raises SubmitError."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        days, _, rest = text.partition("d") if "d" in text else ("0", "", text)
        nanoseconds = parse_duration(rest) if rest else 0
        return int(days) * 24 * 3600 + -(-nanoseconds // SECOND)
    except (ApiError, ValueError):
        raise SubmitError(f"{option} {text!r} is no length of time: write 90s, 30m, 4h or 2d") from None


def _metadata(wish: JobArguments) -> JsonObject:
    own = {
        QUEUE_NAME_LABEL: wish.queue,
        PRIORITY_CLASS_LABEL: wish.priority,
        MAX_EXEC_TIME_LABEL: "" if wish.max_seconds is None else str(wish.max_seconds),
    }
    labels = {**wish.labels, **{key: value for key, value in own.items() if value}}
    name = {"name": wish.name} if wish.name else {"generateName": f"{name_after(wish.command)}-"}
    return {
        **name,
        "namespace": wish.namespace,
        **({"labels": labels} if labels else {}),
        **({"annotations": dict(wish.annotations)} if wish.annotations else {}),
    }


def _spec(wish: JobArguments) -> JsonObject:
    shape = wish.shape
    return {
        "suspend": True,
        "parallelism": shape.parallel,
        "completions": shape.parallel if shape.completions is None else shape.completions,
        **({"completionMode": "Indexed"} if shape.is_indexed else {}),
        "backoffLimit": shape.retries,
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
        "template": {"spec": _pod(wish)},
    }


def _pod(wish: JobArguments) -> JsonObject:
    resources = wish.amounts.resources()
    container = {
        "name": CONTAINER,
        "image": wish.image,
        "command": [_as_typed(word) for word in wish.command],
        **({"workingDir": wish.workdir} if wish.workdir else {}),
        **(
            {"env": [{"name": name, "value": _as_typed(value)} for name, value in wish.env.items()]} if wish.env else {}
        ),
        **({"resources": resources} if resources else {}),
    }
    selector = {"nodeSelector": dict(wish.node_selector)} if wish.node_selector else {}
    return {"restartPolicy": "Never", "containers": [container], **selector}


def _as_typed(text: str) -> str:
    """The text so that pods get it as it was typed: to Kubernetes `$$` is one dollar, to a shell its process id.

    Within a reference, `$(…)`, Kubernetes reads no `$$`.
    """
    return _DOLLARS.sub(lambda found: "$$$$" if found[0] == "$$" else found[0], text)


def _check(wish: JobArguments) -> None:
    for problem in _problems(wish):
        raise SubmitError(problem)


def _problems(wish: JobArguments) -> list[str]:
    amounts, shape = wish.amounts, wish.shape
    found = [
        "" if wish.command else "no command: write it after --, as in `kohort submit … -- python train.py`",
        _about("--name", wish.name, check_label(wish.name) if wish.name else None),
        _quantity("--cpu", amounts.cpu, "write 8, 0.5 or 500m"),
        _quantity("--memory", amounts.memory, "write 32Gi or 512Mi"),
        _about("--gpu-resource", amounts.gpu_resource, check_qualified_name(amounts.gpu_resource)),
        "" if wish.max_seconds is None or wish.max_seconds > 0 else "--max-time must be more than nothing",
        _too_few(shape),
        *(_about("--label", key, check_qualified_name(key)) for key in (*wish.labels, *wish.node_selector)),
        *(_about("--label", value, check_label_value(value)) for value in wish.labels.values()),
    ]
    return [problem for problem in found if problem]


def _about(option: str, value: str, problem: str | None) -> str:
    return f"{option} {value!r} {problem}" if problem else ""


def _quantity(option: str, text: str, remedy: str) -> str:
    if not text:
        return ""
    try:
        Quantity.parse(text)
    except QuantityError:
        return f"{option} {text!r} is no amount: {remedy}"
    return ""


def _too_few(shape: JobShape) -> str:
    if shape.completions is not None and shape.completions < shape.parallel:
        return (
            f"--completions {shape.completions} is less than --parallel {shape.parallel}: some pods would never start"
        )
    return ""


def _is_assignment(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word, re.DOTALL) is not None


def _says_nothing(word: str) -> bool:
    """Whether a word of a command does not tell what it is for: options, interpreters, launchers, sentences."""
    base = PurePosixPath(word).name
    return (
        not word
        or word.startswith("-")
        or word.isdigit()
        or any(sign.isspace() for sign in word)
        or base in _LAUNCHERS
        or _INTERPRETERS.fullmatch(base) is not None
    )
