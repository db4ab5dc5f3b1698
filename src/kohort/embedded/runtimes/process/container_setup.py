"""Builds a container's start command for its shim: environment, volumes, user, limits, root file system."""

import asyncio
import contextlib
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from kohort.api.quantity import NANO, Quantity
from kohort.embedded.runtimes.devices import Share, visible
from kohort.embedded.runtimes.environment import environment, expand
from kohort.embedded.runtimes.job_files import make_below, open_below
from kohort.embedded.runtimes.pods import RunContainer, RunPod
from kohort.embedded.runtimes.process.cgroups import limit_files
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.runtime_context import ProcessRuntimeContext
from kohort.embedded.runtimes.process.shim.leftover_processes import MARK
from kohort.embedded.runtimes.process.shim.rootfs import Bind
from kohort.embedded.runtimes.process.shim.spawning import StartCommand
from kohort.embedded.runtimes.process.users import RunAs, run_as
from kohort.embedded.runtimes.sources import MissingReferenceError, Sources
from kohort.embedded.runtimes.volumes import PodVolumes, mounted

ROOT_VARIABLE = "KOHORT_ROOT"
MESSAGE_VARIABLE = "KOHORT_TERMINATION_LOG"


@dataclass(frozen=True, slots=True)
class Preparation:
    """Prepares the containers of one pod."""

    pod: RunPod
    context: ProcessRuntimeContext
    directories: PodDirectories
    share: Share

    @property
    def pod_volumes(self) -> PodVolumes:
        """The volumes of the pod."""
        settings = self.context.settings
        return PodVolumes(self.pod, self.directories.volumes, settings.facts, settings.host_paths)

    async def order(self, container: RunContainer, attempt: int) -> StartCommand:
        """The start command for a container; raises NotYetError or MissingReferenceError while something is missing."""
        sources = Sources(self.context.client)
        user = await asyncio.to_thread(self._user, container)
        values = await environment(self.pod, container, sources, self.context.settings.facts)
        await asyncio.to_thread(self._make_scratch, container, user)
        binds = await self._binds(container, values, sources)
        env = self._environment(container, values)
        settings = self.context.settings
        return {
            "name": container.name,
            "attempt": attempt,
            "argv": [expand(part, values) for part in (*container.command, *container.args)],
            "env": env,
            "log": str(self.directories.logs(container.name)),
            "log_size": settings.log_size,
            "log_rate": settings.log_rate,
            "user": user and {"uid": user.uid, "gid": user.gid, "groups": list(user.groups)},
            "notes": {"devices": self.share},
            **self._view(container, binds),
            **self._limits(container, attempt, user),
        }

    def _make_scratch(self, container: RunContainer, user: RunAs | None) -> None:
        if user is None:
            self.directories.make_container(container.name)
        else:
            self.directories.make_container(container.name, (user.uid, user.gid))

    def _user(self, container: RunContainer) -> RunAs | None:
        """The user it runs as; other users access the directories of the pod through the pod's group."""
        user = run_as(self.pod, container)
        return user and replace(user, groups=(*user.groups, self.directories.admit_group()))

    async def _binds(self, container: RunContainer, values: dict[str, str], sources: Sources) -> list[Bind]:
        pod_volumes = self.pod_volumes
        volumes = {str(volume["name"]): volume for volume in self.pod.spec.volumes}
        binds = []
        for mount in container.volume_mounts:
            if mount.name not in volumes:
                raise MissingReferenceError(f'volume "{mount.name}" is not among the volumes of the pod')
            path = await pod_volumes.make(volumes[mount.name], sources)
            target = os.path.normpath(os.path.join("/", mount.mount_path))
            binds.append((str(mounted(mount, container, path, values)), target, mount.read_only))
        return binds

    def _environment(self, container: RunContainer, values: dict[str, str]) -> dict[str, str]:
        settings = self.context.settings
        scratch = self.directories.container(container.name)
        inherited = {name: os.environ[name] for name in settings.inherit if name in os.environ}
        root = "" if self.context.capabilities.own_roots else str(scratch / "mounts")
        ours = {
            "HOSTNAME": self.pod.spec.hostname or self.pod.metadata.name,
            "HOME": str(scratch / "work"),
            "TMPDIR": str(scratch / "tmp"),
            ROOT_VARIABLE: root,
            MESSAGE_VARIABLE: str(self.directories.message(container.name)),
        }
        mark = {MARK: f"{self.pod.metadata.uid}/{container.name}"}
        return {**inherited, **ours, **values, **visible(self.share.get(container.name, {})), **mark}

    # Root file system

    def _view(self, container: RunContainer, binds: list[Bind]) -> StartCommand:
        scratch = self.directories.container(container.name)
        work = container.working_dir
        binds = [*binds, *self._message_bind(container, binds)]
        if not self.context.capabilities.own_roots:
            link_mounts(scratch / "mounts", binds)
            return {"root": None, "cwd": _work_without_root(work, scratch, binds)}
        if work and not os.path.isdir(work) and not any(_covers(target, work) for _, target, _ in binds):
            binds.append((str(scratch / "work"), work, False))
        return {"root": {"at": str(scratch / "root"), "binds": binds}, "cwd": work or str(scratch / "work")}

    def _message_bind(self, container: RunContainer, binds: list[Bind]) -> list[Bind]:
        path = os.path.normpath(os.path.join("/", container.termination_message_path or "dev/termination-log"))
        taken = any(target == path for _, target, _ in binds)
        return [] if taken else [(str(self.directories.message(container.name)), path, False)]

    # Limits

    def _limits(self, container: RunContainer, attempt: int, user: RunAs | None) -> StartCommand:
        capabilities = self.context.capabilities
        memory, millicpu = _limit(container, "memory", NANO), _limit(container, "cpu", NANO // 1000)
        processes = self.context.settings.processes
        held = capabilities.groups.controllers if capabilities.groups else frozenset()
        group = None
        if capabilities.groups:
            name = f"{self.directories.pod}-{container.name}-{attempt}"
            group = str(capabilities.groups.make(name, limit_files(memory, millicpu, processes)))
        limits = {"data": memory} if memory and "memory" not in held else {}
        own_user = capabilities.own_roots and not capabilities.is_root
        runner = user.uid if user else os.geteuid()
        if not capabilities.counts_processes:
            limits["processes"] = processes + (0 if own_user else tasks_of(runner))
        # The kernel does not enforce RLIMIT_NPROC for root: the task limit monitor does.
        most = processes if runner == 0 and not capabilities.counts_processes else 0
        return {"cgroup": group, "limits": limits, "own_user": own_user, "most": most}


def link_mounts(top: Path, binds: list[Bind]) -> None:
    """Links volumes below a directory if mount namespaces are not available."""
    for source, target, _ in binds:
        below, part = _place_without_root(top, os.path.dirname(target), binds)
        name = os.path.basename(target)
        with open_below(below, part, 0o755) as parent:
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=parent)
            with contextlib.suppress(FileExistsError):
                os.symlink(source, name, dir_fd=parent)


