"""The command line that creates a container; values of variables are omitted, so that process lists show no secret."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kohort.api.quantity import NANO, Quantity
from kohort.embedded.runtimes.devices import Share
from kohort.embedded.runtimes.environment import config_error, expand
from kohort.embedded.runtimes.pods import RunContainer, RunPod

UID_LABEL = "kohort.dev/pod-uid"
POD_LABEL = "kohort.dev/pod"
NAME_LABEL = "kohort.dev/container"
ATTEMPT_LABEL = "kohort.dev/attempt"
DATA_LABEL = "kohort.dev/data"
DEVICES_LABEL = "kohort.dev/devices"

ContainerBind = tuple[str, str, bool]
_ENGINE_S_OWN = ("LD_", "DOCKER_", "CONTAINER", "PODMAN", "REGISTRY_", "XDG_", "GO", "PATH", "HOME", "TMPDIR")
"""Prefixes of variables that would affect the engine itself."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """What a container is created from."""

    pod: RunPod
    container: RunContainer
    attempt: int
    data: str
    """The agent's data directory, which identifies its containers."""
    env: Mapping[str, str]
    env_file: str
    """File with the variables, so that no value is an argument."""
    binds: tuple[ContainerBind, ...] = ()
    share: Share = field(default_factory=dict)
    """The devices of the whole pod, stored in a label for the next agent."""
    processes: int = 0

    @property
    def name(self) -> str:
        """The container's name for the engine, unique for each start."""
        meta = self.pod.metadata
        return f"kohort_{self.container.name}_{meta.name}_{meta.namespace}_{meta.uid}_{self.attempt}"

    @property
    def inherited(self) -> dict[str, str]:
        """Multi-line variables, which a file cannot carry; passed through the environment of the engine."""
        found = {name: value for name, value in self.env.items() if "\n" in value}
        for name in found:
            if name.startswith(_ENGINE_S_OWN):
                raise config_error(f"environment variable {name} cannot have several lines with this runtime")
        return found

    def env_lines(self) -> str:
        """The content of the file."""
        return "".join(f"{name}={value}\n" for name, value in self.env.items() if "\n" not in value)

    def arguments(self, engine: str) -> list[str]:
        """The arguments of `create`."""
        return [
            "create",
            *("--name", self.name),
            *self._labels(),
            # The containers of a pod share the host network.
            *("--network", "host"),
            *("--env-file", self.env_file),
            *(part for name in self.inherited for part in ("--env", name)),
            *(part for bind in self.binds for part in ("--mount", _mount(bind))),
            *self._limits(),
            *self._user(),
            *self._devices(engine),
            *(("--workdir", self.container.working_dir) if self.container.working_dir else ()),
            *self._command(),
        ]

    def _labels(self) -> Iterable[str]:
        meta = self.pod.metadata
        labels = {
            UID_LABEL: meta.uid,
            POD_LABEL: f"{meta.namespace}/{meta.name}",
            NAME_LABEL: self.container.name,
            ATTEMPT_LABEL: str(self.attempt),
            DATA_LABEL: self.data,
            DEVICES_LABEL: json.dumps(self.share, separators=(",", ":")),
        }
        return (part for key, value in labels.items() for part in ("--label", f"{key}={value}"))

    def _limits(self) -> Iterable[str]:
        limits = self.container.resources.limits
        if "memory" in limits:
            yield from ("--memory", str(Quantity.parse(limits["memory"]).in_units(NANO)))
        if "cpu" in limits:
            yield from ("--cpus", f"{Quantity.parse(limits['cpu']).in_units(NANO // 1000) / 1000:g}")
        if self.processes:
            yield from ("--pids-limit", str(self.processes))

    def _user(self) -> Iterable[str]:
        requested = {**self.pod.spec.security_context, **self.container.security_context}
        user, group = requested.get("runAsUser"), requested.get("runAsGroup")
        if user is not None or group is not None:
            yield from ("--user", f"{'' if user is None else user}{'' if group is None else f':{group}'}")
        for more in (
            *(requested.get("supplementalGroups") or ()),
            *([requested["fsGroup"]] if "fsGroup" in requested else ()),
        ):
            yield from ("--group-add", str(more))
        if requested.get("readOnlyRootFilesystem"):
            yield "--read-only"
        if requested.get("privileged"):
            yield "--privileged"

    def _devices(self, engine: str) -> Iterable[str]:
        indices = self.share.get(self.container.name, {}).get("nvidia.com/gpu", ())
        if not indices:
            return ()
        if engine == "docker":
            return ("--gpus", f'"device={",".join(map(str, indices))}"')
        return tuple(part for index in indices for part in ("--device", f"nvidia.com/gpu={index}"))

    def _command(self) -> Iterable[str]:
        command = [expand(part, self.env) for part in self.container.command]
        arguments = [expand(part, self.env) for part in self.container.args]
        if command:
            return ("--entrypoint", command[0], self.container.image, *command[1:], *arguments)
        return (self.container.image, *arguments)


def _mount(bind: ContainerBind) -> str:
    source, target, only_read = bind
    return f"type=bind,source={source},target={target}{',readonly' if only_read else ''}"
