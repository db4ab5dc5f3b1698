"""The shim of one pod: executes the commands of its agent over a socket and keeps running without an agent.

It holds the containers' pipes, writes their logs and reaps them. It exits when nothing is running and no agent is
connected.
"""

import contextlib
import heapq
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from kohort.embedded.runtimes.process.shim import leftover_processes, linux, rootfs, task_limits
from kohort.embedded.runtimes.process.shim.execs import Execs
from kohort.embedded.runtimes.process.shim.output import Log, Pipe
from kohort.embedded.runtimes.process.shim.processes import start_ticks
from kohort.embedded.runtimes.process.shim.spawning import Child, StartCommand, spawn
from kohort.embedded.runtimes.process.shim.state import DIRECTORY_VARIABLE, ShimState

LISTENER = 3
"""File descriptor of the listening socket passed by the agent."""
MAX_COMMAND_BYTES = 64 << 20
WRITE_TIMEOUT = 5.0
"""Seconds that an agent may block a write before it is disconnected."""


class ShimContainer:
    """A container start that has not ended."""

    def __init__(self, order: StartCommand, child: Child, log: Log, pipes: list[Pipe]) -> None:
        self.order = order
        self.child = child
        self.log = log
        self.pipes = pipes
        self.complaint = b""
        self.answered = False