def _work_without_root(work: str, scratch: Path, binds: list[Bind]) -> str:
    if not work:
        return str(scratch / "work")
    top = scratch / "mounts"
    below, part = _place_without_root(top, work, binds)
    if below == str(top) and os.path.isdir(work):
        return work
    make_below(below, part, 0o777)
    return str(top / work.lstrip("/"))


def _place_without_root(top: Path, path: str, binds: list[Bind]) -> tuple[str, str]:
    """The directory below which a path is found when volumes are linked: of the covering volume or of all links."""
    covering = max((bind for bind in binds if _covers(bind[1], path)), key=lambda bind: len(bind[1]), default=None)
    if covering is None:
        return str(top), path.lstrip("/")
    return covering[0], os.path.relpath(path, covering[1])


def tasks_of(uid: int) -> int:
    """Number of processes and threads of a user, all of which count against RLIMIT_NPROC."""
    count = 0
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                count += len(os.listdir(f"{entry.path}/task"))
        except OSError:
            continue
    return count


def _covers(target: str, path: str) -> bool:
    return os.path.commonpath([target, os.path.join("/", path)]) == target


def _limit(container: RunContainer, resource: str, unit: int) -> int:
    given = container.resources.limits.get(resource)
    return Quantity.parse(given).in_units(unit) if given else 0
