"""Builds a batch/v1 Job from the arguments of `kohort submit`. Pure, so that `--dry-run=client` shows the same object.

A Job without retries fails with its first failed pod; disrupted pods (drained, preempted) do not count.
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
"""Placeholder image of pods that run as processes: the field is required."""
_DOLLARS: Final = re.compile(r"\$\([^)]*\)|\$\$")
MAX_NAME: Final = 52
"""Leaves space for the suffix of a generated name and for the index and suffix of pods in 63 characters."""
_INTERPRETERS: Final = re.compile(r"(python|pypy|bash|sh|zsh|perl|ruby|node|Rscript|julia)[0-9.]*")
_LAUNCHERS: Final = frozenset({"torchrun", "deepspeed", "accelerate", "uv", "env", "time", "nice", "run", "launch"})
_INVALID_CHARACTERS: Final = re.compile(r"[^a-z0-9]+")


class SubmitError(ApiError):
    """Invalid arguments; names the option and the remedy."""


@dataclass(frozen=True, slots=True)
class PodResources:
    """Requested resources of each pod; empty values are not set."""

    cpu: str = ""
    memory: str = ""
    gpus: int = 0
    gpu_resource: str = GPU

    def resources(self) -> JsonObject:
        """Requests and limits; limits are set for memory and GPUs only."""
        gpus = {self.gpu_resource: str(self.gpus)} if self.gpus else {}
        memory = {"memory": self.memory} if self.memory else {}
        cpu = {"cpu": self.cpu} if self.cpu else {}
        requests, limits = {**cpu, **memory, **gpus}, {**memory, **gpus}
        return {name: value for name, value in (("requests", requests), ("limits", limits)) if value}


@dataclass(frozen=True, slots=True)
class JobShape:
    """Parallelism, completions and retries."""

    parallel: int = 1
    completions: int | None = None
    """None means as `parallel`."""
    is_indexed: bool = False
    retries: int = 0


@dataclass(frozen=True, slots=True)
class JobArguments:
    """Arguments of `kohort submit`."""

    command: Sequence[str]
    namespace: str
    queue: str = ""
    """Empty for the namespace's LocalQueue `default` (JOB-67)."""
    name: str = ""
    """Empty for a generated name, derived from the command."""
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


def build_job(arguments: JobArguments) -> JsonObject:
    """The suspended Job; raises SubmitError."""
    _check(arguments)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(arguments), "spec": _spec(arguments)}


def name_after(command: Sequence[str]) -> str:
    """A name derived from the command: `train` for `python -u train.py`, `bash` if nothing better is found."""
    words = [word for word in command if not _is_assignment(word)]
    index = next((index for index, word in enumerate(words) if not _is_generic(word)), 0)
    word = words[index] if words else ""
    is_module = index > 0 and words[index - 1] == "-m"
    stem = word.rpartition(".")[2] if is_module else PurePosixPath(word).stem
    name = _INVALID_CHARACTERS.sub("-", stem.lower()).strip("-")[:MAX_NAME].strip("-")
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
        raise SubmitError(f"{option}: invalid duration {text!r}: use 90s, 30m, 4h or 2d") from None


def _metadata(arguments: JobArguments) -> JsonObject:
    own = {
        QUEUE_NAME_LABEL: arguments.queue,
        PRIORITY_CLASS_LABEL: arguments.priority,
        MAX_EXEC_TIME_LABEL: "" if arguments.max_seconds is None else str(arguments.max_seconds),
    }
    labels = {**arguments.labels, **{key: value for key, value in own.items() if value}}
    name = {"name": arguments.name} if arguments.name else {"generateName": f"{name_after(arguments.command)}-"}
    return {
        **name,
        "namespace": arguments.namespace,
        **({"labels": labels} if labels else {}),
        **({"annotations": dict(arguments.annotations)} if arguments.annotations else {}),
    }


def _spec(arguments: JobArguments) -> JsonObject:
    shape = arguments.shape
    return {
        "suspend": True,
        "parallelism": shape.parallel,
        "completions": shape.parallel if shape.completions is None else shape.completions,
        **({"completionMode": "Indexed"} if shape.is_indexed else {}),
        "backoffLimit": shape.retries,
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]},
        "template": {"spec": _pod(arguments)},
    }


def _pod(arguments: JobArguments) -> JsonObject:
    resources = arguments.amounts.resources()
    container = {
        "name": CONTAINER,
        "image": arguments.image,
        "command": [_as_typed(word) for word in arguments.command],
        **({"workingDir": arguments.workdir} if arguments.workdir else {}),
        **(
            {"env": [{"name": name, "value": _as_typed(value)} for name, value in arguments.env.items()]}
            if arguments.env
            else {}
        ),
        **({"resources": resources} if resources else {}),
    }
    selector = {"nodeSelector": dict(arguments.node_selector)} if arguments.node_selector else {}
    return {"restartPolicy": "Never", "containers": [container], **selector}


def _as_typed(text: str) -> str:
    """The text with `$$` escaped, which Kubernetes would replace by `$`; not within a reference `$(…)`."""
    return _DOLLARS.sub(lambda found: "$$$$" if found[0] == "$$" else found[0], text)


def _check(arguments: JobArguments) -> None:
    for problem in _problems(arguments):
        raise SubmitError(problem)


def _problems(arguments: JobArguments) -> list[str]:
    amounts, shape = arguments.amounts, arguments.shape
    found = [
        ""
        if arguments.command
        else "no command specified: append it after --, as in `kohort submit … -- python train.py`",
        _about("--name", arguments.name, check_label(arguments.name) if arguments.name else None),
        _quantity("--cpu", amounts.cpu, "use 8, 0.5 or 500m"),
        _quantity("--memory", amounts.memory, "use 32Gi or 512Mi"),
        _about("--gpu-resource", amounts.gpu_resource, check_qualified_name(amounts.gpu_resource)),
        "" if arguments.max_seconds is None or arguments.max_seconds > 0 else "--max-time must be greater than 0",
        _too_few(shape),
        *(_about("--label", key, check_qualified_name(key)) for key in (*arguments.labels, *arguments.node_selector)),
        *(_about("--label", value, check_label_value(value)) for value in arguments.labels.values()),
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
        return f"{option}: invalid quantity {text!r}: {remedy}"
    return ""


def _too_few(shape: JobShape) -> str:
    if shape.completions is not None and shape.completions < shape.parallel:
        return (
            f"--completions {shape.completions} is less than --parallel {shape.parallel}: some pods would never start"
        )
    return ""


def _is_assignment(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word, re.DOTALL) is not None


def _is_generic(word: str) -> bool:
    """Whether a word does not identify the program: options, interpreters, launchers, sentences."""
    base = PurePosixPath(word).name
    return (
        not word
        or word.startswith("-")
        or word.isdigit()
        or any(sign.isspace() for sign in word)
        or base in _LAUNCHERS
        or _INTERPRETERS.fullmatch(base) is not None
    )