class Shim:
    """The containers of one pod."""

    def __init__(self, directory: str, listener: socket.socket) -> None:
        self._directory = directory
        self._state = ShimState(directory)
        self._state.sign(os.getpid(), start_ticks(os.getpid()))
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._agent: socket.socket | None = None
        self._buffer = b""
        self._running: dict[str, ShimContainer] = {}
        self._execs = Execs(self._selector, self._respond)
        self._resting: list[tuple[float, int, Pipe]] = []
        self._leaving = False
        self._met = False

    # Event loop

    def run(self) -> None:
        """Serves until there is nothing left to do."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(wake_read, selectors.EVENT_READ, lambda: self._children(wake_read))
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._state.save()
        while not self._leaving and (self._running or self._agent or not self._met):
            for key, _ in self._selector.select(self._next_timeout()):
                key.data()
            self._resume()
        self._end()

    def _next_timeout(self) -> float | None:
        return max(0.0, self._resting[0][0] - time.monotonic()) if self._resting else None

    def _resume(self) -> None:
        """Resumes reading of throttled streams."""
        while self._resting and self._resting[0][0] <= time.monotonic():
            _, fd, pipe = heapq.heappop(self._resting)
            if pipe.fd == fd and self._is_open(pipe):
                self._listen_to(pipe)

    def _is_open(self, pipe: Pipe) -> bool:
        return any(pipe in container.pipes for container in self._running.values())

    def _end(self) -> None:
        for container in self._running.values():
            self._sweep(container.order, container.child.pid)
        leftover_processes.kill_descendants(os.getpid(), start_ticks(os.getpid()))
        deadline = time.monotonic() + 5
        while self._running and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.002)

    # Agent connection

    def _accept(self) -> None:
        """A new agent connection replaces the old one."""
        connection, _ = self._listener.accept()
        self._disconnect()
        self._execs.drop_all()
        connection.settimeout(0.0)
        self._agent, self._met = connection, True
        self._selector.register(connection, selectors.EVENT_READ, self._receive)
        self._send_state()

    def _disconnect(self) -> None:
        if self._agent is not None:
            self._selector.unregister(self._agent)
            self._agent.close()
        self._agent, self._buffer = None, b""

    def _receive(self) -> None:
        try:
            data = self._agent.recv(1 << 20) if self._agent else b""
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or len(self._buffer) > MAX_COMMAND_BYTES:
            self._disconnect()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._execute_command(json.loads(line))

    def _execute_command(self, order: StartCommand) -> None:
        match order["do"]:
            case "start":
                self._start(order)
            case "exec":
                self._exec(order)
            case "drop":
                self._execs.drop(order["number"])
            case "signal":
                self._signal(order["name"], order["signal"])
            case "quit":
                self._leaving = True

    def _send_state(self) -> None:
        self._state.save()
        self._send(self._state.line())

    def _respond(self, answer: dict[str, Any]) -> None:
        self._send(json.dumps(answer, separators=(",", ":")).encode() + b"\n")

    def _send(self, line: bytes) -> None:
        if self._agent is None:
            return
        try:
            self._agent.settimeout(WRITE_TIMEOUT)
            self._agent.sendall(line)
            self._agent.settimeout(0.0)
        except OSError:
            self._disconnect()

    # Commands

    def _start(self, order: StartCommand) -> None:
        name, attempt = order["name"], order["attempt"]
        before = self._state.containers.get(name)
        if name in self._running or (before and before["attempt"] >= attempt):
            self._send_state()
            return
        self._state.containers[name] = {
            "attempt": attempt,
            "ordered": time.time(),
            "pid": 0,
            "ticks": 0,
            "mark": _mark(order),
            "cgroup": order.get("cgroup") or "",
            "most": order.get("most") or 0,
            "notes": order.get("notes"),
            "last": _past(before),
        }
        # Saved before the process starts, so that the next agent finds it after a crash.
        self._state.save()
        try:
            child = self._begin(order)
        except OSError as error:
            end = {"code": 128, "at": time.time(), "oom": False, "error": f"can't be started: {error}"}
            self._state.containers[name]["ended"] = end
            self._send_state()
            return
        self._state.containers[name] |= {"pid": child.pid, "ticks": start_ticks(child.pid)}
        self._state.save()

    def _begin(self, order: StartCommand) -> Child:
        log = Log(order["log"], order["attempt"], order["log_size"])
        pipes, writers = [], []
        for stream in ("stdout", "stderr"):
            read, write = os.pipe()
            os.set_blocking(read, False)
            pipes.append(Pipe(read, stream, log, order["log_rate"]))
            writers.append(write)
        child = spawn(order, *writers)
        for writer in writers:
            os.close(writer)
        container = self._running[order["name"]] = ShimContainer(order, child, log, pipes)
        self._selector.register(child.errors, selectors.EVENT_READ, lambda: self._answer(container))
        for pipe in pipes:
            self._listen_to(pipe)
        return child

    def _answer(self, container: ShimContainer) -> None:
        """Processes the exec pipe: it closes without data once the program runs."""
        if container.answered:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(container.child.errors, 4096)
            container.complaint += data
            if data:
                return
            self._selector.unregister(container.child.errors)
            os.close(container.child.errors)
            container.answered = True
            if not container.complaint:
                self._state.containers[container.order["name"]]["started"] = time.time()
                self._send_state()

    def _exec(self, order: StartCommand) -> None:
        """Runs a command in the context of a container."""
        container = self._running.get(order["name"])
        if container is None:
            self._execs.refuse(order["number"], "container not running")
        else:
            self._execs.start(order["number"], container.order, order["argv"])

    def _signal(self, name: str, number: int) -> None:
        container = self._running.get(name)
        if container is None:
            return
        if number == signal.SIGKILL:
            self._sweep(container.order, container.child.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(container.child.pid, number)

    def _listen_to(self, pipe: Pipe) -> None:
        self._selector.register(pipe.fd, selectors.EVENT_READ, lambda: self._copy(pipe))

    def _copy(self, pipe: Pipe) -> None:
        rest = pipe.copy()
        if rest is None:
            self._selector.unregister(pipe.fd)
        elif rest > 0:
            self._selector.unregister(pipe.fd)
            heapq.heappush(self._resting, (time.monotonic() + rest, pipe.fd, pipe))

    # Exits

    def _children(self, wake: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(wake, 512):
                pass
        self._reap()

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._ended(pid, os.waitstatus_to_exitcode(status))

    def _ended(self, pid: int, code: int) -> None:
        self._execs.ended(pid, code)
        for name, container in self._running.items():
            if container.child.pid == pid:
                self._container_ended(name, container, code)
                return

    def _container_ended(self, name: str, container: ShimContainer, code: int) -> None:
        while not container.answered:
            self._answer(container)
        self._sweep(container.order, container.child.pid)
        for pipe in container.pipes:
            with contextlib.suppress(KeyError):
                self._selector.unregister(pipe.fd)
            pipe.finish()
        container.log.close()
        cgroup = container.order.get("cgroup")
        end: dict[str, Any] = {"code": code, "at": time.time(), "oom": ran_out_of_memory(cgroup)}
        if code == -signal.SIGKILL:
            end["crowd"] = task_limits.kill_reason(self._directory, name, container.order["attempt"])
        self._state.containers[name]["ended"] = {**end, "error": container.complaint.decode(errors="replace")}
        del self._running[name]
        if cgroup:
            _remove(cgroup)
        self._send_state()

    def _sweep(self, order: StartCommand, leader: int) -> None:
        if not (order.get("cgroup") and leftover_processes.kill_group(order["cgroup"])):
            leftover_processes.kill_session(leader, _mark(order), os.getpid())


def _mark(order: StartCommand) -> str:
    """The environment variable by which the processes of a container are found."""
    return f"{leftover_processes.MARK}={order['env'].get(leftover_processes.MARK)}"


def _past(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    """The previous start without its own history."""
    return {**facts, "last": None} if facts else None


def ran_out_of_memory(cgroup: str | None) -> bool:
    """Whether the kernel OOM-killed a member of a control group."""
    if not cgroup:
        return False
    try:
        with open(f"{cgroup}/memory.events") as file:
            return any(line.startswith("oom_kill ") and line.strip() != "oom_kill 0" for line in file)
    except OSError:
        return False


def _remove(cgroup: str) -> None:
    """Retries, since killed members may take a moment to exit."""
    for _ in range(50):
        try:
            os.rmdir(cgroup)
        except OSError:
            time.sleep(0.01)
        else:
            return


def serve() -> None:
    """Runs the shim of a pod."""
    directory = os.environ[DIRECTORY_VARIABLE]
    linux.adopt_orphans()
    with contextlib.suppress(OSError):
        os.nice(5)
    os.set_inheritable(LISTENER, False)  # noqa: FBT003
    Shim(directory, socket.socket(fileno=LISTENER)).run()


def probe() -> None:
    """Tests whether mount namespaces are permitted; prints the reason if not."""
    directory = os.path.realpath(os.environ[DIRECTORY_VARIABLE])
    try:
        rootfs.enter_root(directory, [(directory, "/kohort-probe/volume", True)])
    except OSError as error:
        sys.exit(f"{error.filename or 'mount'}: {error.strerror}")
    sys.exit(0 if os.path.isdir("/kohort-probe/volume") else "the volume did not appear")
