"""Streams the logs of all pods of a job, each line with a prefix for its pod; pods that start later are included.

Bytes are not changed. A broken stream is resumed after the last line, by the timestamps of the server.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil
from typing import Any, Final, NamedTuple, TypeVar

from kohort.api.core.pods import ContainerStatus, Pod
from kohort.api.errors import ApiError
from kohort.api.times import parse_time
from kohort.cli.job_watcher import check_access
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError, TransportError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope, LogOptions
from kohort.terminal.style import Role, Style

MAX_STREAMS: Final = 100
"""Number of concurrent streams; each uses a connection."""
MAX_LINE: Final = 2**20
"""Bytes after which an unterminated line is printed."""
ATTEMPTS: Final = 5
"""Consecutive attempts to resume a broken stream."""
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
COLORS: Final = (Role.ACCENT, Role.SECOND, Role.THIRD, Role.GOOD, Role.WARN)

T = TypeVar("T")
_Write = Callable[[bytes], None]
_Warn = Callable[[str], None]


class LogError(ApiError):
    """Logs that cannot be shown."""


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Container and range of the logs."""

    container: str = ""
    tail: int | None = None
    since_seconds: int | None = None

    def options(self, container: str) -> LogOptions:
        """The options for one container."""
        return LogOptions(container, tail_lines=self.tail, since_seconds=self.since_seconds)


class ContainerLog(NamedTuple):
    """One run of one container."""

    pod: str
    uid: str
    container: str
    restart_count: int


@dataclass(slots=True)
class Prefixes:
    """The prefixes of the lines of each pod; empty for a single pod."""

    style: Style
    job: str = ""
    """Common prefix of the pods' names, which is omitted."""
    is_shown: bool = True
    _given: dict[str, bytes] = field(default_factory=dict)

    def of(self, pod: Pod) -> bytes:
        """The prefix of a pod; successive pods have different colors."""
        if not self.is_shown:
            return b""
        name = pod.metadata.name
        if name not in self._given:
            role = COLORS[len(self._given) % len(COLORS)]
            self._given[name] = f"{self.style.paint(f'[{self._short(pod)}]', role)} ".encode()
        return self._given[name]

    def _short(self, pod: Pod) -> str:
        found = pod.metadata.labels
        # Pods of several Jobs of one job have the same indexes.
        index = found.get(INDEX_LABEL) if found.get(JOB_NAME_LABEL, self.job) == self.job else None
        return index if index is not None else pod.metadata.name.removeprefix(f"{self.job}-")


