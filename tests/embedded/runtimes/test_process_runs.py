"""Containers as processes: output, exit codes, restarts, signals."""

from datetime import UTC, datetime

import pytest

from embedded.runtimes.harness import RuntimeHarness, container, is_alive, pod, work_file
from kohort.embedded.nodes.runtime import ContainerWaiting, Running, Terminated
from kohort.kube.errors import StatusError


async def test_a_command_runs_and_ends(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="echo hello; echo oops >&2")))
    end = await run.termination()
    assert (end.exit_code, end.reason) == (0, "Completed")
    assert end.started <= end.finished <= datetime.now(UTC)
    assert sorted((await run.log()).splitlines()) == ["hello", "oops"]
    assert [note.message for note in run.events.notes if note.reason in ("Created", "Started")] == [
        "Container created",
        "Container started",
    ]


async def test_exit_codes_are_kept(harness: RuntimeHarness) -> None:
    end = await harness.run(pod(container(script="exit 7"))).termination()
    assert (end.exit_code, end.reason, end.signal) == (7, "Error", 0)


async def test_a_signal_is_reported_as_by_containers(harness: RuntimeHarness) -> None:
    end = await harness.run(pod(container(script="kill -9 $$$$"))).termination()
    assert (end.exit_code, end.reason, end.signal) == (137, "Error", 9)


async def test_a_log_can_be_followed_while_it_grows(harness: RuntimeHarness) -> None:
    script = "echo ready; while ! test -e $HOME/go; do sleep 0.01; done; echo done"
    run = harness.run(pod(container(script=script)))
    assert await run.wait_for_log("ready") == "ready\n"
    work_file(harness.data, run.pod, "go").touch()
    assert await run.wait_for_log("done") == "ready\ndone\n"
    await run.finished()
    assert await run.log(follow=True) == "ready\ndone\n"


async def test_stop_sends_sigterm_first(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done")))
    await run.wait_for_log("ready")
    run.running.stop(30)
    assert (await run.termination()).exit_code == 3
    assert "bye" in await run.log()
    assert run.events.messages("Killing") == ["Stopping container main"]


async def test_a_process_that_does_not_handle_sigterm_ends_with_143(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(command=["sleep", "1000"])))
    await run.wait_started()
    run.running.stop(30)
    end = await run.termination()
    assert (end.exit_code, end.signal) == (143, 15)


async def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="trap '' TERM; echo ready; while :; do sleep 0.01; done")))
    await run.wait_for_log("ready")
    run.running.stop(0.2)
    assert (await run.termination()).exit_code == 137


async def test_the_log_before_a_restart_is_kept(harness: RuntimeHarness) -> None:
    script = "echo run; test -e $HOME/once && sleep 1000; touch $HOME/once; echo first; exit 1"
    run = harness.run(pod(container(script=script), restart="OnFailure"))
    await run.wait_until(lambda: run.runs() and run.status().restarts == 1)
    assert await run.log(previous=True) == "run\nfirst\n"
    await run.wait_for_log("run")
    last = run.status().last
    assert last is not None
    assert last.exit_code == 1


async def test_init_containers_come_first_and_sidecars_stay(harness: RuntimeHarness) -> None:
    order = "echo $0 >> $KOHORT_ROOT/shared/order"
    shared = {
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
    }
    helper = container("helper", script=f"{order}; sleep 1000", restartPolicy="Always", **shared)
    helper["command"].append("helper")
    first = container("first", script=order, **shared)
    first["command"].append("first")
    main = container(
        "main",
        script="while ! grep helper $KOHORT_ROOT/shared/order; do sleep 0.01; done; cat $KOHORT_ROOT/shared/order",
        **shared,
    )
    run = harness.run(pod(main, init=(helper, first), volumes=[{"name": "shared", "emptyDir": {}}]))
    state = await run.finished()
    assert [each.name for each in state.init] == ["helper", "first"]
    assert sorted((await run.log()).split()[1:]) == ["first", "helper"]
    assert (await run.termination()).exit_code == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", 'exec: "no-such-program": executable file not found in $PATH'),
        ("/no/such", 'exec: "/no/such": stat /no/such: no such file or directory'),
        ("/etc/passwd", 'exec: "/etc/passwd": permission denied'),
        ("/etc", 'exec: "/etc": is a directory'),
    ],
)
async def test_a_command_that_does_not_exist_is_named(harness: RuntimeHarness, command: str, message: str) -> None:
    run = harness.run(pod(container(command=[command])))
    end = await run.termination()
    assert (end.exit_code, end.reason, end.message) == (128, "StartError", message)
    assert run.events.messages("Failed") == [f"Error: {message}"]


