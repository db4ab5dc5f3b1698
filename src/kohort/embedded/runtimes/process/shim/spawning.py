"""Starts a program from a command: fork, limits, namespaces, user, exec; errors are reported verbatim.

The child has a session of its own, dies with the shim, and inherits nothing but its three standard streams.
"""

import errno
import os
import resource
import signal
import stat
from typing import Any

from kohort.embedded.runtimes.process.shim import linux, rootfs

StartCommand = dict[str, Any]
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LIMITS = {"data": resource.RLIMIT_DATA, "processes": resource.RLIMIT_NPROC, "core": resource.RLIMIT_CORE}


class ExecError(Exception):
    """The program cannot be executed; the text is that of container runtimes."""


class Child:
    """A forked process; `errors` yields its error, or closes without one once the program runs."""

    def __init__(self, pid: int, errors: int) -> None:
        self.pid = pid
        self.errors = errors


def spawn(order: StartCommand, output: int, complaints: int) -> Child:
    """Forks a child that executes the program, with these as its stdout and stderr."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        os.set_blocking(read, False)
        return Child(pid, read)
    try:
        _become(order, output, complaints)
    except ExecError as error:
        _complain(write, str(error))
    except OSError as error:
        _complain(write, f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
    except BaseException as error:
        # On any error: the child must never continue as if it were the shim.
        _complain(write, repr(error))
    os._exit(128)


def _complain(pipe: int, text: str) -> None:
    os.write(pipe, text.encode()[:4000])


def _become(order: StartCommand, output: int, complaints: int) -> None:
    os.setsid()
    _usual_signals()
    if order.get("cgroup"):
        with open(f"{order['cgroup']}/cgroup.procs", "w") as file:
            file.write("0")
    _streams(output, complaints)
    _enter(order)
    _limit(order.get("limits") or {})
    _change_user(order.get("user"))
    linux.die_with_parent(signal.SIGKILL)
    _go_to(order["cwd"])
    os.umask(0o022)
    program = find_program(order["argv"][0], order["env"].get("PATH") or DEFAULT_PATH)
    try:
        os.execve(program, order["argv"], order["env"])  # noqa: S606  running what users ask for is the point
    except OSError as error:
        raise ExecError(f'exec: "{order["argv"][0]}": {_reason(error)}') from None


def find_program(name: str, path: str) -> str:
    """Resolves a command as a shell does, with the errors of container runtimes."""
    if "/" in name:
        return _runnable(name)
    for directory in path.split(":"):
        candidate = os.path.join(directory or ".", name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise ExecError(f'exec: "{name}": executable file not found in $PATH')


def _runnable(name: str) -> str:
    try:
        mode = os.stat(name).st_mode
    except OSError as error:
        raise ExecError(f'exec: "{name}": stat {name}: {_reason(error)}') from None
    if stat.S_ISDIR(mode):
        raise ExecError(f'exec: "{name}": is a directory')
    if not os.access(name, os.X_OK):
        raise ExecError(f'exec: "{name}": permission denied')
    return name


def _reason(error: OSError) -> str:
    words = {errno.ENOENT: "no such file or directory", errno.EACCES: "permission denied"}
    return words.get(error.errno or 0, (error.strerror or "unknown error").lower())


def _usual_signals() -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _streams(output: int, complaints: int) -> None:
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (complaints, 2)):
        os.dup2(source, target)


def _enter(order: StartCommand) -> None:
    root = order.get("root")
    if root:
        rootfs.enter_root(root["at"], [(source, target, bool(only)) for source, target, only in root["binds"]])
    elif order.get("own_user") and os.geteuid() != 0:
        rootfs.own_user()


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        hard = resource.getrlimit(_LIMITS[name])[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(_LIMITS[name], (bound, bound))


def _change_user(user: dict[str, Any] | None) -> None:
    if user is None:
        return
    os.setgroups(user["groups"])
    os.setgid(user["gid"])
    os.setuid(user["uid"])


def _go_to(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise ExecError(f'chdir to cwd ("{directory}") set in config.json failed: {_reason(error)}') from None
