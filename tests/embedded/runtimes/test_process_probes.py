"""Probes of containers that run as processes, with real commands and ports."""

import socket
from pathlib import Path
from typing import Any

from embedded.runtimes.harness import RuntimeHarness, container, pod, process_runtime, running_runtime, work_file
from kit.apiserver import running_apiserver
from kit.virtual_time import eventually_true
from kohort.embedded.nodes.runtime import Running

FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.02; done"


def check(script: str, **fields: Any) -> dict[str, Any]:
    """A probe whose command has enough time on a busy machine, unless the fields state otherwise."""
    return {"exec": {"command": ["sh", "-c", script]}, "periodSeconds": 1, "timeoutSeconds": 60, **fields}


async def test_a_container_is_ready_once_its_command_succeeds(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script=FOREVER, readinessProbe=check("echo nothing here; test -e here"))))
    await run.wait_until(lambda: run.events.messages("Unhealthy"))
    assert run.events.messages("Unhealthy")[0] == "Readiness probe failed: nothing here\n"
    assert run.runs()
    assert not run.status().ready
    work_file(harness.data, run.pod, "here").touch()
    await run.wait_until(lambda: run.status().ready)
    assert run.status().restarts == 0


async def test_a_container_that_fails_its_liveness_probe_is_restarted(harness: RuntimeHarness) -> None:
    # The probe that finds the file removes it, so that exactly one fails.
    alive = check("! rm sick 2>/dev/null", failureThreshold=1)
    run = harness.run(pod(container(script=f"echo up; {FOREVER}", livenessProbe=alive), restart="OnFailure"))
    await run.wait_for_log("up")
    work_file(harness.data, run.pod, "sick").touch()
    await run.wait_until(lambda: run.runs() and run.status().restarts == 1)
    assert run.events.messages("Killing") == ["Container main failed liveness probe, will be restarted"]
    last = run.status().last
    assert last is not None
    assert last.exit_code == 0


async def test_a_container_that_never_restarts_is_only_ended(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script=FOREVER, startupProbe=check("false", failureThreshold=1)), grace=5))
    await run.termination()
    assert run.events.messages("Killing") == ["Container main failed startup probe"]
    assert run.status().restarts == 0


async def test_a_command_that_hangs_is_ended_with_its_children(harness: RuntimeHarness) -> None:
    script = "echo $$ >> pids; sleep 1000 & wait"
    run = harness.run(pod(container(script=FOREVER, readinessProbe=check(script, timeoutSeconds=1))))
    pids = work_file(harness.data, run.pod, "pids")
    # On a busy machine the time of the first may end before its shell has begun: one of the next gets further.
    await run.wait_until(lambda: run.events.messages("Unhealthy") and pids.exists() and pids.read_text())
    expected = f'Readiness probe failed: command "sh -c {script}" timed out'
    assert set(run.events.messages("Unhealthy")) == {expected}
    leader = int(pids.read_text().splitlines()[0])
    await eventually_true(lambda: not _members(leader))


async def test_a_command_that_is_not_there_is_reported_and_ends_nothing(harness: RuntimeHarness) -> None:
    missing = {"exec": {"command": ["no-such-check"]}, "periodSeconds": 1, "failureThreshold": 1}
    run = harness.run(pod(container(script=FOREVER, livenessProbe=missing)))
    await run.wait_until(lambda: len(run.events.messages("Unhealthy")) > 1)
    expected = 'Liveness probe errored: exec: "no-such-check": executable file not found in $PATH'
    assert run.events.messages("Unhealthy")[0] == expected
    assert run.runs()


async def test_a_port_by_name_makes_a_container_ready(harness: RuntimeHarness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports = [{"name": "web", "containerPort": listener.getsockname()[1]}]
        found = container(
            script=FOREVER, ports=ports, readinessProbe={"tcpSocket": {"port": "web"}, "timeoutSeconds": 60}
        )
        run = harness.run(pod(found))
        await run.wait_until(lambda: run.events.states and run.status().ready)


async def test_a_container_that_never_started_is_not_probed(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(readinessProbe=check("touch probed"))))
    assert (await run.termination()).exit_code != 0
    assert not run.status().ready
    assert run.events.messages("Unhealthy") == []
    assert not work_file(harness.data, run.pod, "probed").exists()


async def test_a_ready_container_stays_ready_for_the_next_agent(tmp_path: Path) -> None:
    found = pod(container(script=FOREVER, readinessProbe=check("true", initialDelaySeconds=1000)))
    async with running_apiserver() as cluster:
        created = await cluster.create({**found, "metadata": {"name": "stays", "namespace": "default"}})
        found["metadata"] = created["metadata"]
        async with running_runtime(cluster, tmp_path, process_runtime(cluster, tmp_path, {})) as harness:
            await harness.run(found).wait_started()
            harness.runs.clear()
        started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        found["status"] = {"containerStatuses": [{"name": "main", "ready": True, "state": started}]}
        async with running_runtime(cluster, tmp_path, process_runtime(cluster, tmp_path, {})) as harness:
            run = harness.run(found)
            await run.wait_started()
            assert isinstance(run.status().state, Running)
            assert run.status().ready


def _members(session: int) -> list[str]:
    """The processes of a session that are not dead yet."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found