async def test_a_pod_whose_command_does_not_exist_can_be_stopped_while_it_waits(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(command=["no-such-program"]), restart="Always"))
    await run.wait_until(lambda: isinstance(run.status().state, ContainerWaiting) and run.status().restarts == 1)
    run.running.stop(30)
    assert (await run.finished()).over


async def test_the_last_words_become_the_message(harness: RuntimeHarness) -> None:
    end = await harness.run(
        pod(container(script="printf 'bad luck' > $KOHORT_ROOT/dev/termination-log; exit 1"))
    ).termination()
    assert end.message == "bad luck"


async def test_the_log_can_replace_the_termination_message(harness: RuntimeHarness) -> None:
    found = container(script="echo one; echo two; exit 1", terminationMessagePolicy="FallbackToLogsOnError")
    assert (await harness.run(pod(found)).termination()).message == "one\ntwo\n"


async def test_the_pre_stop_hook_runs_in_the_container_s_surroundings(harness: RuntimeHarness) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo $WORD > $HOME/hooked"]}}}
    script = "trap 'cat $HOME/hooked; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    run = harness.run(pod(container(script=script, lifecycle=hook, env=[{"name": "WORD", "value": "farewell"}])))
    await run.wait_for_log("ready")
    run.running.stop(30)
    assert (await run.termination()).exit_code == 0
    assert "farewell" in await run.log()
    assert run.events.messages("FailedPreStopHook") == []


async def test_a_hook_that_fails_is_reported_and_holds_up_nothing(harness: RuntimeHarness) -> None:
    hook = {"preStop": {"exec": {"command": ["no-such-program"]}}}
    run = harness.run(pod(container(command=["sleep", "1000"], lifecycle=hook)))
    await run.wait_started()
    run.running.stop(30)
    assert (await run.termination()).exit_code == 143
    assert run.events.messages("FailedPreStopHook") == ["PreStopHook failed"]


async def test_daemons_do_not_outlive_their_container(harness: RuntimeHarness) -> None:
    daemon_script = "setsid sh -c 'echo $$$$ > $HOME/daemon; exec sleep 1000' &"
    script = f"{daemon_script} while ! test -s $HOME/daemon; do sleep 0.01; done; cat $HOME/daemon"
    run = harness.run(pod(container(script=script)))
    await run.termination()
    daemon = int(await run.log())
    assert not is_alive(daemon)


async def test_requesting_logs_too_early_reports_why(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="true", envFrom=[{"configMapRef": {"name": "missing"}}])))
    await run.wait_until(lambda: isinstance(run.status().state, ContainerWaiting) and run.status().state.message)  # type: ignore[union-attr]
    name = run.pod["metadata"]["name"]
    with pytest.raises(StatusError, match=f'container "main" in pod "{name}" is waiting to start: CreateContainerConf'):
        await run.log()
    with pytest.raises(StatusError, match='previous terminated container "main"'):
        await run.log(previous=True)


async def test_a_container_without_a_command_fails_and_names_the_remedy(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container("main", args=["--fast"]), container("real", script="echo real")))
    end = await run.termination()
    text = (
        'container main has no command, and this node does not use its image "busybox:1": set "command", '
        "or run the node with --runtime podman (or docker)"
    )
    assert (end.exit_code, end.reason, end.message) == (128, "StartError", text)
    assert run.events.messages("Failed") == [f"Error: {text}"]
    assert await run.log("real") == "real\n"
    assert await run.log() == ""


async def test_an_init_container_without_a_command_fails_its_pod(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="true"), init=(container("first"),)))
    await run.finished()
    state = run.status("first").state
    assert isinstance(state, Terminated)
    assert state.reason == "StartError"
    assert isinstance(run.status().state, ContainerWaiting)


async def test_each_image_is_reported_once_as_unused(harness: RuntimeHarness) -> None:
    runs = [harness.run(pod(container(script="true"))) for _ in range(3)]
    for run in runs:
        await run.termination()
    reported = [message for run in runs for message in run.events.messages("ImageNotUsed")]
    assert reported == ['Image "busybox:1" is not used: its containers run as processes of this machine']
    assert not isinstance(runs[0].status().state, Running)
