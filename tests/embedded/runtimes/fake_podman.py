"""Replaces podman, which is not on every machine: keeps containers as files and runs their commands as processes.

It takes the arguments of the real one and records each call, so that tests can check them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

STORE = Path(__file__).parent / "store"
TAKES_VALUE = {"--name", "--label", "--network", "--env-file", "--env", "--mount", "--memory", "--cpus", "--pids-limit",
               "--user", "--group-add", "--device", "--workdir", "--entrypoint"}  # fmt: skip


def now() -> str:
    return datetime.now(UTC).isoformat()


def path(container: str) -> Path:
    return STORE / f"{container}.json"


def load(container: str) -> dict:  # type: ignore[type-arg]
    if not path(container).exists():
        sys.exit(f"Error: no such container {container}")
    return dict(json.loads(path(container).read_text()))


def save(container: str, facts: dict) -> None:  # type: ignore[type-arg]
    temporary = path(container).with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(facts))
    temporary.replace(path(container))


def create(arguments: list[str]) -> None:
    options: dict[str, list[str]] = {}
    while arguments and arguments[0].startswith("--"):
        name = arguments.pop(0)
        options.setdefault(name, []).append(arguments.pop(0) if name in TAKES_VALUE else "")
    image, *rest = arguments
    env = dict(line.split("=", 1) for line in Path(options["--env-file"][0]).read_text().splitlines())
    env |= {name: os.environ[name] for name in options.get("--env", ())}
    command = [*options.get("--entrypoint", ["/bin/true"]), *rest]
    [container] = options["--name"]
    labels = dict(label.split("=", 1) for label in options["--label"])
    save(container, {"command": command, "env": env, "labels": labels, "image": image, "state": {"Running": False}})
    print("0123456789abcdef")


def start(arguments: list[str]) -> None:
    [container] = arguments
    facts = load(container)
    if os.fork():
        while not load(container)["state"].get("StartedAt"):
            time.sleep(0.005)
        if load(container)["state"].get("Error"):
            sys.exit(f"Error: {load(container)['state']['Error']}")
        return
    os.setsid()
    with (STORE / f"{container}.log").open("ab") as log:
        environment = {"PATH": os.environ["PATH"], **facts["env"]}
        facts["state"] = {"Running": True, "StartedAt": now()}
        try:
            process = subprocess.Popen(
                facts["command"], stdout=log, stderr=log, env=environment, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError as error:
            facts["state"] = {"Running": False, "StartedAt": now(), "Error": f'exec: "{error.filename}": not found'}
            save(container, facts)
            os._exit(0)
        facts["pid"] = process.pid
        save(container, facts)
        for fd in (0, 1, 2):
            os.dup2(log.fileno(), fd)
        code = process.wait()
    code = 128 - code if code < 0 else code
    facts["state"] |= {"Running": False, "ExitCode": code, "OOMKilled": code == 42, "FinishedAt": now()}
    if path(container).exists():
        save(container, facts)
    os._exit(0)


def wait(arguments: list[str]) -> None:
    while load(arguments[0])["state"].get("Running"):
        time.sleep(0.01)
    print(load(arguments[0])["state"].get("ExitCode"))


def kill(arguments: list[str]) -> None:
    _, name, container = arguments
    os.kill(load(container)["pid"], signal.Signals[f"SIG{name}"])


def logs(arguments: list[str]) -> None:
    sys.stdout.write((STORE / f"{arguments[-1]}.log").read_text())


def inspect(arguments: list[str]) -> None:
    *_, style = arguments[: arguments.index("--format") + 2]
    for container in arguments[arguments.index("--format") + 2 :]:
        facts = load(container)
        state = json.dumps(facts["state"])
        print(f"{json.dumps(facts['labels'])},{state}" if "Labels" in style else state)


def rm(arguments: list[str]) -> None:
    facts = load(arguments[-1])
    if facts["state"].get("Running"):
        os.kill(facts["pid"], signal.SIGKILL)
    path(arguments[-1]).unlink()


def ps(_: list[str]) -> None:
    for found in sorted(STORE.glob("*.json")):
        print(found.stem)


def image(arguments: list[str]) -> None:
    if "absent" in arguments[-1]:
        sys.exit("Error: no such image")


def pull(arguments: list[str]) -> None:
    if "broken" in arguments[-1]:
        sys.exit(f"Trying to pull {arguments[-1]}...\nError: initializing source: manifest unknown")


def execute(arguments: list[str]) -> None:
    facts = load(arguments[0])
    sys.exit(subprocess.run(arguments[1:], env={**os.environ, **facts["env"]}, check=False).returncode)


def main() -> None:
    STORE.mkdir(exist_ok=True)
    command, *arguments = sys.argv[1:]
    with (STORE / "calls").open("a") as calls:
        calls.write(json.dumps([command, *arguments]) + "\n")
    endpoints: dict[str, Callable[[list[str]], None]] = {
        "create": create,
        "start": start,
        "wait": wait,
        "kill": kill,
        "logs": logs,
        "inspect": inspect,
        "rm": rm,
    }
    endpoints |= {"ps": ps, "image": image, "pull": pull, "exec": execute, "version": lambda _: print("fake")}
    endpoints[command](arguments)


if __name__ == "__main__":
    main()