class LogStreams:
    """The logs of the pods that a scope selects."""

    def __init__(
        self, client: Client, scope: ListScope, choice: LogChoice, prefixes: Prefixes, write: _Write, warn: _Warn
    ) -> None:
        self._client = client
        self._pods = client.of(Pod)
        self._scope = scope
        self._choice = choice
        self._prefixes = prefixes
        self._write = write
        self._warn = warn
        self._seen: set[ContainerLog] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(MAX_STREAMS)
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when the output is closed."""

    async def print_once(self) -> int:
        """Print the current logs of all pods, pod by pod; returns the number of pods."""
        pods = _by_age((await self._pods.list(self._scope)).items)
        for pod in pods:
            source = self._source(pod)
            if source is not None:
                await self._print(pod, source)
        return len(pods)

    async def follow(self, end: Awaitable[T]) -> T:
        """Stream the logs of current and new pods until `end` has completed and all logs are printed."""
        ending = asyncio.ensure_future(end)
        informers = SharedInformerFactory(self._client)
        pods = informers.of(Pod, self._scope)
        try:
            await check_access(pods)
            pods.subscribe(lambda _old, new: self._consider(new))
            informers.start()
            await self._unless_broken(ending)
            # The watch may not have delivered the last pods yet.
            for pod in _by_age((await self._pods.list(self._scope)).items):
                self._consider(pod)
            while self._tasks:
                await self._unless_broken(asyncio.ensure_future(asyncio.wait(tuple(self._tasks))))
            return ending.result()
        finally:
            await informers.stop()
            await self._stop(ending)

    async def _unless_broken(self, doing: "asyncio.Future[Any]") -> None:
        await asyncio.wait((doing, self._broken), return_when=asyncio.FIRST_COMPLETED)
        if self._broken.done():
            doing.cancel()
            self._broken.result()
        await doing

    async def _stop(self, ending: "asyncio.Future[Any]") -> None:
        self._broken.cancel()
        for task in (ending, *self._tasks):
            task.cancel()
        await asyncio.gather(ending, *self._tasks, return_exceptions=True)

    def _consider(self, pod: Pod | None) -> None:
        """Start the stream of a started container, once per run."""
        try:
            source = self._source(pod) if pod is not None else None
        except LogError as error:
            self._warn(str(error))
            return
        if pod is None or source is None or source in self._seen:
            return
        self._seen.add(source)
        if len(self._tasks) == MAX_STREAMS:
            self._warn(f"streaming {MAX_STREAMS} pods: others follow as these finish; select one with --index")
        task = asyncio.create_task(self._stream(source, self._prefixes.of(pod)))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._broken.done():
            self._broken.set_exception(error)

    def _source(self, pod: Pod) -> ContainerLog | None:
        """The container to read, if it has started; raises LogError if the pod has no such container."""
        name = self._choice.container or usual_container(pod)
        names = [each.name for each in (*pod.spec.init_containers, *pod.spec.containers)]
        if name not in names:
            raise LogError(f"container {name!r} not found in pod {pod.metadata.name}: available: {', '.join(names)}")
        statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
        status = next((each for each in statuses if each.name == name), None)
        if status is None or not _has_started(status):
            return None
        return ContainerLog(pod.metadata.name, pod.metadata.uid, name, status.restart_count)

    async def _print(self, pod: Pod, source: ContainerLog) -> None:
        try:
            body = await self._pods.log((self._scope.namespace, source.pod), self._choice.options(source.container))
        except StatusError as error:
            self._warn_of(source, error)
            return
        prefix = self._prefixes.of(pod)
        for line in body.removesuffix(b"\n").split(b"\n") if body else ():
            self._write(prefix + line + b"\n")

    async def _stream(self, source: ContainerLog, prefix: bytes) -> None:
        async with self._slots:
            try:
                async for line in self._lines(source):
                    self._write(prefix + line)
            except KubeError as error:
                self._warn_of(source, error)

    async def _lines(self, source: ContainerLog) -> AsyncIterator[bytes]:
        """Lines without timestamps; a broken stream is resumed after the last line."""
        choice, last, failures = self._choice, None, 0
        known: datetime | None = None
        while True:
            try:
                async for line in self._once(source, choice):
                    stamp, text = _parted(line)
                    if known is None or stamp is None or stamp > known:
                        last, failures = stamp or last, 0
                        yield text
            except TransportError:
                failures += 1
                if failures >= ATTEMPTS:
                    raise
                await self._client.clock.sleep(failures)
                known, choice = last, replace(choice, tail=None, since_seconds=self._since(last, choice))
            else:
                return

    def _since(self, last: datetime | None, choice: LogChoice) -> int | None:
        if last is None:
            return choice.since_seconds
        return max(1, ceil((self._client.clock.wall() - last).total_seconds()) + 1)

    async def _once(self, source: ContainerLog, choice: LogChoice) -> AsyncIterator[bytes]:
        options = replace(choice.options(source.container), timestamps=True)
        rest = b""
        async for chunk in self._pods.follow_log((self._scope.namespace, source.pod), options):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(rest) > MAX_LINE:
                yield rest + b"\n"
                rest = b""
        if rest:
            yield rest + b"\n"

    def _warn_of(self, source: ContainerLog, error: KubeError) -> None:
        # The log of a deleted pod is gone, as after an eviction.
        if not (isinstance(error, StatusError) and error.is_not_found):
            self._warn(f"reading log of pod {source.pod} failed: {error}")


def usual_container(pod: Pod) -> str:
    """The default container, as in kubectl."""
    first = pod.spec.containers[0].name if pod.spec.containers else ""
    return pod.metadata.annotations.get(DEFAULT_CONTAINER, first)


def _has_started(status: ContainerStatus) -> bool:
    return status.state.running is not None or status.state.terminated is not None


def _parted(line: bytes) -> tuple[datetime | None, bytes]:
    """Timestamp and text of a line; None without a timestamp."""
    stamp, space, text = line.partition(b" ")
    try:
        return (parse_time(stamp.decode("ascii")), text) if space else (None, line)
    except (ApiError, UnicodeDecodeError):
        return None, line


def _by_age(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name))
